"""Looks at a store without changing it: whether it is there, its version, who serves it, and how it is set up."""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from sqlalchemy import Connection, Engine, bindparam, select

from arbiter.store.database import engine_of, named, newest, place_of, version_of
from arbiter.store.dialects import dialect_of
from arbiter.store.records import head, keys_of_seals
from arbiter.store.ruling_table import last as last_ruling
from arbiter.store.tables import event

ROUND_TRIPS: Final = 9  #: that are timed
RECENT_DAYS: Final = 7
DAY_MS: Final = 86_400_000
_NEXT: Final = select(event.c.body).where(event.c.sequence > bindparam("after")).order_by(event.c.sequence).limit(1)
LONG_WAIT_S = 1.0  #: for a lock of the database: servers hold one for milliseconds


class StoreState(NamedTuple):
    """What a store is like.

    database: its kind and version. version: that of its tables, '' if there are none; newest: that of this arbiter.
    servers: how many hold it. records: how many it has; sealed_by: ids of the keys that sealed the last of
    them. round_trip_ms: of an empty query, the median. clock_ms: by how much the database's clock is ahead of ours;
    None where there is one clock. free_connections: how many more the database takes; None where it has no limit.
    unsafe: settings by which it could lose what it has acknowledged, a clause each. silent_ms: for each server that
    shares it, the time since its last heartbeat, the longest first; a killed one counts until another cleans up.
    lock_waits: who waits for a lock of the database for LONG_WAIT_S, and who holds it, a clause each. bytes: that it
    takes on its disk. folder: where its files are, None if that is not known here. recent: how many of its records are
    of the RECENT_DAYS up to the last one, or of as many days as it has records of; recent_days: their number, 0.0 if
    there is no record. rulings: the number of those on ratings.
    """

    database: str
    version: str
    newest: str
    servers: int = 0
    records: int = 0
    sealed_by: frozenset[str] = frozenset()
    round_trip_ms: float = 0.0
    clock_ms: float | None = None
    unsafe: tuple[str, ...] = ()
    free_connections: int | None = None
    silent_ms: tuple[float, ...] = ()
    lock_waits: tuple[str, ...] = ()
    bytes: int = 0
    folder: Path | None = None
    recent: int = 0
    recent_days: float = 0.0
    rulings: int = 0

    @property
    def served(self) -> bool:
        """Whether a server holds it."""
        return self.servers > 0


def look(url: str) -> StoreState:
    """Return what a store is like. Nothing is created or brought up to date.

    Raises OperatorError if it can't be used, StoreTooNew if a newer arbiter has written it.
    """
    place = place_of(url)
    with named(place):
        engine = engine_of(place)
        try:
            return (
                _state(engine)
                if dialect_of(engine).is_there(engine)
                else StoreState(dialect_of(engine).name, "", newest())
            )
        finally:
            engine.dispose()


def _state(engine: Engine) -> StoreState:
    dialect = dialect_of(engine)
    servers = dialect.holders(engine)  # before there is a connection: see the locks of `sqlite`
    version = version_of(engine) or ""
    with engine.connect() as connection:
        recent, recent_days = _recent(connection) if version == newest() else (0, 0.0)
        return StoreState(
            f"{dialect.name} {dialect.server_version(connection)}",
            version,
            newest(),
            servers,
            head(connection) if version else 0,
            # the column of the seals is as new as the newest tables
            frozenset(keys_of_seals(connection)) if version == newest() else frozenset(),
            _round_trip_ms(connection),
            _clock_ms(connection),
            tuple(dialect.unsafe_settings(connection)),
            dialect.free_connections(connection),
            _silent_ms(connection) if version == newest() else (),
            tuple(dialect.lock_waits(connection, LONG_WAIT_S)),
            dialect.size(connection),
            dialect.folder(connection),
            recent,
            recent_days,
            last_ruling(connection) if version == newest() else 0,
        )


def _recent(connection: Connection) -> tuple[int, float]:
    """Return how many records are of the last RECENT_DAYS, and of how many days there are some among these.

    Instants grow along the log, so it is halved until the first of these records is found.
    """
    last = head(connection)
    first_ms, last_ms = _instant(connection, 0), _instant(connection, last - 1)
    if first_ms is None or last_ms is None:
        return 0, 0.0
    begin_ms = last_ms - RECENT_DAYS * DAY_MS
    before, after = 0, last  # how many records are older for sure, and how many may be
    while before < after:
        middle = (before + after) // 2
        instant = _instant(connection, middle)
        if instant is not None and instant < begin_ms:
            before = middle + 1
        else:
            after = middle
    return last - before, min(RECENT_DAYS, max(0.0, last_ms - first_ms) / DAY_MS)


def _instant(connection: Connection, after: int) -> int | None:
    """Return the instant of the first record behind a number (UTC epoch milliseconds); None if there is none."""
    body = connection.execute(_NEXT, {"after": after}).scalar()
    try:
        instant = json.loads(body)["at"] if isinstance(body, bytes) else None
    except (ValueError, KeyError, TypeError):  # a damaged one, which others report
        return None
    return instant if isinstance(instant, int) else None


def _silent_ms(connection: Connection) -> tuple[float, ...]:
    now_ms = dialect_of(connection.engine).now_ms
    if now_ms is None:
        return ()
    query = f"SELECT greatest(0, ({now_ms}) - seen_ms) FROM replica ORDER BY seen_ms"
    return tuple(map(float, connection.exec_driver_sql(query).scalars()))


def _round_trip_ms(connection: Connection) -> float:
    took: list[float] = []
    for _ in range(ROUND_TRIPS):
        began = time.perf_counter()
        connection.exec_driver_sql("SELECT 1").scalar()
        took.append((time.perf_counter() - began) * 1_000)
    return median(took)


def _clock_ms(connection: Connection) -> float | None:
    """Return by how much the database's clock is ahead of ours, read in the shortest of some round trips."""
    query = dialect_of(connection.engine).now_ms
    if query is None:
        return None
    looks: list[tuple[float, float]] = []
    for _ in range(ROUND_TRIPS):
        before = time.time() * 1_000
        theirs = float(connection.exec_driver_sql(query).scalar_one())
        after = time.time() * 1_000
        looks.append((after - before, theirs - (before + after) / 2))
    return min(looks)[1]
