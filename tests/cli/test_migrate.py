from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from arbiter.store.database import newest, opened
from tests.cli.command import Arbiter
from tests.store.steps import add_steps


@pytest.fixture
def store(tmp_path: Path, steps: Path) -> str:
    """Return a store whose tables are a version older than the newest."""
    url = f"sqlite:///{tmp_path}/arbiter.db"
    with opened(url):
        pass
    add_steps(steps, True)
    return url


def version(store: str) -> str:
    with sqlite3.connect(store.removeprefix("sqlite:///")) as raw:
        (found,) = raw.execute("SELECT version_num FROM alembic_version").fetchone()
    raw.close()
    return str(found)


@pytest.mark.long
def test_tables_are_migrated(arbiter: Arbiter, store: str) -> None:
    before = f"{int(newest()) - 1:04}"
    asked = arbiter("migrate", "--store", store, "--check")
    assert asked.code == 1
    complaint = f"the tables of {store} are of version {before}, and this arbiter's are of version {newest()}"
    assert asked.complaint.startswith(complaint)
    assert version(store) == before
    ran = arbiter("migrate", "--store", store)
    assert ran.code == 0, ran.err
    assert ran.out == f"The tables of {store} were brought from version {before} to version {newest()}.\n"
    assert version(store) == newest()
    for options in ((), ("--check",)):
        again = arbiter("migrate", "--store", store, *options)
        assert (again.code, again.out) == (
            0,
            f"The tables of {store} are of version {newest()}, which is the newest.\n",
        )


def test_tables_in_use_by_a_server_are_not_migrated(arbiter: Arbiter, store: str, steps: Path) -> None:
    with opened(store, alone=True):
        add_steps(steps, True)
        assert "another arbiter serves the store" in arbiter("migrate", "--store", store).complaint


def test_tables_from_before_the_first_release_are_refused(arbiter: Arbiter, store: str) -> None:
    with sqlite3.connect(store.removeprefix("sqlite:///")) as raw:
        raw.execute("UPDATE alembic_version SET version_num = '0007'")
    raw.close()
    for options in ((), ("--check",)):
        ran = arbiter("migrate", "--store", store, *options)
        assert (ran.code, "use the arbiter that wrote it" in ran.complaint) == (2, True)
    assert version(store) == "0007"


def test_a_missing_store_is_not_made(arbiter: Arbiter, tmp_path: Path) -> None:
    for options in ((), ("--check",)):
        ran = arbiter("migrate", "--store", f"sqlite:///{tmp_path}/x.db", *options)
        assert ran.code == 2
        assert "there is no store at" in ran.complaint
    assert list(tmp_path.iterdir()) == []
