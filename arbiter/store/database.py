"""Opening a database: its URL, its settings, its migrations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError
from sqlalchemy.pool import QueuePool

from arbiter.errors import OperatorError
from arbiter.service.ports import StoreTooNew


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


def _migrate(engine: Engine) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    with engine.begin() as connection:
        # Said outright, because Python's driver begins no transaction for tables: a migration happens whole or not,
        # and two processes that start at once take turns.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        current = MigrationContext.configure(connection).get_current_revision()
        if current is not None and current not in known:
            raise StoreTooNew(
                f"the store {engine.url} is of a newer version ({current}): use the arbiter that wrote it"
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
