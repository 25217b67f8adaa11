"""The system's clock, and a clock that follows the one of another machine."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic_ns
from typing import Final

from arbiter.service.ports.environment import TimeReading

KEPT: Final = 8
"""Looks among which the one with the shortest round trip counts, as in the clock filter of NTP (RFC 5905)."""
SLEW: Final = 200  #: the clock gains or loses at most one part in this many: 5 ms a second
DRIFT_NS: Final = 2_000_000  #: by which two clocks may come apart within KEPT looks
STEP_NS: Final = 128_000_000
"""A difference from which on the other clock was set, or ours stood still (RFC 5905: STEPT)."""


class SystemClock:
    """Reads UTC from the system once at the start, and uses the monotonic clock from then on.

    If the system clock is set while the arbiter runs, no chess clock moves. Time during which the machine sleeps does
    not count either, where the monotonic clock stops meanwhile (as on Linux).

    not_before_ms: the latest instant in the event log, UTC milliseconds since 1970. If the system clock is behind it
    (even by years), this clock continues from there. Otherwise turns would begin in the future and cost nothing until
    then.
    behind_ms: by how much the system clock was behind.
    """

    def __init__(self, not_before_ms: int = 0) -> None:
        began_ns = monotonic_ns()
        utc_ns, earliest_ns = time.time_ns(), not_before_ms * 1_000_000
        self.behind_ms = max(0, earliest_ns - utc_ns) // 1_000_000
        self._offset_ns = max(utc_ns, earliest_ns) - began_ns

    def now_ms(self) -> int:
        """Return the current instant, UTC milliseconds since 1970."""
        return (monotonic_ns() + self._offset_ns) // 1_000_000

    def now_ns(self) -> int:
        """Return the current instant, UTC nanoseconds since 1970."""
        return monotonic_ns() + self._offset_ns


class FollowingClock:
    """Follows the clock of another machine, such as the database's, so that all servers that do so show the same time.

    Between two looks it runs by the monotonic clock of this machine; the system clock does not matter. What it is off
    by is made up for slowly: it never goes back, and a thought is charged the same on every machine. If it is far
    behind, because the other clock was set forward or this machine stood still, it jumps ahead. If the other clock was
    set back by much, it goes on, and comes near it slowly, as do all servers that run.
    """

    def __init__(self, readings: Sequence[TimeReading], monotonic: Callable[[], int] = monotonic_ns) -> None:
        """Begin with the time of the reading with the shortest round trip; there must be one."""
        self._monotonic_ns = monotonic
        self._looks: deque[TimeReading] = deque(maxlen=KEPT)
        self._looks.append(_best(readings))
        offset_ns = _offset(self._looks[0])
        # From this instant of the monotonic clock on, the offset from it goes from the first value to the second one.
        self._course = monotonic(), offset_ns, offset_ns

    def now_ms(self) -> int:
        """Return the current instant, UTC milliseconds since 1970. Any thread may ask."""
        now = self._monotonic_ns()
        return (now + _offset_at(self._course, now)) // 1_000_000

    def now_ns(self) -> int:
        """Return the current instant, UTC nanoseconds since 1970. Any thread may ask."""
        now = self._monotonic_ns()
        return now + _offset_at(self._course, now)

    def follow(self, readings: Sequence[TimeReading]) -> int:
        """Take in what the other clock has shown now; return by how many milliseconds this clock has jumped ahead."""
        fresh = _best(readings)
        now = self._monotonic_ns()
        offset_ns = _offset_at(self._course, now)
        agree = [look for look in self._looks if _agree(look, fresh)]  # unless one of the clocks was set meanwhile
        self._looks = deque([*agree, fresh], maxlen=KEPT)
        best = _best(self._looks)
        target_ns = _offset(best)
        ahead_ns = target_ns - offset_ns
        jumps = ahead_ns > STEP_NS + best.took_ns
        self._course = now, target_ns if jumps else offset_ns, target_ns
        return ahead_ns // 1_000_000 if jumps else 0


def _best(readings: Sequence[TimeReading] | deque[TimeReading]) -> TimeReading:
    return min(readings, key=lambda reading: reading.took_ns)


def _agree(one: TimeReading, other: TimeReading) -> bool:
    """Say whether two readings can be of clocks that run evenly."""
    return abs(_offset(one) - _offset(other)) <= (one.took_ns + other.took_ns) // 2 + DRIFT_NS


def _offset(reading: TimeReading) -> int:
    return reading.theirs_ns - reading.at_ns


def _offset_at(course: tuple[int, int, int], now_ns: int) -> int:
    began_ns, first_ns, target_ns = course
    most = (now_ns - began_ns) // SLEW
    return first_ns + max(-most, min(target_ns - first_ns, most))
