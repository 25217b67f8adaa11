"""Virtual time: an event loop that jumps to its next timer instead of waiting for it, and the clock that goes with it.

With ports that use no threads and no sockets (see `arbiter.testing.memory`) everything in such a loop is
deterministic, and an hour passes in no time.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
A_MOMENT_S = 1e-8  #: longer than the loop's resolution, and too short for any clock to see
NOON_MS = 1_800_000_000_000  #: where virtual time begins, UTC, milliseconds since 1970


class Stuck(Exception):
    """Nothing is ready, no timer is set: whatever is awaited will never come."""


class _Jumping(selectors.DefaultSelector):
    """A selector that never waits: it says how long it would have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise Stuck("nothing is ready and no timer is set")
        self.waited_s += max(timeout, 0.0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time: `time()` stands still while anything is ready, and jumps to the next timer else.

    Threads and sockets have no place in it: it does not wait for them.
    """

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the virtual instant, in seconds since the loop was made."""
        return self._jumping.waited_s

    def hold_up(self, seconds: float) -> None:
        """Let time go on while nothing in the process runs, as if it had been stopped."""
        self._jumping.waited_s += seconds


class VirtualClock:
    """The arbiter's clock (`arbiter.service.ports.Clock`) in a virtual loop; `skew_ms` lets it jump."""

    def __init__(self, start_ms: int = NOON_MS) -> None:
        self._start_ms = start_ms
        self.skew_ms = 0

    def now_ms(self) -> int:
        """Return the instant, UTC, milliseconds since 1970."""
        return self._start_ms + round(asyncio.get_running_loop().time() * 1000) + self.skew_ms


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time; return what it returns. Raises Stuck if it waits for nothing."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def virtually(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a test that is a coroutine function run in virtual time."""

    @wraps(test)
    def in_virtual_time(*arguments: P.args, **named: P.kwargs) -> T:
        return run(test(*arguments, **named))

    return in_virtual_time


async def settle() -> None:
    """Let everything that is ready run until nothing is, in a virtual loop; next to no time passes."""
    if not isinstance(asyncio.get_running_loop(), VirtualLoop):
        raise TypeError("settle() needs a VirtualLoop: in another, nobody knows what is still to come")
    # The loop looks for timers that lie ahead only when nothing is ready.
    await asyncio.sleep(A_MOMENT_S)
