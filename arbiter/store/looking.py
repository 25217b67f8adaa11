"""Looks at a store without changing it: whether it is there, its version, who serves it, and how it is set up."""

from __future__ import annotations

import time
from statistics import median
from typing import Final, NamedTuple

from sqlalchemy import Connection, Engine

from arbiter.store.database import engine_of, named, newest, place_of, version_of
from arbiter.store.dialects import dialect_of
from arbiter.store.records import head, keys_of_seals

ROUND_TRIPS: Final = 9  #: that are timed
LAST_RECORDS: Final = 100  #: whose seals are read
LONG_WAIT_S = 1.0  #: for a lock of the database: servers hold one for milliseconds


class StoreState(NamedTuple):
    """What a store is like.

    database: its kind and version. version: that of its tables, '' if there are none; newest: that of this arbiter.
    servers: how many hold it. records: how many it has; sealed_by: ids of the keys that sealed the last of
    them. round_trip_ms: of an empty query, the median. clock_ms: by how much the database's clock is ahead of ours;
    None where there is one clock. free_connections: how many more the database takes; None where it has no limit.
    unsafe: settings by which it could lose what it has acknowledged, a clause each. silent_ms: for each server that
    shares it, the time since its last heartbeat, the longest first; a killed one counts until another cleans up.
    lock_waits: who waits for a lock of the database for LONG_WAIT_S, and who holds it, a clause each.
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
        return StoreState(
            f"{dialect.name} {dialect.server_version(connection)}",
            version,
            newest(),
            servers,
            head(connection) if version else 0,
            # the column of the seals is as new as the newest tables
            frozenset(keys_of_seals(connection, LAST_RECORDS)) if version == newest() else frozenset(),
            _round_trip_ms(connection),
            _clock_ms(connection),
            tuple(dialect.unsafe_settings(connection)),
            dialect.free_connections(connection),
            _silent_ms(connection) if version == newest() else (),
            tuple(dialect.lock_waits(connection, LONG_WAIT_S)),
        )


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
