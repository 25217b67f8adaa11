"""A new store for each server of a benchmark: a file of SQLite's, or a database on a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import NamedTuple

from sqlalchemy import text
from sqlalchemy.engine import URL

from arbiter.bench.processes import BenchError
from arbiter.store.database import engine_of, named, place_of


class NewStore(NamedTuple):
    """The URL of a store, and a folder of its own for what is kept beside it."""

    url: str
    folder: Path

    @property
    def keys(self) -> str:
        """The file for the keys that seal its records."""
        return str(self.folder / "arbiter.keys")


@contextmanager
def new_store(folder: Path | None, server: str = "") -> Iterator[NewStore]:
    """Make a store; remove it at the end of the context.

    folder: where SQLite's file is put, in a folder of its own (default: the system's temporary one). server: the URL of
    a database on a PostgreSQL server; the store is then a new database on that server, and its user must be allowed to
    create databases. Raises BenchError for another URL, OperatorError for a database that can't be used.
    """
    with TemporaryDirectory(prefix="arbiter-bench-", dir=folder) as own:
        if not server:
            yield NewStore(f"sqlite:///{own}/arbiter.db", Path(own))
            return
        place, name = place_of(server), f"arbiter_bench_{token_hex(4)}"
        if place.get_backend_name() != "postgresql":
            raise BenchError(
                "--store is for postgresql://USER@HOST/DATABASE; without it, --folder says where SQLite is"
            )
        _run(place, f"CREATE DATABASE {name}")
        try:
            yield NewStore(place.set(database=name).render_as_string(hide_password=False), Path(own))
        finally:
            _run(place, f"DROP DATABASE {name} WITH (FORCE)")


def _run(place: URL, statement: str) -> None:
    """Run a statement outside of a transaction."""
    engine = engine_of(place)
    try:
        with named(place), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text(statement))
    finally:
        engine.dispose()
