"""Sessions of PostgreSQL: how they are set up, and what is asked of libpq itself, in fewer round trips."""

from __future__ import annotations

import select
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

import psycopg
from psycopg import pq
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, ExceptionContext
from sqlalchemy.exc import DBAPIError

from arbiter.store.database_errors import of_no_primary

BINARY: Final = [pq.Format.BINARY] * 7
_DEFAULTS: Final = (
    "SELECT set_config('default_transaction_isolation', 'read committed', false), "
    "set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false), "
    "set_config('bytea_output', 'hex', false)"
)
"""Isolation: as the protocol of `postgres` needs it where no statement begins the transaction. bytea_output: see
`postgres_statements.Rows`. Then the plans:

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


#: The same where the URL names several hosts: the next one is asked soon if the first one is gone. Of these the one is
#: meant that takes writes.
_PATIENCE_OF_SEVERAL: Final = {
    "connect_timeout": 2,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 5_000,
    "target_session_attrs": "read-write",
}


def session_of(connection: Connection) -> pq.abc.PGconn:
    """Return the session of a connection, as libpq has it."""
    return driver_of(connection).pgconn


def piped(session: pq.abc.PGconn, *asked: tuple[str, Sequence[bytes]]) -> list[pq.abc.PGresult]:
    """Execute prepared statements, with their parameters, in one round trip; return the answer of each.

    Outside a transaction they are one of their own. After an error the database skips the rest. Raises psycopg.Error.
    """
    session.enter_pipeline_mode()
    for name, parameters in asked:
        session.send_query_prepared(name.encode(), parameters, BINARY[: len(parameters)])
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
            checked(answer)
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


def commit(connection: Any) -> None:
    """Commit as psycopg does, by a single call of libpq. Raises psycopg.Error."""
    session: pq.abc.PGconn = connection.pgconn
    if session.transaction_status != pq.TransactionStatus.IDLE:
        checked(session.exec_(b"COMMIT"))


def driver_of(connection: Connection) -> psycopg.Connection[Any]:
    """Return the driver's connection."""
    return cast("psycopg.Connection[Any]", connection.connection.driver_connection)


def checked(answer: pq.abc.PGresult) -> pq.abc.PGresult:
    """Return the answer of the database. Raises psycopg.Error if it is an error."""
    if answer.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
        raise psycopg.errors.error_from_result(answer)
    return answer


@contextmanager
def named_errors(connection: Connection, what: str) -> Iterator[None]:
    """Turn errors of the driver into those of SQLAlchemy, as its own methods do. Raises DBAPIError."""
    try:
        yield
    except psycopg.Error as error:
        is_lost = driver_of(connection).broken or of_no_primary(error)
        if of_no_primary(error):
            connection.engine.dispose()  # other sessions are no better
            connection.invalidate()
        raise DBAPIError.instance(
            what, None, error, psycopg.Error, connection_invalidated=is_lost, dialect=connection.dialect
        ) from None


def is_usable(connection: psycopg.Connection[Any]) -> bool:
    """Return whether a connection can be used.

    Of an idle connection nothing can be read unless the database has ended it. To ask the database would take another
    round trip, before every commit and every query.
    """
    if connection.closed:
        return False
    watch = select.poll()
    watch.register(connection.fileno(), select.POLLIN)
    return not watch.poll(0)


def engine_of(place: URL, **options: Any) -> Engine:
    """Return an engine whose sessions are set up as a server needs them. options: of `create_engine`."""
    patience = _PATIENCE_OF_SEVERAL if _names_several(place) else _PATIENCE
    ours = {"application_name": "arbiter", "client_encoding": "utf8", **patience}
    made = create_engine(
        place.set(drivername="postgresql+psycopg"),
        # Set explicitly, because a database may have other defaults and the protocol of the locks depends on it: each
        # statement sees what was committed before it.
        isolation_level=options.pop("isolation_level", "READ COMMITTED"),
        connect_args={name: value for name, value in ours.items() if name not in place.query},
        **options,
    )

    @event.listens_for(made, "handle_error")
    def note(context: ExceptionContext) -> None:
        if of_no_primary(context.original_exception):
            context.is_disconnect = True  # so that all sessions are given up, as after a lost connection

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


def _names_several(place: URL) -> bool:
    hosts = place.query.get("host", place.host or "")
    return not isinstance(hosts, str) or "," in hosts
