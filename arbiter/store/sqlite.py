"""SQLite: everything in one file, with two more beside it while it is open."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
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
MOST_ROWS: Final = 512  #: in one statement


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


def insert(connection: Connection, rows: Sequence[Numbered]) -> int:
    """Store records and return how many were; those whose revision before is not there are not.

    This is the path of a move: straight to the driver, and all of them by one statement. At each row of `executemany`
    Python's driver lets the interpreter go and waits until the event loop leaves it again.
    """
    stored = 0
    for first in range(0, len(rows), MOST_ROWS):
        some = rows[first : first + MOST_ROWS]
        statement, places = _insert_of(len(some))
        values = [*chain.from_iterable(some), *repeat(None, 5 * (places - len(some)))]
        stored += connection.exec_driver_sql(statement, tuple(values)).rowcount
    return stored


@cache
def _insert_of(count: int) -> tuple[str, int]:
    """Return a statement for so many rows or more, and for how many: what is left over is null."""
    places = 1 << (count - 1).bit_length()  # few sizes: the driver keeps what it has compiled
    statement = (
        "INSERT INTO event (sequence, match_id, revision, body) SELECT column1, column2, column3, column4 "
        f"FROM (VALUES {', '.join(repeat('(?, ?, ?, ?, ?)', places))}) WHERE column1 IS NOT NULL AND (column5 "
        "OR EXISTS (SELECT 1 FROM event WHERE match_id = column2 AND revision = column3 - 1))"
    )
    return statement, places


@contextmanager
def held(made: Engine) -> Iterator[None]:
    """Hold the store by a lock on a file beside it; the lock goes with the process, however it ends.

    Raises HeldElsewhere if another process holds it, OperatorError if there can be no lock.
    """
    path = Path(f"{made.url.database}.lock")
    try:
        file = path.open("w")
    except OSError as error:
        raise OperatorError(
            f"the store's lock {path} can't be written ({error.strerror}): make its folder writable"
        ) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HeldElsewhere("another arbiter serves it") from None
        yield


def is_there(made: Engine) -> bool:
    """Say whether there is something to connect to: SQLite would make it."""
    return Path(made.url.database or "").exists()


def check_sound(connection: Connection) -> list[str]:
    """Return what is wrong with the file's pages and indexes, a sentence each."""
    said = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
    return [] if said == ["ok"] else [str(sentence) for sentence in said]
