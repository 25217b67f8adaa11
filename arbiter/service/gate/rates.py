"""How often something may happen: counted by who does it, in windows of time that begin together."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from arbiter.errors import Reason, Refusal

NAMES_KEPT: Final = 100_000  #: more callers than come in a window: beyond them, all share the count of one


class Rate:
    """At most `most` a window for each name.

    All counts are forgotten when a window ends, so that what is kept is bounded by what has come in one. Around the
    end of a window somebody may do twice as much at once; nothing here needs to be more exact than that.
    """

    def __init__(self, most: int, window_s: float, what: str) -> None:
        self._most = most
        self._window_s = window_s
        self._what = what
        self._counts: Counter[str] = Counter()
        self._ends = 0.0

    def count(self, name: str) -> None:
        """Count one more. Raises Refusal RATE_LIMITED (facts limit, retry_after_ms) if it is too many."""
        now = _now_s()
        if now >= self._ends:
            self._counts.clear()
            self._ends = now + self._window_s
        if name not in self._counts and len(self._counts) >= NAMES_KEPT:
            name = ""
        if self._counts[name] >= self._most:
            raise Refusal(
                Reason.RATE_LIMITED,
                f"more than {self._most} {self._what}: come again later",
                limit=self._most,
                retry_after_ms=max(1, round((self._ends - now) * 1000)),
            )
        self._counts[name] += 1


def _now_s() -> float:
    """Return the instant by which windows end: the loop's, in seconds. Tests of whole servers set it by hand."""
    return asyncio.get_running_loop().time()
