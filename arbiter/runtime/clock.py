"""The system's clock."""

from __future__ import annotations

import time


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
        monotonic_ns = time.monotonic_ns()
        utc_ns, earliest_ns = time.time_ns(), not_before_ms * 1_000_000
        self.behind_ms = max(0, earliest_ns - utc_ns) // 1_000_000
        self._offset_ns = max(utc_ns, earliest_ns) - monotonic_ns

    def now_ms(self) -> int:
        """Return the current instant, UTC milliseconds since 1970."""
        return (time.monotonic_ns() + self._offset_ns) // 1_000_000
