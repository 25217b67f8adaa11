"""The files of an SQLite store: one server a file, whatever its name; files that vanish are noticed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from arbiter.bootstrap import open_store
from arbiter.errors import OperatorError
from arbiter.service.ports.journal import Append, StoreFailed
from arbiter.store.database import opened
from arbiter.store.writer import GONE
from tests.store.test_journal import opening, records


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "arbiter.db"


def url(file: Path) -> str:
    return f"sqlite:///{file}"


@pytest.mark.parametrize("name", ["link.db", "elsewhere/link.db"])
def test_a_symbolic_link_lets_no_second_server_in(file: Path, name: str) -> None:
    with opened(url(file), alone=True):
        link = file.parent / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(file)
        with pytest.raises(OperatorError, match="another arbiter serves the store"), opened(url(link), alone=True):
            pass


def test_a_hard_link_lets_nobody_in(file: Path) -> None:
    with opened(url(file), alone=True):
        pass
    link = file.parent / "link.db"
    link.hardlink_to(file)
    for name in (file, link):
        with (
            pytest.raises(OperatorError, match=r"second name \(a hard link\).*remove the link"),
            opened(url(name), alone=True),
        ):
            pass
    link.unlink()
    with opened(url(file), alone=True):
        pass


def test_a_hard_link_to_a_file_that_is_served_lets_no_second_server_in(file: Path) -> None:
    with opened(url(file), alone=True):
        (file.parent / "link.db").hardlink_to(file)
        with pytest.raises(OperatorError), opened(url(file.parent / "link.db"), alone=True):
            pass


def test_there_is_no_other_file_whose_removal_lets_a_second_server_in(file: Path) -> None:
    with opened(url(file), alone=True):
        for beside in file.parent.iterdir():
            if beside.name not in ("arbiter.db", "arbiter.db-wal", "arbiter.db-shm"):
                beside.unlink()
        with pytest.raises(OperatorError, match="another arbiter serves the store"), opened(url(file), alone=True):
            pass


def _delete(file: Path) -> None:
    file.unlink()


def _delete_log(file: Path) -> None:
    Path(f"{file}-wal").unlink()


def _move(file: Path) -> None:
    file.rename(file.parent / "moved.db")


def _replace(file: Path) -> None:
    copy = file.parent / "copy.db"
    shutil.copy(file, copy)
    copy.replace(file)


def _shrink(file: Path) -> None:
    os.truncate(file, 0)


def _move_folder(file: Path) -> None:
    file.parent.rename(file.parent.parent / "moved")


@pytest.mark.parametrize("vanish", [_delete, _delete_log, _move, _replace, _shrink, _move_folder])
async def test_files_that_vanish_are_noticed_before_anything_is_acknowledged(
    tmp_path: Path, vanish: Callable[[Path], None]
) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    file = folder / "arbiter.db"
    with capture_logs() as said:
        async with open_store(url(file), alone=True) as store:
            await store.journal.append(opening("a"))
            await store.journal.append(opening("b"))  # the writer has looked at files that are there
            vanish(file)
            for name in "cd":
                with pytest.raises(StoreFailed) as failed:
                    await store.journal.append(opening(name))
                assert failed.value.why == f"it took no write ({GONE})" or failed.value.why == GONE
    assert [line["event"] for line in said if line["event"] == "store_files_gone"] == ["store_files_gone"]


async def test_files_that_vanish_are_noticed_while_nothing_is_written(file: Path) -> None:
    with capture_logs() as said:
        async with open_store(url(file), alone=True) as store:
            await store.journal.append(opening("a"))
            await store.journal.append(opening("b"))
            _delete(file)
            while not any(line["event"] == "store_files_gone" for line in said):
                with suppress(StoreFailed):
                    await store.journal.head()


async def test_closing_and_checkpoints_are_no_alarm(file: Path) -> None:
    with capture_logs() as said:
        async with open_store(url(file), alone=True) as store:
            await store.journal.append(opening("a"))
            for revision in range(2, 1_200):  # more commits than there are between two checkpoints
                await store.journal.append(Append(records("a", revision)))
        async with open_store(url(file), alone=True) as store:
            await store.journal.append(opening("b"))
    assert [line for line in said if line["event"] == "store_files_gone"] == []
