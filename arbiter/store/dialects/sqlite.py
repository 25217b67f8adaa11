"""SQLite: everything in one file, with two more files beside it while it is open."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from sqlalchemy import ClauseElement, Column, Connection, Engine, create_engine, event
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import QueuePool
from sqlalchemy.sql.compiler import SQLCompiler

from arbiter.errors import OperatorError
from arbiter.store.changes import Change
from arbiter.store.database_errors import HeldElsewhere
from arbiter.store.dialects.dialect import FORMS, Dialect, Files
from arbiter.store.tables import Numbered, Statement, metadata
from arbiter.store.watched_path import WatchedPath

if TYPE_CHECKING:
    from arbiter.store._commit_thread import CommitThread

_FORM: Final = FORMS["sqlite"]
COLUMNS: Final = 7  #: columns of each inserted record
_OWNER_ONLY: Final = 0o600  #: a store has the hashes of tokens, and what its owner shows to nobody
KNOWN: Final = 5  #: the place of the bool among them
KEPT_LOG: Final = 64 << 20
"""Bytes that the write-ahead log keeps once its pages are in the file.

A log that is overwritten is cheaper than one that grows, so it keeps what an ordinary load needs. Of a burst, or of a
long read beside it, it keeps no more.
"""
# FULL: a reported commit survives a power cut. Checkpoints run separately: see writer.py.
_PRAGMAS: Final = (
    "PRAGMA busy_timeout=5000",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA wal_autocheckpoint=0",
    f"PRAGMA journal_size_limit={KEPT_LOG}",
)
_AFTER: Final = (
    "SELECT sequence, match_id, revision, body, subject, seal FROM event WHERE sequence > ? ORDER BY sequence LIMIT ?"
)


class Sqlite(Dialect):
    """SQLite. most_lone: maximum records in one statement, which is its own transaction outside of others."""

    name = "SQLite"
    shared = False
    begin = ("BEGIN IMMEDIATE",)  # Python's driver begins none for statements that change tables, and for reads
    migration = begin
    snapshot = ("BEGIN",)
    lone_reads: Mapping[str, Any] = {}  # Python's driver begins no transaction for them
    claim: tuple[str, ...] = ()  # SQLite allows one writer at a time
    now_ms: str | None = None
    checkpoints = True
    most_lone = 512

    def engine(self, place: URL) -> Engine:
        """Return the engine of a file, which is created at its first use. Raises OperatorError."""
        if not place.database or place.database == ":memory:":
            raise OperatorError(f"a store in memory would lose matches with the process: write {_FORM}")
        if place.query or place.host or place.drivername not in ("sqlite", "sqlite+pysqlite"):
            raise OperatorError(f"{place.render_as_string()!r} is not a store: write {_FORM} and nothing else")
        folder = Path(place.database).absolute().parent
        if not folder.is_dir():
            raise OperatorError(f"the store's folder {folder} does not exist: make it first")
        made = create_engine(place, poolclass=QueuePool, connect_args={"check_same_thread": False})

        @event.listens_for(made, "do_connect")
        def create(*_: object) -> None:
            _create(Path(place.database or ""))

        @event.listens_for(made, "connect")
        def settle(connection: Any, _record: object) -> None:
            for pragma in _PRAGMAS:
                connection.execute(pragma).close()

        return made

    def connect_writer(self, engine: Engine) -> Connection:
        """Return a connection in autocommit mode; BEGIN starts a transaction. Raises SQLAlchemyError."""
        return engine.connect().execution_options(isolation_level="AUTOCOMMIT")

    def commit_thread(self, engine: Engine, most: int) -> CommitThread | None:
        """Return a thread that commits without the interpreter's lock; None if this installation is not compiled.

        most: maximum records in a commit, unless a batch has more. The thread opens the file at its first commit.
        Python's driver takes the lock before and after each commit, and at low load this costs more than the commit.
        """
        try:
            from arbiter.store._commit_thread import CommitThread
        except ImportError:
            return None
        path = Path(engine.url.database or "").absolute()
        return CommitThread(str(path), _log_of(path), "; ".join(_PRAGMAS), _insert_of(1)[0], most)

    def statement(self, change: Change) -> Statement:
        """Return a change in the driver's form."""
        statement, names = _compiled(change.statement, tuple(change.values))
        return statement, tuple(map(change.values.__getitem__, names))

    def files(self, engine: Engine) -> Files:
        """Return the file and its log, which are watched."""
        return WatchedFiles(engine)

    def still_connected(self, connection: Connection) -> bool:
        """Return whether an idle connection can still be used: always, as a local file cannot disconnect."""
        return True

    def number(self, connection: Connection) -> int:
        """Return the last record number, 0 for none. Raises DBAPIError."""
        return int(connection.exec_driver_sql("SELECT max(sequence) FROM event").scalar() or 0)

    def log_after(self, connection: Connection, after: int, most: int) -> Sequence[Sequence[Any]]:
        return connection.exec_driver_sql(_AFTER, (after, most)).all()

    def checkpoint(self, connection: Connection) -> int:
        driver = cast(sqlite3.Connection, connection.connection.driver_connection)
        try:
            _, pages, _ = driver.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error as error:
            raise DBAPIError("wal_checkpoint", None, error) from None
        return int(pages)

    def insert(self, connection: Connection, rows: Sequence[Numbered]) -> None:
        """Store records on the writer's connection. Up to `most_lone` records are stored all or none, in any case.

        Raises IntegrityError if a revision exists already or the one before it does not. Raises DBAPIError.

        This is the hot path of a move. It calls the driver directly with one statement without BEGIN and COMMIT, so
        that the thread releases the interpreter lock only once for each commit. With SQLAlchemy's connection and
        transaction a commit costs half as much again: 360 instead of 230 microseconds of processor time with one move,
        and 52 instead of 35 for each move with 25. Most of the rest is SQLite and the system. `executemany` is not used
        because Python's driver would wait for the interpreter lock at each row.
        """
        driver = cast(sqlite3.Connection, connection.connection.driver_connection)
        for first in range(0, len(rows), self.most_lone):
            some = rows[first : first + self.most_lone]
            statement, places = _insert_of(len(some))
            values = [*chain.from_iterable(some), *repeat(0, COLUMNS * (places - len(some)))]
            # For each bool the driver would look for an adapter.
            values[KNOWN : COLUMNS * len(some) : COLUMNS] = [int(row[KNOWN]) for row in some]
            try:
                driver.execute(statement, values).close()
            except sqlite3.IntegrityError as error:
                raise IntegrityError(statement, None, error) from None
            except sqlite3.Error as error:
                raise DBAPIError(statement, None, error) from None

    @contextmanager
    def held(self, engine: Engine, shared: bool = False) -> Iterator[None]:
        """Hold the store by a lock on its file, by whatever name it was opened. The lock ends with the process.

        Nobody can hold a file together with others: `shared` must be false.

        This is an flock, which does not interfere with SQLite's own locks. But a process loses SQLite's locks on a file
        when it closes any handle of that file, so all connections are closed before the lock.

        At the start, the write-ahead log of a killed process is moved into the file. Otherwise, if the server is killed
        again and again before its first checkpoint, the log would only grow, and each start would take longer to read
        it.

        Raises HeldElsewhere if another process holds the file, OperatorError if it cannot be locked or has a second
        name, SQLAlchemyError if it cannot be opened.
        """
        assert not shared
        path = Path(engine.url.database or "")
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY)
        except OSError as error:
            raise OperatorError(
                f"the store's file {path} can't be opened ({error.strerror}): make it a file that this user may "
                "read and write, in such a folder"
            ) from None
        try:
            if os.fstat(handle).st_nlink > 1:  # SQLite finds the write-ahead log by the file's name alone
                raise OperatorError(
                    f"the store's file {path} has a second name (a hard link): a server that opens it by that name "
                    "would not find its write-ahead log, and would lose moves; remove the link"
                )
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise HeldElsewhere("another arbiter serves it") from None
            with engine.connect() as connection, suppress(DBAPIError):  # if this fails, the log only stays longer
                self.checkpoint(connection)
            yield
        finally:
            engine.dispose()
            os.close(handle)

    @contextmanager
    def starting(self, engine: Engine) -> Iterator[None]:
        """Let no other server start during the context: here the lock of the file does this."""
        yield

    def is_there(self, engine: Engine) -> bool:
        """Return whether the file exists: SQLite would create it."""
        return Path(engine.url.database or "").exists()

    def holders(self, engine: Engine) -> int:
        """Return how many servers hold the file, which is there: one or none. Raises OperatorError.

        This takes the lock for a moment, shared with others. Call it while this process has no connection to the file:
        closing a handle would end the locks of such a connection.
        """
        path = Path(engine.url.database or "")
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise OperatorError(
                f"the store's file {path} can't be read ({error.strerror}): run this as its owner"
            ) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return 1
        finally:
            os.close(handle)
        return 0

    def server_version(self, connection: Connection) -> str:
        """Return the version of SQLite."""
        return str(connection.exec_driver_sql("SELECT sqlite_version()").scalar())

    def size(self, connection: Connection) -> int:
        """Return how many bytes the file takes on its disk, without its log."""
        pages, page = (
            connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in ("page_count", "page_size")
        )
        return int(pages) * int(page)

    def folder(self, connection: Connection) -> Path | None:
        """Return the folder of the file."""
        return Path(str(connection.engine.url.database)).absolute().parent

    def unsafe_settings(self, connection: Connection) -> list[str]:
        """Return no clauses: `engine` sets what decides whether a commit survives a power cut."""
        return []

    def lock_waits(self, _connection: Connection, _least_s: float) -> list[str]:
        """Return nothing: whoever needs SQLite's lock while another one holds it is refused."""
        return []

    def free_connections(self, connection: Connection) -> int | None:
        """Return None: only the limit of open files counts."""
        return None

    def check_sound(self, connection: Connection) -> list[str]:
        """Return the faults of the file's pages, indexes and values, a sentence each."""
        said = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        if said != ["ok"]:
            return [str(sentence) for sentence in said]
        faults: list[str] = []
        for table in metadata.sorted_tables:
            for column in table.columns:
                faults += _wrong_values(connection, column)
        return faults


