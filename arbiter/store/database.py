"""Opening a database: its URL, its settings, its migrations."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError
from sqlalchemy.pool import QueuePool

from arbiter.errors import OperatorError


def open_database(url: str) -> Engine:
    """Return the engine of a store's URL, its tables brought up to date.

    `sqlite:///FILE` keeps everything in one file (with two more beside it while it is open).
    Raises OperatorError for a URL or file that can't be used, StoreTooNew for a database of a newer arbiter.
    """
    try:
        place = make_url(url)
    except ArgumentError:
        raise OperatorError(f"{url!r} is not a store: write sqlite:///FILE") from None
    if place.get_backend_name() != "sqlite":
        raise OperatorError(
            f"{place.get_backend_name()!r} is not a store that this arbiter knows: write sqlite:///FILE"
        )
    engine = _sqlite(place)
    try:
        _migrate(engine)
    except DatabaseError as error:
        engine.dispose()
        raise OperatorError(f"the store {url} can't be opened: {error.orig}") from None
    except BaseException:
        engine.dispose()
        raise
    return engine


def _sqlite(place: URL) -> Engine:
    if not place.database or place.database == ":memory:":
        raise OperatorError("a store in memory would lose matches with the process: write sqlite:///FILE")
    if place.query or place.host or place.get_driver_name() != "pysqlite":
        raise OperatorError(f"{place.render_as_string()!r} is not a store: write sqlite:///FILE and nothing else")
    folder = Path(place.database).absolute().parent
    if not folder.is_dir():
        raise OperatorError(f"the store's folder {folder} does not exist: make it first")
    engine = create_engine(place, poolclass=QueuePool, connect_args={"check_same_thread": False})

    @event.listens_for(engine, "connect")
    def settle(connection: Any, _record: object) -> None:
        # FULL: a commit that was reported survives a power cut. Checkpoints are taken apart: see writer.py.
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=5000", "wal_autocheckpoint=0"):
            connection.execute(f"PRAGMA {pragma}").close()

    return engine


@contextmanager
def held(url: str) -> Iterator[None]:
    """Hold a store for one server, for as long as the context lasts; the lock goes with the process, however it ends.

    Raises OperatorError if another server holds it: two of them would take each other's matches for their own.
    """
    with Path(f"{make_url(url).database}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OperatorError(
                f"another arbiter serves the store {url}: stop it first, or use another store"
            ) from None
        yield


def _migrate(engine: Engine) -> None:
    with engine.connect() as connection:
        tables = inspect(connection).get_table_names()
        version = text("SELECT version_num FROM alembic_version")
        current = connection.execute(version).scalar() if "alembic_version" in tables else None
    if current != newest():  # otherwise Alembic, which takes half a second to load, has nothing to do
        from arbiter.store.migrations.run import upgrade

        upgrade(engine)


def newest() -> str:
    """Return the newest version of the tables: the number that its step's file begins with."""
    return max(step.name[:4] for step in (Path(__file__).parent / "migrations" / "versions").glob("[0-9]*.py"))
