"""The files of a store are for their owner alone, whatever the umask, and the doctor names those that are not."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from arbiter.bootstrap.backup import backup_store, restore_store
from arbiter.bootstrap.examination import examine
from arbiter.bootstrap.findings import Finding, Grade
from arbiter.bootstrap.store import open_record
from arbiter.cli.transcript_files import write_whole
from arbiter.config import Settings, load

OTHERS = 0o077


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    folder = tmp_path / "state"
    folder.mkdir(0o755)
    return load(None, store=f"sqlite:///{folder}/arbiter.db", keys=folder / "arbiter.keys", rules_workers=1)


def quiet(done: int, of: int) -> None:
    pass


def names_and_open_ones(folder: Path) -> tuple[set[str], list[str]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.name for path in files}, [path.name for path in files if path.stat().st_mode & OTHERS]


async def permissions(settings: Settings) -> list[Finding]:
    examined = await asyncio.to_thread(examine, settings)
    return [each for each in examined.findings if each.subject == "permissions"]


@pytest.mark.long
@pytest.mark.usefixtures("no_umask")
async def test_no_file_of_a_store_is_open_to_others(settings: Settings, tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with open_record(settings):
        names, opened = names_and_open_ones(state)
    assert {"arbiter.db", "arbiter.db-wal", "arbiter.db-shm", "arbiter.keys"} <= names
    assert opened == []
    backup_store(settings.store, settings.key_ring, tmp_path / "backup", quiet)
    restore_store(tmp_path / "backup", f"sqlite:///{tmp_path}/again.db", tmp_path / "again.keys", quiet)
    names, opened = names_and_open_ones(tmp_path)
    assert {"arbiter.keys.mark", "again.db", "again.keys", "again.keys.mark"} <= names
    assert opened == []
    assert (tmp_path / "backup").stat().st_mode & OTHERS == 0
    assert await permissions(settings) == []


@pytest.mark.long
@pytest.mark.usefixtures("no_umask")
def test_a_store_behind_a_link_without_a_target_is_closed_too(settings: Settings, tmp_path: Path) -> None:
    link = tmp_path / "state" / "arbiter.db"
    link.symlink_to(tmp_path / "there.db")

    async def make() -> None:
        async with open_record(settings):
            pass

    asyncio.run(make())
    assert (tmp_path / "there.db").stat().st_mode & OTHERS == 0


@pytest.mark.usefixtures("no_umask")
def test_exported_files_are_closed_even_if_the_last_export_was_killed(tmp_path: Path) -> None:
    (tmp_path / "m1.part").write_bytes(b"half")
    write_whole(tmp_path / "m1.jsonl", b"whole")
    assert names_and_open_ones(tmp_path) == ({"m1.jsonl"}, [])


@pytest.mark.long
async def test_the_doctor_names_files_that_others_may_use(settings: Settings, tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with open_record(settings):
        pass
    (state / "arbiter.db").chmod(0o644)
    (state / "arbiter.keys.mark").chmod(0o640)
    mark, database = await permissions(settings)
    assert (mark.grade, database.grade) == (Grade.NOTE, Grade.WRONG)
    assert mark.text == f"{state}/arbiter.keys.mark is open to its group"
    assert database.text == f"{state}/arbiter.db is open to every user of this machine"
    assert database.advice == f"chmod go= {state}/arbiter.db"
    state.chmod(0o700)
    assert await permissions(settings) == []
