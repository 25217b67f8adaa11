"""Time, ids and random numbers as ports."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from arbiter.config import Limits
from arbiter.matches.policy import Policy


class Clock(Protocol):
    """The current time."""

    def now_ms(self) -> int:
        """Return the current instant, UTC milliseconds since 1970. It never goes back within a process."""


class TimeReading(NamedTuple):
    """What another machine's clock showed, all in nanoseconds.

    theirs_ns: its instant, UTC, since 1970. at_ns: our monotonic clock in the middle of the question and its answer.
    took_ns: from the question to the answer; theirs_ns is off by at most half of it.
    """

    theirs_ns: int
    at_ns: int
    took_ns: int


class TimeSource(Protocol):
    """A clock on another machine, which this one follows."""

    async def readings(self) -> list[TimeReading]:
        """Read the other clock several times in a row. Raises StoreFailed."""


class Ids(Protocol):
    """Ids, secrets and random numbers that nobody can guess."""

    def new(self, kind: str) -> str:
        """Return a fresh id that begins with `kind`. Ids sort by the time of their creation."""

    def secret(self) -> str:
        """Return 256 random bits as text. It never begins with "-", which a command line would take for an option."""

    def lot(self, size: int) -> int:
        """Return a random number from 0 to size − 1."""


class Environment(NamedTuple):
    """What nearly every use case gets. policy: of matches for which nobody has chosen another."""

    clock: Clock
    ids: Ids
    limits: Limits
    policy: Policy
