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
    session of the lock is ended, the engine notices when it next connects; until then the condition of each append
    prevents a fork by two servers.

    While the store is held, a thread looks every LOOK_S whether the database has become a former primary: one that
    takes no writes any more. Then all sessions of the engine there are ended, so that nobody reads what is old, and no
    commit waits for a standby that is the primary by now. Raises HeldElsewhere.
    """
    hold = _HOLDS[made] = _Hold(made.url, shared)
    looking = threading.Thread(target=hold.look, name="store-hold", daemon=True)

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
        looking.start()
        yield
    finally:
        hold.ended.set()
        if looking.is_alive():
            looking.join()
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

    session: its process id in the database, and since when it holds the lock; see `serving_session`. ended: to be set
    before `close`.
    """

    def __init__(self, place: URL, shared: bool = False) -> None:
        self._shared = shared
        self._engine = engine_of(place, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        self._mutex = threading.Lock()
        self._connection: Connection | None = None
        self._session: Row[Any] | None = None  # the session's database process id, and its start time
        self.session = 0, 0
        self.ended: Final = threading.Event()
        self._kept = WeakSet[psycopg.Connection[Any]]()  # the sessions of the engine

    def look(self) -> None:
        """Take the lock again whenever it was lost, until `ended`."""
        while not self.ended.wait(LOOK_S):
            with suppress(SQLAlchemyError):  # the next look tries again, and so does each new session
                self.take()

    def take(self, session: psycopg.Connection[Any] | None = None) -> None:
        """Take the lock. Raises HeldElsewhere if another session is in the way, DBAPIError.

        session: a new one of the engine.
        """
        with self._mutex:
            if not self._alive():
                self._drop()
                self._connect()
            if session is not None:
                self._kept.add(session)

    def close(self) -> None:
        """Release the lock."""
        with self._mutex:
            self._drop()
            self._engine.dispose()

    def _alive(self) -> bool:
        """Return whether the session is there, and its database takes writes: else the lock is on a former primary."""
        if self._connection is None:
            return False
        try:
            if self._connection.exec_driver_sql(_TAKES_WRITES).scalar():
                return True
            self._connection.exec_driver_sql(_END, (list(self._backends()),)).close()
        except DBAPIError:
            pass
        return False

    def _backends(self) -> Iterator[int]:
        """Yield the database's process ids of the engine's sessions."""
        for each in self._kept:
            with suppress(psycopg.OperationalError):  # it is closed
                yield each.info.backend_pid

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
