"""PostgreSQL, by psycopg: for an event log on another machine, and for several servers on one store.

Three advisory locks of the database keep order (`pg_locks` shows them). The first half of their key is the schema's
hash, so that several stores can share a database.

- SERVING is held by a session from the start of a server to its end. Servers share it; whoever needs the store alone,
  to bring its tables up to date, to rebuild or to fill it, holds it alone. If a server's process is killed, the
  database ends this session at once: that is how the other servers see so early that it is dead.
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

import select
import threading
from binascii import unhexlify
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar, cast
from weakref import WeakKeyDictionary

import psycopg
from psycopg import pq
from sqlalchemy import Connection, Engine, Row, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, InvalidatePoolError, OperationalError
from sqlalchemy.pool import NullPool

from arbiter.errors import OperatorError
from arbiter.store import arrays
from arbiter.store.failure import HeldElsewhere
from arbiter.store.tables import Numbered

T = TypeVar("T")

NAME: Final = "PostgreSQL"
FORM: Final = "postgresql://USER@HOST/DATABASE"
_SCHEMA: Final = "hashtext('arbiter ' || current_schema())"
_SERVING: Final = f"pg_advisory_lock({_SCHEMA}, 1)"
_SERVING_TOO: Final = f"pg_advisory_lock_shared({_SCHEMA}, 1)"
_STARTING: Final = f"SELECT pg_advisory_xact_lock({_SCHEMA}, 3)"
SHARED: Final = True  #: whether several servers may use a store at the same time
BEGIN: Final[tuple[str, ...]] = ()
"""Begins a transaction that changes tables, or reads before it writes: no statement is needed while we hold the store.
"""
MIGRATION: Final = ("SET LOCAL idle_in_transaction_session_timeout = 0", "SET LOCAL lock_timeout = '1s'")
"""Begins a transaction that migrates the tables. It gives up rather than keep running servers waiting behind it."""
SNAPSHOT: Final = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
)
"""Begins a transaction that reads a consistent snapshot. It may take long over what it reads: it keeps nobody waiting.
"""
LONE_READS: Final = {"isolation_level": "AUTOCOMMIT"}
"""Options of a connection whose reads need no transaction. In one, a busy server could stand still (`STOOD_STILL_MS`).
"""
CLAIM: Final = (f"SELECT pg_advisory_xact_lock({_SCHEMA}, 2)",)
"""What a transaction executes before it numbers records."""
_NUMBERING: Final = "arbiter_numbering"
LAST: Final = "arbiter_last"  #: a prepared statement
MOST_BROUGHT: Final = 300  #: records of other servers that come with a number; more are left to who reads the log
FROM: Final = "arbiter_from"  #: a prepared statement
_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED; "
_NUMBER: Final = f"EXECUTE {_NUMBERING}; EXECUTE {LAST}"
_NUMBER_FROM: Final = f"EXECUTE {_NUMBERING}; EXECUTE {FROM}"
_AFTER: Final = (
    "SELECT sequence, match_id, revision, body, subject, seal FROM event WHERE sequence > %s ORDER BY sequence LIMIT %s"
)
NOW_MS: Final = "SELECT extract(epoch FROM clock_timestamp()) * 1000"  #: the query for the database's time
INSERT: Final = "arbiter_insert"  #: a prepared statement
INSERT_BEHIND: Final = "arbiter_insert_behind"  #: a prepared statement
_ROWS: Final = (
    "INSERT INTO event (sequence, match_id, revision, subject, seal, body) "
    "SELECT $1 + new.place, new.match_id, new.revision, new.subject, new.seal, CASE WHEN known OR "
    # Not EXISTS: in a generic plan that becomes a subplan that reads the whole table.
    "(SELECT true FROM event WHERE event.match_id = new.match_id AND event.revision = new.revision - 1) "
    "THEN new.body END "  # else null, which the column does not take
    "FROM unnest($2::text[], $3::bigint[], $4::bytea[], $5::text[], $6::boolean[], $7::bytea[]) "
    "WITH ORDINALITY AS new (match_id, revision, body, subject, known, seal, place)"
)
_TYPES: Final = "bigint, text[], bigint[], bytea[], text[], boolean[], bytea[]"
_FROM: Final = (
    # As a subquery, the value is unknown to the planner in any case: so the plan for all values is the cheapest one.
    "SELECT sequence, match_id, revision, body, subject, seal FROM event WHERE sequence >= (SELECT $1) "
    f"ORDER BY sequence LIMIT {MOST_BROUGHT + 2}"
)
PREPARE: Final = (
    f"PREPARE {_NUMBERING} AS {CLAIM[0]}; PREPARE {LAST} AS SELECT coalesce(max(sequence), 0) FROM event; "
    f"PREPARE {FROM} (bigint) AS {_FROM}; "
    f"PREPARE {INSERT} ({_TYPES}) AS {_ROWS}; "
    f"PREPARE {INSERT_BEHIND} ({_TYPES}) AS {_ROWS} "
    # With the condition in the subquery, a part whose last record is older is left before its visibility is looked up.
    "WHERE (SELECT coalesce(max(sequence), 0) FROM event WHERE sequence >= $1) = $1"
)
"""To plan a query of all parts of the log takes six times as long as to run it."""
_COMMIT: Final = "arbiter_commit"
_NOT_PREPARED: Final = "26000"
_BINARY: Final = [pq.Format.BINARY] * 7
_HELD_BY: Final = (
    "FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND objid = 1 "
    f"AND classid::bigint = ({_SCHEMA}::bigint & 4294967295) "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
SERVING: Final = f"SELECT pid {_HELD_BY}"  #: the query for the database's process ids of the sessions that hold SERVING
_SAFETY: Final = ("fsync", "full_page_writes")
_LOCK_NOT_AVAILABLE: Final = "55P03"

_DEFAULTS: Final = (
    "SELECT set_config('default_transaction_isolation', 'read committed', false), "
    "set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false), "
    "set_config('bytea_output', 'hex', false)"
)
"""Isolation: as the protocol above needs it where no statement begins the transaction. bytea_output: see `_Rows`. Then
the plans:

