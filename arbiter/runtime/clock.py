"""The system's clock."""

from __future__ import annotations

import time


class SystemClock:
    """UTC from the system at the start, and the monotonic clock from then on.

    So a system clock that is set, forward or back, while the arbiter runs moves no chess clock; nor does the time that
    the machine sleeps, where its monotonic clock stands still meanwhile (as on Linux).

    not_before_ms: the last instant on record, UTC, milliseconds since 1970. A clock that was set back while the arbiter
    was away, even by years, goes on from there: otherwise turns would begin in the future, and cost nothing until then.
    behind_ms: by how much the system's clock was behind that.
    """

    def __init__(self, not_before_ms: int = 0) -> None:
        monotonic_ns = time.monotonic_ns()
        utc_ns, earliest_ns = time.time_ns(), not_before_ms * 1_000_000
        self.behind_ms = max(0, earliest_ns - utc_ns) // 1_000_000
        self._offset_ns = max(utc_ns, earliest_ns) - monotonic_ns

    def now_ms(self) -> int:
        """Return the instant, UTC, milliseconds since 1970."""
        return (time.monotonic_ns() + self._offset_ns) // 1_000_000
