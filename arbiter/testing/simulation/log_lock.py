"""A lock on the log, as of an operator or a slow migration: nobody reads or appends until it is released."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from arbiter.testing.simulation.observations import LogHold, true_ms
from arbiter.testing.virtual_processes import WORLD


class LogLock:
    """The lock of one log, for all servers that use it. holds: where it is noted when it was held.

    queues: whether other writes of a server wait behind its append that waits, as those of a real store do
    (`arbiter.store.writer`). Then its heartbeats stop, and it counts as cut off.
    """

    def __init__(self, holds: list[LogHold] | None = None) -> None:
        self._holds = holds if holds is not None else []
        self._free = asyncio.Event()
        self._free.set()
        self._waiting: list[Callable[[], None]] = []  # appends, in order
        self._began_ms = self._ends_s = 0.0
        self.queues = False
        self.when_released: list[Callable[[], None]] = []  #: called each time

    @property
    def is_held(self) -> bool:
        """Whether nobody can use the log."""
        return not self._free.is_set()

    def hold(self, seconds: float, queues: bool) -> None:
        """Hold the lock for a while. If it is held, it is so for longer."""
        loop = asyncio.get_running_loop()
        if not self.is_held:
            self._began_ms, self.queues = true_ms(), queues
        self._free.clear()
        self._ends_s = max(self._ends_s, loop.time() + seconds)
        loop.call_later(seconds, self._release_in_time, context=WORLD)

    def _release_in_time(self) -> None:
        """Release it, unless it is to be held for longer."""
        if asyncio.get_running_loop().time() >= self._ends_s:
            self.release()

    def release(self) -> None:
        """Do the appends that wait, in order; then let reads go on."""
        if not self.is_held:
            return
        self._free.set()
        self._holds.append(LogHold(self._began_ms, true_ms()))
        waiting, self._waiting = self._waiting, []
        for append in waiting:
            append()
        for callback in self.when_released:
            callback()

    async def free(self) -> None:
        """Wait until it is not held."""
        while self.is_held:
            await self._free.wait()

    def when_free(self, append: Callable[[], None]) -> None:
        """Do an append once it is not held: in the order of these calls."""
        if self.is_held:
            self._waiting.append(append)
        else:
            append()
