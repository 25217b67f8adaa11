"""The situations, by chapter. Importing this package registers them, in the order of the report."""

from arbiter.conformance.situations import (  # isort: skip - the order is that of the report
    hello,
    games,
    turns,
    reconnecting,
    outages,
    refusals,
    newer,
    parallel,
    seeks,
    ends,
    draws,
    clocks,
    sessions,
)

__all__ = [
    "clocks",
    "draws",
    "ends",
    "games",
    "hello",
    "newer",
    "outages",
    "parallel",
    "reconnecting",
    "refusals",
    "seeks",
    "sessions",
    "turns",
]