_DIALECT: Final = SQLiteDialect_pysqlite()


@cache
def _compiled(statement: ClauseElement, names: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the text of a statement with values of these names, and the names in the order of its places."""
    compiled = cast(SQLCompiler, statement.compile(dialect=_DIALECT, column_keys=names))
    assert compiled.positiontup is not None
    return compiled.string, tuple(compiled.positiontup)


@cache
def _insert_of(count: int) -> tuple[str, int]:
    """Return an INSERT statement for at least this many rows, and its number of rows.

    Unused rows are filled with zeros. A record whose previous revision is missing gets a null body, which the column
    refuses.
    """
    places = 1 << (count - 1).bit_length()  # few sizes, so that the driver caches the compiled statements
    statement = (
        "INSERT INTO event (sequence, match_id, revision, body, subject, seal) SELECT column1, column2, column3, "
        "CASE WHEN column6 OR EXISTS (SELECT 1 FROM event WHERE match_id = column2 AND revision = column3 - 1) "
        f"THEN column4 END, column5, column7 FROM (VALUES {', '.join(repeat('(?, ?, ?, ?, ?, ?, ?)', places))}) "
        "WHERE column1"
    )
    return statement, places


def _create(path: Path) -> None:
    """Create a file for its owner alone, unless it is there. SQLite would use the umask.

    SQLite gives the two files beside it the same permissions. A file that is there must not be opened: see `held`.
    """
    with suppress(OSError):  # SQLite says what is wrong with the path
        os.close(os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _OWNER_ONLY))


class WatchedFiles(Files):
    """The files of a store; checks whether the files at their paths are still the ones that were opened.

    If a file is deleted, moved or replaced while it is open, writes to it succeed, but nobody finds them again.
    """

    def __init__(self, made: Engine) -> None:
        self._path = Path(made.url.database or "").absolute()
        self._log_path = Path(_log_of(self._path))
        self._watched, self._watched_log = WatchedPath(self._path), WatchedPath(self._log_path)
        self._file = _identity(self._watched)
        self._size = 0
        self._log: _Identity | None = None

    def reopened(self) -> None:
        """Note that connections were closed: the write-ahead log may be a new file."""
        self._log = None

    def missing(self) -> str:
        """Return what is wrong with the files, as a clause for the server's log; '' if they are in order."""
        try:
            found = self._watched.look()
        except OSError as error:
            return f"{self._path} is gone ({error.strerror})"
        if found.identity != self._file:
            return f"{self._path} is another file than the one that was opened"
        if found.size < self._size:
            return f"{self._path} has shrunk from {self._size} to {found.size} bytes"
        self._size = found.size
        log = _identity(self._watched_log)
        if self._log is None:
            self._log = log
        elif log != self._log:
            return f"{self._log_path} is gone, or another file than the one that was opened"
        return ""


_Identity = tuple[int, int]  # device and inode


def _log_of(path: Path) -> str:
    """Return the path of the write-ahead log of a database, which SQLite puts beside the file behind any links."""
    return f"{os.path.realpath(path)}-wal"


def _identity(watched: WatchedPath) -> _Identity | None:
    try:
        return watched.look().identity
    except OSError:
        return None


_CLASSES: Final = {int: "integer", bool: "integer", str: "text", bytes: "blob"}


def _wrong_values(connection: Connection, column: Column[Any]) -> list[str]:
    """Return a sentence if a column holds values of another type: SQLite takes any value in any column."""
    kind = column.type.python_type
    expected = _CLASSES.get(kind, "text")
    null = ", 'null'" if column.nullable else ""
    wrong = f"typeof(\"{column.name}\") NOT IN ('{expected}'{null})"
    if kind is bool:
        wrong += f' OR "{column.name}" NOT IN (0, 1)'
    query = f'SELECT count(*), min(rowid) FROM "{column.table.name}" WHERE {wrong}'
    count, first = connection.exec_driver_sql(query).one()
    if not count:
        return []
    return [f"{count} rows of {column.table} have a {column.name} that is no {expected}; the first is row {first}"]
