from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from arbiter.bootstrap import Store, open_store
from arbiter.store.database import opened
from arbiter.store.tables import metadata
from arbiter.testing.memory import MemoryDirectory, MemoryJournal
from tests.store.postgres import Cluster


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests on PostgreSQL as long: starting a server, and emptying it for each test, takes long."""
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()) or "[postgres" in item.name:
            item.add_marker(pytest.mark.long)


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
def database(cluster: Cluster) -> str:
    """Return a database with all tables: creating them for each test would take most of the time."""
    url = cluster.fresh()
    with opened(url):
        pass
    return url


@pytest.fixture
def postgres(database: str) -> str:
    """Return a database without rows."""
    with opened(database) as engine, engine.begin() as connection:
        for table in metadata.sorted_tables:
            connection.execute(table.delete())
    return database


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Return the URL of a store, on every kind of database."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """Return a store, of every kind: all have one contract."""
    if request.param == "memory":
        yield Store(MemoryJournal(), MemoryDirectory())
    else:
        async with open_store(request.getfixturevalue(request.param)) as opened_store:
            yield opened_store