Make the database plan for large tables from the beginning.

Every query of a server has an index. In a new store the tables are small, so the planner would rather read them whole,
and a session keeps such a plan for a minute while they grow by ten thousands of records. Plans without an index cost so
much by this setting that the database would compile them, which takes longer than to run them.
"""

#: Treat a server that does not answer as gone after half a minute, instead of after hours.
_PATIENCE: Final = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
#: The database treats a client that does not answer as gone equally soon: its lock must not outlive its machine.
_PATIENCE_OF_THE_DATABASE: Final = (
    "SET tcp_keepalives_idle = 10",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
    "SET idle_session_timeout = 0",
)
IN_USE_ALONE: Final = "another program needs it for itself"
STOOD_STILL_MS: Final = 1_000
_LET_OTHERS_ON: Final = f"SET idle_in_transaction_session_timeout = {STOOD_STILL_MS}"
"""A server may stand still, or be cut off, in a transaction that holds NUMBERING: no other server could write until the
database ends its session. This is less than the silence after which a server counts as dead."""
LET_GO_MS = 3_000  #: how long a new server waits for the session of a server that has just died


def engine(place: URL) -> Engine:
    """Return the engine of a database. Raises OperatorError for an invalid URL."""
    if place.drivername not in ("postgresql", "postgresql+psycopg"):
        raise OperatorError(f"{place.drivername!r} is not a store that this arbiter knows: write {FORM}")
    if not place.database:
        raise OperatorError(f"the store names no database: write {FORM}")
    made = _engine(place)
    made.dialect.do_commit = _commit  # type: ignore[assignment]

    @event.listens_for(made, "checkout")
    def check(connection: Any, _record: object, _proxy: object) -> None:
        if not _is_there(connection):
            raise InvalidatePoolError

    return made


def commit_thread(made: Engine, most: int) -> None:
    """Return None: there is no thread that commits to PostgreSQL without the interpreter's lock."""
    return


def still_connected(connection: Connection) -> bool:
    """Return whether an idle connection still has its session in the database, as far as can be known here."""
    return _is_there(_driver(connection))


def _is_there(connection: psycopg.Connection[Any]) -> bool:
    """Return whether a connection can be used.

    Of an idle connection nothing can be read unless the database has ended it. To ask the database would take another
    round trip, before every commit and every query.
    """
    if connection.closed:
        return False
    watch = select.poll()
    watch.register(connection.fileno(), select.POLLIN)
    return not watch.poll(0)


