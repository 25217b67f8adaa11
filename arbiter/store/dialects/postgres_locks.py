"""The advisory locks of PostgreSQL that keep servers in order; `postgres` says what each is for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

import psycopg
from sqlalchemy import Connection, Engine, Row, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from arbiter.store.database_errors import IN_USE_ALONE, HeldElsewhere
from arbiter.store.dialects.postgres_session import engine_of

_SCHEMA: Final = "hashtext('arbiter ' || current_schema())"
_SERVING: Final = f"pg_advisory_lock({_SCHEMA}, 1)"
_SERVING_TOO: Final = f"pg_advisory_lock_shared({_SCHEMA}, 1)"
#: The statements that take the other two locks, until the end of a transaction.
STARTING: Final = f"SELECT pg_advisory_xact_lock({_SCHEMA}, 3)"
NUMBERING: Final = f"SELECT pg_advisory_xact_lock({_SCHEMA}, 2)"
#: The rows of the sessions that hold SERVING.
HELD_BY: Final = (
    "FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND objid = 1 "
    f"AND classid::bigint = ({_SCHEMA}::bigint & 4294967295) "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
SERVING: Final = f"SELECT pid {HELD_BY}"  #: the query for the database's process ids of the sessions that hold SERVING
NOW_MS: Final = "SELECT extract(epoch FROM clock_timestamp()) * 1000"  #: the query for the database's time
_TAKES_WRITES: Final = "SELECT current_setting('transaction_read_only') = 'off'"
_END: Final = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ANY(%s)"
_LOCK_NOT_AVAILABLE: Final = "55P03"

#: The database treats a client that does not answer as gone equally soon: its lock must not outlive its machine.
_PATIENCE_OF_THE_DATABASE: Final = (
    "SET tcp_keepalives_idle = 10",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
    "SET idle_session_timeout = 0",
)
STOOD_STILL_MS = 1_000
"""After how long in a transaction without a statement the database ends a session.

A server may stand still, or be cut off, in a transaction that holds NUMBERING: no other server could write until the
database ends its session. This is less than the silence after which a server counts as gone."""
LOOK_S: Final = 1.0  #: interval between two looks at whether the database still takes writes
LET_GO_MS = 3_000  #: how long a new server waits for the session of a server that has just been killed


@contextmanager
def held(made: Engine, shared: bool = False) -> Iterator[None]:
    """Hold the store by an advisory lock of a separate session, which the database releases when the process ends.

    `shared`: beside others who do so, as servers do; otherwise alone.

    While the store is held, the engine opens a connection only if the lock still exists. So if the database was away
    for a while, and another program has taken the store for itself, this server writes nothing more. If only the
    session of the lock is ended, a thread notices that within LOOK_S. Until then the condition of each append prevents
    a fork by two servers.

    The same thread notices that the database takes no writes any more: then another one is the primary. All sessions of
    the engine with the former primary are ended. So nobody reads old records there, and no commit waits for the standby
    that has become the primary. Raises HeldElsewhere.
    """
    hold = _HOLDS[made] = _Hold(made.url, shared)

    def check(connection: psycopg.Connection[Any], _record: object) -> None:
        try:
            hold.take(connection)
            if shared:
                with connection.cursor() as cursor:
                    cursor.execute(f"SET idle_in_transaction_session_timeout = {STOOD_STILL_MS}")
                connection.commit()
        except BaseException:
            connection.close()
            raise

    try:
        hold.take()
        made.dispose()  # each connection from here on has been checked
        event.listen(made, "connect", check)
        hold.begin_to_look()
        yield
    finally:
        if event.contains(made, "connect", check):
            event.remove(made, "connect", check)
        del _HOLDS[made]
        hold.close()


def serving_session(made: Engine, renewed: bool = False) -> tuple[int, int]:
    """Return the database's process id of the session that holds SERVING for an engine, and since when it does.

    The instant is in the database's time, in milliseconds since the epoch. Both are 0 if the store is not held. The
    session may have ended meanwhile: if `renewed`, there is a new one then. Raises HeldElsewhere, DBAPIError.
    """
    hold = _HOLDS.get(made)
    if hold is None:
        return 0, 0
    if renewed:
        hold.take()
    return hold.session


class _Hold:
    """The session that holds the lock SERVING, `shared` with others or alone.

    session: its process id in the database, and since when it holds the lock; see `serving_session`.
    """

    def __init__(self, place: URL, shared: bool = False) -> None:
        self._shared = shared
        self._engine = engine_of(place, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        self._mutex = threading.Lock()
        self._connection: Connection | None = None
        self._session: Row[Any] | None = None  # the session's database process id, and its start time
        self.session = 0, 0
        self._of_engine = WeakSet[psycopg.Connection[Any]]()  # its sessions
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._look, name="store-hold", daemon=True)

    def begin_to_look(self) -> None:
        """From now on, take the lock again by itself whenever it was lost."""
        self._thread.start()

    def _look(self) -> None:
        while not self._closed.wait(LOOK_S):
            with suppress(SQLAlchemyError):  # the next look tries again, and so does each new session
                self.take()

    def take(self, session: psycopg.Connection[Any] | None = None) -> None:
        """Take the lock. Raises HeldElsewhere if another session is in the way, DBAPIError.

        session: a new one of the engine.
        """
        with self._mutex:
            takes_writes = self._takes_writes()
            if not takes_writes:
                if takes_writes is not None:
                    self._end_sessions()
                self._drop()
                self._connect()
            if session is not None:
                self._of_engine.add(session)

    def close(self) -> None:
        """Release the lock."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()
        with self._mutex:
            self._drop()
            self._engine.dispose()

    def _takes_writes(self) -> bool | None:
        """Return whether the session's database takes writes; None if there is no session (any more)."""
        if self._connection is None:
            return None
        try:
            return bool(self._connection.exec_driver_sql(_TAKES_WRITES).scalar())
        except DBAPIError:
            return None

    def _end_sessions(self) -> None:
        """End all sessions of the engine with a former primary, by the session that is still there."""
        assert self._connection is not None
        numbers = []
        for each in self._of_engine:
            with suppress(psycopg.OperationalError):  # it is closed
                numbers.append(each.info.backend_pid)
        with suppress(DBAPIError):
            self._connection.exec_driver_sql(_END, (numbers,)).close()

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(DBAPIError):
                self._connection.close()
            self._connection = None

    def _connect(self) -> None:
        connection = self._engine.connect()
        try:
            for statement in _PATIENCE_OF_THE_DATABASE:
                connection.exec_driver_sql(statement)
            self._end_own_session(connection)
            connection.exec_driver_sql(f"SET lock_timeout = {LET_GO_MS}")
            connection.exec_driver_sql(f"SELECT {_SERVING_TOO if self._shared else _SERVING}")
            self._session = connection.exec_driver_sql(
                "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
            ).one()
            since_ms = connection.exec_driver_sql(NOW_MS).scalar_one()
            self.session = int(self._session[0]), int(since_ms)
        except OperationalError as error:
            connection.close()
            if getattr(error.orig, "sqlstate", "") == _LOCK_NOT_AVAILABLE:
                raise HeldElsewhere(IN_USE_ALONE if self._shared else "another arbiter serves it") from None
            raise
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _end_own_session(self, connection: Connection) -> None:
        """End the session that held the lock before, if the database has not noticed yet that it was cut off."""
        if self._session is not None:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND backend_start = %s",
                tuple(self._session),
            )


_HOLDS: Final[WeakKeyDictionary[Engine, _Hold]] = WeakKeyDictionary()
