from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from arbiter.bootstrap.store import Store, open_store
from arbiter.store.database import opened
from arbiter.store.dialects import postgres_locks
from arbiter.store.tables import metadata
from arbiter.testing.memory import MemoryDirectory, MemoryJournal
from tests.cli.conftest import arbiter as arbiter
from tests.store import commit_thread
from tests.store.postgres import Cluster
from tests.store.steps import steps as steps


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests on PostgreSQL as long: starting a server, and emptying it for each test, takes long.

    Those that compile the thread without the interpreter's lock need the tools of another language.
    """
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "cluster" in fixtures or "[postgres" in item.name:
            item.add_marker(pytest.mark.long)
        if "unlocked" in fixtures or "[unlocked" in item.name:
            item.add_marker(pytest.mark.toolchain)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Start a real PostgreSQL server, once for each process of tests."""
    made = Cluster()
    yield made
    made.remove()


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/arbiter.db"


@pytest.fixture(scope="session")
def commit_thread_module(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """Return the thread that commits without the interpreter's lock, compiled once for each process of tests."""
    return commit_thread.built(tmp_path_factory.mktemp("commit_thread"))


@pytest.fixture
def unlocked(sqlite: str, commit_thread_module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of an SQLite store whose records are committed without the interpreter's lock."""
    monkeypatch.setitem(sys.modules, commit_thread.NAME, commit_thread_module)
    return sqlite


@pytest.fixture(scope="session")
def database(cluster: Cluster) -> str:
    """Return a database with all tables: creating them for each test would take most of the time."""
    url = cluster.fresh()
    with opened(url):
        pass
    return url


@pytest.fixture
def postgres(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a database without rows, which ends no session of a test that a busy machine lets stand still."""
    monkeypatch.setattr(postgres_locks, "STOOD_STILL_MS", 60_000)
    with opened(database) as engine, engine.begin() as connection:
        for table in metadata.sorted_tables:
            connection.execute(table.delete())
    return database


@pytest.fixture(params=["sqlite", "postgres", pytest.param("unlocked", marks=pytest.mark.soak)])
def url(request: pytest.FixtureRequest) -> str:
    """Return the URL of a store, on every kind of database.

    `test_unlocked.py` shows in the short form that the thread without the interpreter's lock leaves the same rows.
    """
    return str(request.getfixturevalue(request.param))


@pytest.fixture(params=["memory", "sqlite", "unlocked", "postgres"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """Return a store, of every kind: all have one contract."""
    if request.param == "memory":
        yield Store(MemoryJournal(), MemoryDirectory())
    else:
        async with open_store(request.getfixturevalue(request.param)) as opened_store:
            yield opened_store