def _engine(place: URL, **options: Any) -> Engine:
    ours = {"application_name": "arbiter", "client_encoding": "utf8", **_PATIENCE}
    made = create_engine(
        place.set(drivername="postgresql+psycopg"),
        # Set explicitly, because a database may have other defaults and the lock protocol above depends on it: each
        # statement sees what was committed before it.
        isolation_level=options.pop("isolation_level", "READ COMMITTED"),
        connect_args={name: value for name, value in ours.items() if name not in place.query},
        **options,
    )

    @event.listens_for(made, "connect")
    def settle(connection: Any, _record: object) -> None:
        # A reported commit survives a power cut, whatever the database's default is. Stricter settings stay.
        with connection.cursor() as cursor:
            cursor.execute(_DEFAULTS)
            cursor.execute("SELECT current_setting('synchronous_commit') = 'off'")
            if cursor.fetchone()[0]:
                cursor.execute("SET synchronous_commit = 'on'")
        connection.commit()

    return made


def connect_writer(made: Engine) -> Connection:
    """Return a connection for a commit. Raises SQLAlchemyError, HeldElsewhere."""
    return made.connect()


def number(connection: Connection) -> int:
    """Take NUMBERING in a transaction, which it begins if there is none; return the last record number, 0 for none.

    Raises DBAPIError.
    """
    return int(_numbered(connection, _NUMBER).get_value(0, 0) or 0)


def number_after(connection: Connection, known: int) -> tuple[int, Iterable[Sequence[Any]] | None]:
    """Do as `number`, in the same round trip, and return also the rows of all records after a known one, in order.

    These are rows as from `log_after`. They are None if there are more than MOST_BROUGHT, or if the known record is not
    there: then another round trip has asked for the last number. Raises DBAPIError.
    """
    answer = _numbered(connection, f"{_NUMBER_FROM}({known:d})")
    found = answer.ntuples
    if not 0 < found <= MOST_BROUGHT + 1 or _number_of(answer, 0) != known:
        return number(connection), None
    return _number_of(answer, found - 1), _Rows(answer) if found > 1 else ()


class _Rows:
    """Rows that came as text, without the first one. They are converted when they are looked at, in any thread."""

    def __init__(self, answer: pq.abc.PGresult) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[Sequence[Any]]:
        value = self._answer.get_value
        for row in range(1, self._answer.ntuples):
            match_id, revision, body, subject, seal = [value(row, column) or b"" for column in range(1, 6)]
            yield (
                _number_of(self._answer, row),
                match_id.decode(),
                int(revision),
                unhexlify(body[2:]),
                subject.decode(),
                unhexlify(seal[2:]) or None,
            )


def _number_of(answer: pq.abc.PGresult, row: int) -> int:
    return int(answer.get_value(row, 0) or 0)


def _numbered(connection: Connection, ask: str) -> pq.abc.PGresult:
    session = _session(connection)
    with _named_errors(connection, "to number records"):
        if session.transaction_status != pq.TransactionStatus.IDLE:
            return _checked(session.exec_(ask.encode()))
        return _prepared(connection, lambda: _begin_and(session, ask))


def insert(connection: Connection, rows: Sequence[Numbered]) -> None:
    """Store records, all or none, in one round trip, in the transaction that has numbered them.

    Raises IntegrityError if a revision exists already or the one before it does not. Raises DBAPIError.
    """
    with _named_errors(connection, _ROWS):
        _checked(_session(connection).exec_prepared(INSERT.encode(), _parameters(rows), _BINARY))


def insert_and_commit(connection: Connection, rows: Sequence[Numbered]) -> None:
    """Store records, all or none, and commit the transaction that has numbered them, in one round trip.

    Raises IntegrityError as `insert` does, DBAPIError. After an error the transaction is to be rolled back.
    """
    with _named_errors(connection, _ROWS):
        _piped(_session(connection), (INSERT, _parameters(rows)), (_COMMIT, ()))


def insert_behind(connection: Connection, rows: Sequence[Numbered]) -> bool:
    """Store records in a transaction of their own, in one round trip, if they follow the last one.

    Return whether they do, and are stored. Raises IntegrityError as `insert` does, DBAPIError.
    """
    asked = (_NUMBERING, ()), (INSERT_BEHIND, _parameters(rows))
    with _named_errors(connection, _ROWS):
        _, answer = _prepared(connection, lambda: _piped(_session(connection), *asked))
        return answer.command_tuples == len(rows)


def _begin_and(session: pq.abc.PGconn, ask: str) -> pq.abc.PGresult:
    answer = session.exec_((_BEGIN + ask).encode())
    if answer.error_field(pq.DiagnosticField.SQLSTATE) == _NOT_PREPARED.encode():
        _checked(session.exec_(b"ROLLBACK"))
    return _checked(answer)


