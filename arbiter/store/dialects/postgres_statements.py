"""The prepared statements of PostgreSQL by which records get into the log; `postgres` says when each is used."""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

import psycopg
from psycopg import pq
from sqlalchemy import Connection

from arbiter.store import arrays
from arbiter.store.dialects import postgres_locks
from arbiter.store.dialects.postgres_session import checked, driver_of, named_errors, session_of
from arbiter.store.tables import Numbered

T = TypeVar("T")

NUMBERING: Final = "arbiter_numbering"
LAST: Final = "arbiter_last"  #: a prepared statement
MOST_BROUGHT: Final = 300  #: records of other servers that come with a number; more are left to whoever reads the log
FROM: Final = "arbiter_from"  #: a prepared statement
_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED; "
NUMBER: Final = f"EXECUTE {NUMBERING}; EXECUTE {LAST}"
NUMBER_FROM: Final = f"EXECUTE {NUMBERING}; EXECUTE {FROM}"
INSERT: Final = "arbiter_insert"  #: a prepared statement
INSERT_BEHIND: Final = "arbiter_insert_behind"  #: a prepared statement
ROWS: Final = (
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
    f"PREPARE {NUMBERING} AS {postgres_locks.NUMBERING}; "
    f"PREPARE {LAST} AS SELECT coalesce(max(sequence), 0) FROM event; "
    f"PREPARE {FROM} (bigint) AS {_FROM}; "
    f"PREPARE {INSERT} ({_TYPES}) AS {ROWS}; "
    f"PREPARE {INSERT_BEHIND} ({_TYPES}) AS {ROWS} "
    # With the condition in the subquery, a part whose last record is older is left before its visibility is looked up.
    "WHERE (SELECT coalesce(max(sequence), 0) FROM event WHERE sequence >= $1) = $1"
)
"""To plan a query of all parts of the log takes six times as long as to run it."""
COMMIT: Final = "arbiter_commit"
_NOT_PREPARED: Final = "26000"


class Rows:
    """Rows that came as text, without the first one. They are converted when they are looked at, in any thread."""

    def __init__(self, answer: pq.abc.PGresult) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[Sequence[Any]]:
        value = self._answer.get_value
        for row in range(1, self._answer.ntuples):
            match_id, revision, body, subject, seal = [value(row, column) or b"" for column in range(1, 6)]
            yield (
                number_of(self._answer, row),
                match_id.decode(),
                int(revision),
                unhexlify(body[2:]),
                subject.decode(),
                unhexlify(seal[2:]) or None,
            )


def number_of(answer: pq.abc.PGresult, row: int) -> int:
    """Return the record number in a row of an answer."""
    return int(answer.get_value(row, 0) or 0)


def numbered(connection: Connection, ask: str) -> pq.abc.PGresult:
    """Ask for numbers under the lock, in a transaction, which this begins if there is none. Raises DBAPIError."""
    session = session_of(connection)
    with named_errors(connection, "to number records"):
        if session.transaction_status != pq.TransactionStatus.IDLE:
            return checked(session.exec_(ask.encode()))
        return prepared(connection, lambda: _begin_and(session, ask))


def _begin_and(session: pq.abc.PGconn, ask: str) -> pq.abc.PGresult:
    answer = session.exec_((_BEGIN + ask).encode())
    if answer.error_field(pq.DiagnosticField.SQLSTATE) == _NOT_PREPARED.encode():
        checked(session.exec_(b"ROLLBACK"))
    return checked(answer)


def parameters(rows: Sequence[Numbered]) -> list[bytes]:
    """Return the parameters of INSERT and INSERT_BEHIND for records, in the binary form."""
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


def prepared(connection: Connection, ask: Callable[[], T]) -> T:
    """Ask the database, outside a transaction; prepare its statements and ask again if they are not prepared.

    They are not on a new connection, and not after psycopg had the database forget those of the session, which it does
    some time after a transaction was rolled back. Raises psycopg.Error.
    """
    try:
        return ask()
    except psycopg.Error as error:
        if error.sqlstate != _NOT_PREPARED:
            raise
    session = session_of(connection)
    try:
        checked(session.exec_(PREPARE.encode()))
        checked(session.prepare(COMMIT.encode(), b"COMMIT"))
    except psycopg.Error:
        driver_of(connection).close()  # what it has prepared can't be prepared again
        raise
    return ask()
