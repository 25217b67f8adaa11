"""Notices when the whole server stood still: a stopped process, a paused virtual machine, a machine that swaps.

Time goes on meanwhile. When the process runs again, it finds clocks that have run out and moves that have arrived, and
may come to them before it looks at the time. So whatever decides a command calls `notice` first.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable


class StallDetector:
    """Looks at the event loop's time now and then. A gap of `most_ms` or more since the last look is a stall.

    If the server is busy for this long, that is one too.
    """

    def __init__(self, most_ms: int) -> None:
        self._most_s = most_ms / 1000
        self._looked_s = math.inf  # no look yet, or nobody looks now
        self._noticed: Callable[[int], None] | None = None

    def begin(self, noticed: Callable[[int], None]) -> None:
        """Begin to look. noticed: called with the length of each stall, in milliseconds."""
        self._noticed = noticed
        self._looked_s = asyncio.get_running_loop().time()

    def end(self) -> None:
        """Stop looking."""
        self._looked_s, self._noticed = math.inf, None

    def look(self) -> None:
        """Look at the time. Call this often."""
        self.notice()
        if self._noticed is not None:
            self._looked_s = asyncio.get_running_loop().time()

    def notice(self) -> None:
        """Tell of a stall that nobody has noticed yet, if there was one."""
        for_s = asyncio.get_running_loop().time() - self._looked_s
        if for_s < self._most_s or self._noticed is None:
            return
        self._looked_s = math.inf  # what is decided now is no reason to notice it again
        try:
            self._noticed(round(1000 * for_s))
        finally:  # nor is the time that this takes, with thousands of matches
            self._looked_s = asyncio.get_running_loop().time()