def _parameters(rows: Sequence[Numbered]) -> list[bytes]:
    sequences, match_ids, revisions, bodies, subjects, known, seals = zip(*rows, strict=True)
    return [
        (sequences[0] - 1).to_bytes(8, "big"),
        arrays.texts(match_ids),
        arrays.bigints(revisions),
        arrays.byte_strings(bodies),
        arrays.texts(subjects),
        arrays.booleans(known),
        arrays.byte_strings(seals),
    ]


def _session(connection: Connection) -> pq.abc.PGconn:
    return _driver(connection).pgconn


def _prepared(connection: Connection, ask: Callable[[], T]) -> T:
    """Ask the database, outside a transaction; prepare its statements and ask again if they are not prepared.

    They are not on a new connection, and not after psycopg had the database forget those of the session, which it does
    some time after a transaction was rolled back. Raises psycopg.Error.
    """
    try:
        return ask()
    except psycopg.Error as error:
        if error.sqlstate != _NOT_PREPARED:
            raise
    session = _session(connection)
    try:
        _checked(session.exec_(PREPARE.encode()))
        _checked(session.prepare(_COMMIT.encode(), b"COMMIT"))
    except psycopg.Error:
        _driver(connection).close()  # what it has prepared can't be prepared again
        raise
    return ask()


def _piped(session: pq.abc.PGconn, *asked: tuple[str, Sequence[bytes]]) -> list[pq.abc.PGresult]:
    """Execute prepared statements, with their parameters, in one round trip; return the answer of each.

    Outside a transaction they are one of their own. After an error the database skips the rest. Raises psycopg.Error.
    """
    session.enter_pipeline_mode()
    for name, parameters in asked:
        session.send_query_prepared(name.encode(), parameters, _BINARY[: len(parameters)])
    session.pipeline_sync()
    answers: list[pq.abc.PGresult] = []
    try:
        _send(session)
        while (answer := _next(session)) is None or answer.status != pq.ExecStatus.PIPELINE_SYNC:
            if answer is not None:  # else the end of a statement's answers
                answers.append(answer)
            elif session.status != pq.ConnStatus.OK:
                raise psycopg.OperationalError("the connection was lost")
        session.exit_pipeline_mode()
    finally:  # if the connection was lost, the database may have said why
        for answer in answers:
            _checked(answer)
    return answers


def _send(session: pq.abc.PGconn) -> None:
    """Send what was asked. Of what is large, the database may read the rest only later. Raises psycopg.Error."""
    while session.flush():
        watch = select.poll()
        watch.register(session.socket, select.POLLIN | select.POLLOUT)
        if any(events & ~select.POLLOUT for _, events in watch.poll()):
            session.consume_input()


def _next(session: pq.abc.PGconn) -> pq.abc.PGresult | None:
    """Wait for an answer, and let other threads run meanwhile. Raises psycopg.Error."""
    if session.is_busy():
        watch = select.poll()
        watch.register(session.socket, select.POLLIN)
        while session.is_busy():
            watch.poll()
            session.consume_input()
    return session.get_result()


def _commit(connection: Any) -> None:
    """Commit as psycopg does, by a single call of libpq. Raises psycopg.Error."""
    session: pq.abc.PGconn = connection.pgconn
    if session.transaction_status != pq.TransactionStatus.IDLE:
        _checked(session.exec_(b"COMMIT"))


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    return cast("psycopg.Connection[Any]", connection.connection.driver_connection)


def _checked(answer: pq.abc.PGresult) -> pq.abc.PGresult:
    """Return the answer of the database. Raises psycopg.Error if it is an error."""
    if answer.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
        raise psycopg.errors.error_from_result(answer)
    return answer


@contextmanager
def _named_errors(connection: Connection, what: str) -> Iterator[None]:
    """Turn errors of the driver into those of SQLAlchemy, as its own methods do. Raises DBAPIError."""
    try:
        yield
    except psycopg.Error as error:
        is_lost = _driver(connection).broken
        raise DBAPIError.instance(
            what, None, error, psycopg.Error, connection_invalidated=is_lost, dialect=connection.dialect
        ) from None


