from __future__ import annotations

import shlex
import sqlite3
from pathlib import Path

import pytest

from arbiter.cli import archive
from tests.cli.command import Arbiter
from tests.cli.test_export import ended
from tests.documents import block
from tests.store.records import NOON

DAY_MS = 24 * 3_600_000


@pytest.fixture(autouse=True)
def a_later_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all matches of the store end ten days ago."""
    monkeypatch.setattr(archive, "time_ns", lambda: (NOON + 10 * DAY_MS + DAY_MS // 2) * 1_000_000)


def old(store: str) -> set[str]:
    """Return the ids of the matches that can be archived: all but the one with the last record."""
    return ended(store, "ended_sequence < (SELECT max(sequence) FROM event)")


def archived(store: str) -> set[str]:
    with sqlite3.connect(store.removeprefix("sqlite:///")) as raw:
        found = {row[0] for row in raw.execute("SELECT match_id FROM archived_match")}
    raw.close()
    return found


@pytest.mark.long
def test_old_matches_are_moved_once(arbiter: Arbiter, store: str) -> None:
    said = arbiter("archive", "--days", "9", "--dry-run", "--store", store)
    there = old(store)
    assert (said.code, said.out) == (0, f"{len(there)} matches of {store} would be moved to the archive.\n")
    assert archived(store) == set()
    ran = arbiter("archive", "--days", "11", "--store", store)
    assert ran.out == f"0 matches (0 records) of {store} moved to the archive: 0.0 MB became 0.0 MB.\n"
    ran = arbiter("archive", "--days", "9", "--store", store)
    assert ran.code == 0, ran.err
    assert ran.out.startswith(f"{len(there)} matches (")
    assert archived(store) == there
    assert arbiter("store", "check", "--store", store).code == 0


@pytest.mark.long
def test_a_damaged_match_is_named_and_stays(arbiter: Arbiter, store: str) -> None:
    matches = old(store)
    with sqlite3.connect(store.removeprefix("sqlite:///")) as raw:
        raw.execute("UPDATE event SET body = body || ' ' WHERE match_id = ? AND revision = 2", (min(matches),))
    raw.close()
    ran = arbiter("archive", "--days", "9", "--store", store)
    assert ran.code == 1
    assert f"revision 2 of match {min(matches)} is damaged" in ran.out
    assert "1 match left in the log, because the record is damaged" in ran.err
    assert archived(store) == matches - {min(matches)}


def test_a_store_or_keys_that_are_not_there_are_named(arbiter: Arbiter, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/x.db"
    assert "no server has served" in arbiter("archive", "--days", "9", "--store", url).complaint
    assert "there is no store at" in arbiter("archive", "--days", "9", "--dry-run", "--store", url).complaint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_the_command_of_the_page(arbiter: Arbiter, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "arbiter.toml").write_text(f'store = "{store}"')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(archive, "time_ns", lambda: (NOON + 400 * DAY_MS) * 1_000_000)
    there = old(store)
    for line in block("deploy/STORE.md", "arbiter archive").strip().splitlines():
        program, *words = shlex.split(line, comments=True)
        assert program == "arbiter"
        ran = arbiter(*words)
        assert ran.code == 0, ran.err
    assert archived(store) == there
