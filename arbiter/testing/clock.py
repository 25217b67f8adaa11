"""Virtual time: an event loop that jumps to its next timer instead of waiting, and a clock that reads this time.

With ports that use no threads and no sockets (see `arbiter.testing.memory`), everything in such a loop is
deterministic, and a simulated hour takes almost no real time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from functools import wraps
from heapq import heapify, heappop, heappush
from typing import Any, ParamSpec, TypeVar, TypeVarTuple

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
RESOLUTION_S = 1e-9  #: timers that are due so soon run at once
A_MOMENT_S = 1e-8  #: longer than that, and too short for any clock to show
MANY = 100  #: timers; of more, those that were cancelled are removed once they are the larger part
NOON_MS = 1_800_000_000_000  #: the start of virtual time, UTC, milliseconds since 1970


class Stuck(Exception):
    """No callback is ready and no timer is set, so the awaited result can never arrive."""


class _Instant(float):
    """When a timer is due. Handles of timers compare themselves in Python, which is slow."""

    __slots__ = ("timer",)
    timer: Any


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time.

    `time()` stands still while any callback is ready. When none is ready, it jumps to the next timer. The loop does not
    wait for threads or sockets, so they must not be used in it.
    """

    _ready: deque[asyncio.Handle]
    _scheduled: list[_Instant]
    _timer_cancelled_count: int

    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__()

    def time(self) -> float:
        """Return the virtual time in seconds since the loop was created."""
        return self._now_s

    def hold_up(self, seconds: float) -> None:
        """Advance time while no code of the process runs, as if the process had been suspended."""
        self._now_s += seconds

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Have a callback called at an instant; see the base class."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._set(timer)
        return timer

    def _set(self, timer: Any) -> None:
        instant = _Instant(timer.when())
        instant.timer = timer
        heappush(self._scheduled, instant)
        timer._scheduled = True

    def _run_once(self) -> None:
        """Do what the base class does in one iteration, but ask the operating system for nothing: that is slow."""
        ready, timers = self._ready, self._scheduled
        if len(timers) > MANY and self._timer_cancelled_count > len(timers) / 2:
            timers[:] = [instant for instant in timers if not instant.timer.cancelled()]
            heapify(timers)
            self._timer_cancelled_count = 0
        while timers and timers[0].timer.cancelled():
            self._timer_cancelled_count -= 1
            heappop(timers)
        if not ready:
            if not timers:
                raise Stuck("nothing is ready and no timer is set")
            self._now_s = max(float(timers[0]), self._now_s)
        due_s = self._now_s + RESOLUTION_S
        while timers and timers[0] < due_s:
            timer = heappop(timers).timer
            timer._scheduled = False
            ready.append(timer)
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()


class VirtualClock:
    """The arbiter's clock (`arbiter.service.ports.Clock`) in a virtual loop. `skew_ms` makes its wall time jump."""

    def __init__(self, start_ms: int = NOON_MS) -> None:
        self._start_ms = start_ms
        self.skew_ms = 0

    def now_ms(self) -> int:
        """Return the current time, UTC, in milliseconds since 1970."""
        return self._start_ms + round(asyncio.get_running_loop().time() * 1000) + self.skew_ms


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time and return its result. Raises Stuck if it can never finish."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def virtually(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Decorate a test that is a coroutine function, so that it runs in virtual time."""

    @wraps(test)
    def in_virtual_time(*arguments: P.args, **named: P.kwargs) -> T:
        return run(test(*arguments, **named))

    return in_virtual_time


async def settle() -> None:
    """Run all callbacks that are ready, until none is left. Virtual time advances by a negligible amount."""
    if not isinstance(asyncio.get_running_loop(), VirtualLoop):
        raise TypeError("settle() needs a VirtualLoop: in another, nobody knows what is still to come")
    # The loop looks for future timers only when no callback is ready.
    await asyncio.sleep(A_MOMENT_S)