@contextmanager
def held(made: Engine, shared: bool = False) -> Iterator[None]:
    """Hold the store by an advisory lock of a separate session, which the database releases when the process ends.

    `shared`: beside others who do so, as servers do; otherwise alone.

    While the store is held, the engine opens a connection only if the lock still exists. So if the database was away
    for a while, and another program has taken the store for itself, this server writes nothing more. If only the
    session of the lock is ended, the engine notices when it next connects; until then the condition of each append
    prevents a fork by two servers. Raises HeldElsewhere.
    """
    hold = _HOLDS[made] = _Hold(made.url, shared)

    def check(connection: Any, _record: object) -> None:
        try:
            hold.take()
            if shared:
                with connection.cursor() as cursor:
                    cursor.execute(_LET_OTHERS_ON)
                connection.commit()
        except BaseException:
            connection.close()
            raise

    try:
        hold.take()
        made.dispose()  # each connection from here on has been checked
        event.listen(made, "connect", check)
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
        self._engine = _engine(place, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        self._mutex = threading.Lock()
        self._connection: Connection | None = None
        self._session: Row[Any] | None = None  # the session's database process id, and its start time
        self.session = 0, 0

    def take(self) -> None:
        """Take the lock. Raises HeldElsewhere if another session is in the way, DBAPIError."""
        with self._mutex:
            if not self._alive():
                self._drop()
                self._connect()

    def close(self) -> None:
        """Release the lock."""
        with self._mutex:
            self._drop()
            self._engine.dispose()

    def _alive(self) -> bool:
        try:
            return self._connection is not None and self._connection.exec_driver_sql("SELECT 1").scalar() == 1
        except DBAPIError:
            return False

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


class Files:
    """The counterpart of `sqlite.Files`: PostgreSQL manages its own files."""

    def __init__(self, made: Engine) -> None:
        pass

    def reopened(self) -> None:
        """Note that connections were closed."""

    def missing(self) -> str:
        """Return what is wrong with the files: always '', as a client cannot see them."""
        return ""


def is_there(made: Engine) -> bool:
    """Return whether there is a database to connect to: always, as PostgreSQL itself reports if there is none."""
    return True


def holders(made: Engine) -> int:
    """Return how many servers hold the store; a program that needs it alone counts as one. Raises DBAPIError."""
    with made.connect() as connection:
        return int(connection.exec_driver_sql(f"SELECT count(*) {_HELD_BY}").scalar() or 0)


@contextmanager
def starting(made: Engine) -> Iterator[None]:
    """Let no other server start during the context. Raises DBAPIError."""
    with made.connect() as connection:
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0").close()
        connection.exec_driver_sql(_STARTING).close()
        yield


def log_after(connection: Connection, after: int, most: int) -> Sequence[tuple[Any, ...]]:
    """Return rows of the table `event` after a sequence number, in order. Raises DBAPIError.

    Servers that share a store follow its log by this query, hundreds of times a second. It goes to the driver directly:
    SQLAlchemy's statement and rows would take twice the processor time of all the rest.
    """
    with _named_errors(connection, _AFTER), _driver(connection).cursor(binary=True) as cursor:
        return cursor.execute(_AFTER, (after, most)).fetchall()


def server_version(connection: Connection) -> str:
    """Return the version of the database server."""
    return str(connection.exec_driver_sql("SHOW server_version").scalar())


def unsafe_settings(connection: Connection) -> list[str]:
    """Return the settings of the database by which a power cut could take commits that were reported."""
    return [f"{name} is off" for name in _SAFETY if connection.exec_driver_sql(f"SHOW {name}").scalar() == "off"]


def free_connections(connection: Connection) -> int | None:
    """Return how many more connections the database takes from everybody who is no superuser."""
    settings = "current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
    used = "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')"
    return int(connection.exec_driver_sql(f"SELECT {settings} - {used}").scalar_one())


def lock_waits(connection: Connection, least_s: float) -> list[str]:
    """Return who has waited for a lock in this database for so long, and who holds it: a clause for each pair."""
    query = (
        "SELECT waits.pid, extract(epoch FROM clock_timestamp() - waits.query_start)::float, holds.pid, "
        "holds.application_name, coalesce(holds.state, 'unknown') "
        "FROM pg_stat_activity AS waits CROSS JOIN LATERAL unnest(pg_blocking_pids(waits.pid)) AS by (pid) "
        "JOIN pg_stat_activity AS holds ON holds.pid = by.pid "
        "WHERE waits.datname = current_database() AND waits.wait_event_type = 'Lock' "
        "AND clock_timestamp() - waits.query_start >= %s * interval '1 second' ORDER BY waits.query_start, holds.pid"
    )
    return [
        f"session {waits} has waited {seconds:.0f} s for a lock of session {holds} ({name or 'no name'}, {state})"
        for waits, seconds, holds, name, state in connection.exec_driver_sql(query, (least_s,))
    ]


def check_sound(connection: Connection) -> list[str]:
    """Return no faults: PostgreSQL's own tools (`pg_amcheck`, data checksums) check its files."""
    return []
