"""SQLite: everything in one file, with two more beside it while it is open."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Final, cast

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import QueuePool

from arbiter.errors import OperatorError
from arbiter.store.failure import HeldElsewhere
from arbiter.store.tables import Numbered

FORM: Final = "sqlite:///FILE"
BEGIN: Final = ("BEGIN IMMEDIATE",)
"""What begins a transaction of tables, or one that reads before it writes: Python's driver begins none for them."""
SNAPSHOT: Final = ("BEGIN",)
"""What begins a transaction that reads one state of everything."""
CLAIM: Final[tuple[str, ...]] = ()
"""What a transaction says before it numbers records: nothing, because SQLite lets one write at a time."""
COLUMNS: Final = 6  #: of what is given to an insert for a record
MOST_LONE: Final = 512  #: records in one statement, which is a transaction of its own outside of any other
KEEPS_CONNECTION: Final = True  #: whether the writer does, from one commit to the next: a file does not go away


def engine(place: URL) -> Engine:
    """Return the engine of a file, which is made when it is first used. Raises OperatorError."""
    if not place.database or place.database == ":memory:":
        raise OperatorError(f"a store in memory would lose matches with the process: write {FORM}")
    if place.query or place.host or place.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise OperatorError(f"{place.render_as_string()!r} is not a store: write {FORM} and nothing else")
    folder = Path(place.database).absolute().parent
    if not folder.is_dir():
        raise OperatorError(f"the store's folder {folder} does not exist: make it first")
    made = create_engine(place, poolclass=QueuePool, connect_args={"check_same_thread": False})

    @event.listens_for(made, "connect")
    def settle(connection: Any, _record: object) -> None:
        # FULL: a commit that was reported survives a power cut. Checkpoints are taken apart: see writer.py.
        for pragma in ("busy_timeout=5000", "journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=0"):
            connection.execute(f"PRAGMA {pragma}").close()

    return made


def connect_writer(made: Engine) -> Connection:
    """Return a connection whose statements stand for themselves, unless it says BEGIN. Raises SQLAlchemyError."""
    return made.connect().execution_options(isolation_level="AUTOCOMMIT")


def checkpoint(connection: Connection) -> int:
    """Move what the log holds, as it begins, into the file; return how many pages that were. Raises DBAPIError."""
    driver = cast(sqlite3.Connection, connection.connection.driver_connection)
    try:
        _, pages, _ = driver.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except sqlite3.Error as error:
        raise DBAPIError("wal_checkpoint", None, error) from None
    return int(pages)


def insert(connection: Connection, rows: Sequence[Numbered]) -> None:
    """Store records, on a connection of the writer's: up to MOST_LONE of them all or none, whatever happens.

    Raises IntegrityError if a revision is there already or the one before it is not, DBAPIError.

    This is the path of a move. It goes straight to the driver, by one statement without BEGIN and COMMIT, so that the
    thread lets the interpreter go but once a commit. By way of SQLAlchemy's connection and transaction a commit costs
    half as much again: 360 microseconds of processor time instead of 230 with one move, 52 instead of 35 a move with
    25; most of what is left is SQLite's own and the system's. At each row of `executemany` Python's driver would wait
    for the interpreter again.
    """
    driver = cast(sqlite3.Connection, connection.connection.driver_connection)
    for first in range(0, len(rows), MOST_LONE):
        some = rows[first : first + MOST_LONE]
        statement, places = _insert_of(len(some))
        values = [*chain.from_iterable(some), *repeat(0, COLUMNS * (places - len(some)))]
        try:
            driver.execute(statement, values).close()
        except sqlite3.IntegrityError as error:
            raise IntegrityError(statement, None, error) from None
        except sqlite3.Error as error:
            raise DBAPIError(statement, None, error) from None


@cache
def _insert_of(count: int) -> tuple[str, int]:
    """Return a statement for so many rows or more, and for how many: what is left over is zero.

    A record whose revision before is not there gets a body of null, which its column does not take.
    """
    places = 1 << (count - 1).bit_length()  # few sizes: the driver keeps what it has compiled
    statement = (
        "INSERT INTO event (sequence, match_id, revision, body, subject) SELECT column1, column2, column3, "
        "CASE WHEN column6 OR EXISTS (SELECT 1 FROM event WHERE match_id = column2 AND revision = column3 - 1) "
        f"THEN column4 END, column5 FROM (VALUES {', '.join(repeat('(?, ?, ?, ?, ?, ?)', places))}) WHERE column1"
    )
    return statement, places


@contextmanager
def held(made: Engine) -> Iterator[None]:
    """Hold the store by a lock on its file, whatever name it was opened by; the lock goes with the process.

    The lock is one of flock, which SQLite's own locks do not meet. But a process loses SQLite's locks on a file when it
    closes any handle on that file, so all connections are closed before the lock is.

    What a process that was killed has left in the log is moved into the file: else the log of one that is killed again
    and again, each time before its first checkpoint, would only grow, and each start would take longer to read it.

    Raises HeldElsewhere if another process holds it, OperatorError if there can be no lock or the file has a second
    name, SQLAlchemyError if there can be no connection.
    """
    path = Path(made.url.database or "")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise OperatorError(
            f"the store's file {path} can't be opened ({error.strerror}): make it a file that this user may "
            "read and write, in such a folder"
        ) from None
    try:
        if os.fstat(handle).st_nlink > 1:  # the log beside it is found by the name alone
            raise OperatorError(
                f"the store's file {path} has a second name (a hard link): a server that opens it by that name would "
                "not find its write-ahead log, and would lose moves; remove the link"
            )
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HeldElsewhere("another arbiter serves it") from None
        with made.connect() as connection, suppress(DBAPIError):  # where it fails, the log stays longer
            checkpoint(connection)
        yield
    finally:
        made.dispose()
        os.close(handle)


class Files:
    """The files of a store, and whether those at their paths are still the ones that were opened.

    A file that was deleted, moved or replaced goes on taking writes for those who have it open, and nobody finds these
    writes again.
    """

    def __init__(self, made: Engine) -> None:
        self._path = Path(made.url.database or "").absolute()
        self._log_path = Path(f"{os.path.realpath(self._path)}-wal")
        self._file = _identity(self._path)
        self._size = 0
        self._log: _Identity | None = None

    def reopened(self) -> None:
        """Take note that connections were closed: the write-ahead log may be a new file."""
        self._log = None

    def missing(self) -> str:
        """Return what is wrong with the files, as a clause for the server's log; '' if nothing is."""
        try:
            found = self._path.stat()
        except OSError as error:
            return f"{self._path} is gone ({error.strerror})"
        if (found.st_dev, found.st_ino) != self._file:
            return f"{self._path} is another file than the one that was opened"
        if found.st_size < self._size:
            return f"{self._path} has shrunk from {self._size} to {found.st_size} bytes"
        self._size = found.st_size
        log = _identity(self._log_path)
        if self._log is None:
            self._log = log
        elif log != self._log:
            return f"{self._log_path} is gone, or another file than the one that was opened"
        return ""


_Identity = tuple[int, int]  # device and inode


def _identity(path: Path) -> _Identity | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_there(made: Engine) -> bool:
    """Say whether there is something to connect to: SQLite would make it."""
    return Path(made.url.database or "").exists()


def check_sound(connection: Connection) -> list[str]:
    """Return what is wrong with the file's pages and indexes, a sentence each."""
    said = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
    return [] if said == ["ok"] else [str(sentence) for sentence in said]
