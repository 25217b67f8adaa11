"""PostgreSQL, by psycopg: for an event log on another machine, and for several servers on one store.

Three advisory locks of the database keep order (`pg_locks` shows them). The first half of their key is the schema's
hash, so that several stores can share a database.

- SERVING is held by a session from the start of a server to its end. Servers share it; whoever needs the store alone,
  to bring its tables up to date, to rebuild or to fill it, holds it alone. If a server's process is killed, the
  database ends this session at once: that is how the other servers see so early that it is gone.
- STARTING is held by a transaction while a server checks the store and its signing keys, one server after another.
- NUMBERING is held by a transaction that appends to the log, from before it reads the last number until its commit.
With numbers from a database sequence, records could become visible in another order than their numbers, and a reader
that has seen 7 would never look for a later 6. Under the lock, records become visible in the order of their numbers,
with one server or several. The lock is taken once in each group commit. A group of moves makes one or two round trips
to the database:

- The first one begins, takes the lock and reads the last number; the second one inserts and commits (`number`,
  `insert_and_commit`). What is asked for while the server waits for the lock joins the group. So with several servers
  that write by turns, the groups grow. The first one also brings what other servers have committed since the last
  record that this server knows (`number_after`): a server that writes often does not have to read the log.
- While no other server writes, the server knows the last number. Then one round trip takes the lock, inserts on the
  condition that this number is still the last one, and commits (`insert_behind`). Each statement sees what was
  committed before it began. So the condition is judged under the lock, on all that earlier holders of it have stored.

A group with openings or ends of matches inserts, updates the lists and commits with a round trip for each statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import InvalidatePoolError

from arbiter.errors import OperatorError
from arbiter.store.dialects import postgres_locks as locks
from arbiter.store.dialects import postgres_statements as statements
from arbiter.store.dialects.dialect import FORMS, Dialect, Files
from arbiter.store.dialects.postgres_session import (
    BINARY,
    checked,
    commit,
    driver_of,
    engine_of,
    is_usable,
    named_errors,
    piped,
    session_of,
)
from arbiter.store.tables import Numbered

_AFTER: Final = (
    "SELECT sequence, match_id, revision, body, subject, seal FROM event WHERE sequence > %s ORDER BY sequence LIMIT %s"
)
_FORM: Final = FORMS["postgresql"]
_THIS_MACHINE: Final = ("", "localhost", "127.0.0.1", "::1")
_SAFETY: Final = ("fsync", "full_page_writes")


class Postgres(Dialect):
    """PostgreSQL. serving: the query for the database's process ids of the sessions that hold SERVING."""

    name = "PostgreSQL"
    shared = True
    begin: tuple[str, ...] = ()  # no statement is needed while we hold the store
    #: It gives up rather than keep running servers waiting behind it.
    migration = ("SET LOCAL idle_in_transaction_session_timeout = 0", "SET LOCAL lock_timeout = '1s'")
    #: It may take long over what it reads: it keeps nobody waiting.
    snapshot = (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "SET LOCAL idle_in_transaction_session_timeout = 0",
    )
    #: In a transaction, a busy server could stand still (`postgres_locks.STOOD_STILL_MS`).
    lone_reads: Mapping[str, Any] = {"isolation_level": "AUTOCOMMIT"}
    claim = (locks.NUMBERING,)
    now_ms: str = locks.NOW_MS
    checkpoints = False
    serving = locks.SERVING
    serving_session = staticmethod(locks.serving_session)

    def engine(self, place: URL) -> Engine:
        """Return the engine of a database. Raises OperatorError for an invalid URL."""
        if place.drivername not in ("postgresql", "postgresql+psycopg"):
            raise OperatorError(f"{place.drivername!r} is not a store that this arbiter knows: write {_FORM}")
        if not place.database:
            raise OperatorError(f"the store names no database: write {_FORM}")
        made = engine_of(place)
        made.dialect.do_commit = commit  # type: ignore[assignment]

        @event.listens_for(made, "checkout")
        def check(connection: Any, _record: object, _proxy: object) -> None:
            if not is_usable(connection):
                raise InvalidatePoolError

        return made

    def commit_thread(self, engine: Engine, most: int) -> None:
        """Return None: there is no thread that commits to PostgreSQL without the interpreter's lock."""
        return

    def files(self, engine: Engine) -> Files:
        """Return files that nobody has to look at: PostgreSQL manages its own."""
        return Files()

    def still_connected(self, connection: Connection) -> bool:
        """Return whether an idle connection still has its session in the database, as far as can be known here."""
        return is_usable(driver_of(connection))

    def connect_writer(self, engine: Engine) -> Connection:
        return engine.connect()

    def number(self, connection: Connection) -> int:
        """Take NUMBERING in a transaction, which it begins if there is none; return the last record number, 0 for none.

        Raises DBAPIError.
        """
        return int(statements.numbered(connection, statements.NUMBER).get_value(0, 0) or 0)

    def number_after(self, connection: Connection, known: int) -> tuple[int, Iterable[Sequence[Any]] | None]:
        """Do as `number`, in the same round trip, and return also the rows of all records after a known one, in order.

        These are rows as from `log_after`. They are None if there are more than `MOST_BROUGHT`, or if the known record
        is not there: then another round trip has asked for the last number. Raises DBAPIError.
        """
        answer = statements.numbered(connection, f"{statements.NUMBER_FROM}({known:d})")
        found = answer.ntuples
        if not 0 < found <= statements.MOST_BROUGHT + 1 or statements.number_of(answer, 0) != known:
            return self.number(connection), None
        return statements.number_of(answer, found - 1), statements.Rows(answer) if found > 1 else ()

    def insert(self, connection: Connection, rows: Sequence[Numbered]) -> None:
        with named_errors(connection, statements.ROWS):
            checked(
                session_of(connection).exec_prepared(statements.INSERT.encode(), statements.parameters(rows), BINARY)
            )

    def insert_and_commit(self, connection: Connection, rows: Sequence[Numbered]) -> None:
        """Store records, all or none, and commit the transaction that has numbered them, in one round trip.

        Raises IntegrityError as `insert` does, DBAPIError. After an error the transaction is to be rolled back.
        """
        with named_errors(connection, statements.ROWS):
            piped(session_of(connection), (statements.INSERT, statements.parameters(rows)), (statements.COMMIT, ()))

    def insert_behind(self, connection: Connection, rows: Sequence[Numbered]) -> bool:
        """Store records in a transaction of their own, in one round trip, if they follow the last one.

        Return whether they do, and are stored. Raises IntegrityError as `insert` does, DBAPIError.
        """
        asked = (statements.NUMBERING, ()), (statements.INSERT_BEHIND, statements.parameters(rows))
        with named_errors(connection, statements.ROWS):
            _, answer = statements.prepared(connection, lambda: piped(session_of(connection), *asked))
            return answer.command_tuples == len(rows)

    def checkpoint(self, connection: Connection) -> int:
        """Return 0: PostgreSQL does this itself."""
        return 0

    def held(self, engine: Engine, shared: bool = False) -> AbstractContextManager[None]:
        """Hold the store by an advisory lock of a separate session; see `postgres_locks.held`. Raises HeldElsewhere."""
        return locks.held(engine, shared)

    def is_there(self, engine: Engine) -> bool:
        """Return whether there is a database to connect to: always, as PostgreSQL itself reports if there is none."""
        return True

    def holders(self, engine: Engine) -> int:
        """Return how many servers hold the store; a program that needs it alone counts as one. Raises DBAPIError."""
        with engine.connect() as connection:
            return int(connection.exec_driver_sql(f"SELECT count(*) {locks.HELD_BY}").scalar() or 0)

    @contextmanager
    def starting(self, engine: Engine) -> Iterator[None]:
        """Let no other server start during the context. Raises DBAPIError."""
        with engine.connect() as connection:
            connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0").close()
            connection.exec_driver_sql(locks.STARTING).close()
            yield

    def log_after(self, connection: Connection, after: int, most: int) -> Sequence[tuple[Any, ...]]:
        """Return rows of the table `event` after a sequence number, in order. Raises DBAPIError.

        Servers that share a store follow its log by this query, hundreds of times a second. It goes to the driver
        directly: SQLAlchemy's statement and rows would take twice the processor time of all the rest.
        """
        with named_errors(connection, _AFTER), driver_of(connection).cursor(binary=True) as cursor:
            return cursor.execute(_AFTER, (after, most)).fetchall()

    def server_version(self, connection: Connection) -> str:
        return str(connection.exec_driver_sql("SHOW server_version").scalar())

    def size(self, connection: Connection) -> int:
        """Return how many bytes the database takes on its disk."""
        return int(connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one())

    def folder(self, connection: Connection) -> Path | None:
        """Return the folder of PostgreSQL's data, if it runs on this machine, and the role may know."""
        host = driver_of(connection).info.host
        if not host.startswith("/") and host not in _THIS_MACHINE:
            return None
        query = "SELECT current_setting('data_directory') WHERE pg_has_role('pg_read_all_settings', 'MEMBER')"
        said = connection.exec_driver_sql(query).scalar()
        return Path(said) if said and Path(said).is_dir() else None

    def unsafe_settings(self, connection: Connection) -> list[str]:
        return [f"{name} is off" for name in _SAFETY if connection.exec_driver_sql(f"SHOW {name}").scalar() == "off"]

    def free_connections(self, connection: Connection) -> int | None:
        """Return how many more connections the database takes from everybody who is no superuser."""
        settings = "current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
        used = "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')"
        return int(connection.exec_driver_sql(f"SELECT {settings} - {used}").scalar_one())

    def lock_waits(self, connection: Connection, least_s: float) -> list[str]:
        query = (
            "SELECT waits.pid, extract(epoch FROM clock_timestamp() - waits.query_start)::float, holds.pid, "
            "holds.application_name, coalesce(holds.state, 'unknown') "
            "FROM pg_stat_activity AS waits CROSS JOIN LATERAL unnest(pg_blocking_pids(waits.pid)) AS by (pid) "
            "JOIN pg_stat_activity AS holds ON holds.pid = by.pid "
            "WHERE waits.datname = current_database() AND waits.wait_event_type = 'Lock' "
            "AND clock_timestamp() - waits.query_start >= %s * interval '1 second' "
            "ORDER BY waits.query_start, holds.pid"
        )
        return [
            f"session {waits} has waited {seconds:.0f} s for a lock of session {holds} ({name or 'no name'}, {state})"
            for waits, seconds, holds, name, state in connection.exec_driver_sql(query, (least_s,))
        ]

    def check_sound(self, connection: Connection) -> list[str]:
        """Return no faults: PostgreSQL's own tools (`pg_amcheck`, data checksums) check its files."""
        return []
