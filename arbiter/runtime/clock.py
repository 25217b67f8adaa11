"""The system's clock."""

from __future__ import annotations

import time


class SystemClock:
    """UTC from the system at the start, and the monotonic clock from then on.

    So a system clock that jumps while the arbiter runs moves no chess clock.
    """

    def __init__(self) -> None:
        self._offset_ns = time.time_ns() - time.monotonic_ns()

    def now_ms(self) -> int:
        """Return the instant, UTC, milliseconds since 1970."""
        return (time.monotonic_ns() + self._offset_ns) // 1_000_000
