"""Offered load: moves fall due at times that are drawn in advance, however long the server takes to answer.

Players who wait for each answer send fewer moves to a slow server, so few measurements fall into its slowest moments
(coordinated omission). Here a latency counts from the time at which a move was due, even if it was sent later because
the server had not yet sent the turn.

The times between moves are exponential, as in a Poisson process: that is the load of many independent players. They are
drawn with a seed, so that two servers get exactly the same load.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import takewhile
from random import Random
from typing import Any, Final

MONOTONIC: Final = 1  #: Linux: the clock of `time.perf_counter`
CLOSE_ON_EXEC: Final = 0o2000000
NON_BLOCKING: Final = 0o4000
ABSOLUTE: Final = 1
NS: Final = 1_000_000_000


def arrivals(rate: float, seconds: float, seed: str) -> list[float]:
    """Return the times, in seconds from the start, at which moves fall due: `rate` a second, as a Poisson process."""
    random, at = Random(seed), 0.0

    def later() -> float:
        nonlocal at
        at += random.expovariate(rate)
        return at

    return list(takewhile(lambda each: each < seconds, iter(later, None)))


class Alarm:
    """A callback at a time of `time.perf_counter`, because the event loop's own timers have whole milliseconds only.

    On Linux it uses a timer of the kernel, which is good to about 0.1 ms; elsewhere the event loop's timers.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._file: int | None = None
        if sys.platform == "linux":
            self._c = ctypes.CDLL(None, use_errno=True)
            self._file = self._c.timerfd_create(MONOTONIC, CLOSE_ON_EXEC | NON_BLOCKING)
            self._loop.add_reader(self._file, self._rang)

    def set(self, at: float) -> None:
        """Call back at a time; one that has passed calls back at once. An earlier setting is replaced."""
        if self._file is None:
            self.stop()
            self._timer = self._loop.call_later(at - time.perf_counter(), self._ring)
            return
        seconds, ns = divmod(max(1, round(at * NS)), NS)
        once = (ctypes.c_long * 4)(0, 0, seconds, ns)  # struct itimerspec: interval, then the time
        if self._c.timerfd_settime(self._file, ABSOLUTE, once, None):
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def stop(self) -> None:
        """Cancel the call."""
        if self._timer is not None:
            self._timer.cancel()

    def close(self) -> None:
        """Cancel the call, and close the timer."""
        self.stop()
        if self._file is not None:
            self._loop.remove_reader(self._file)
            os.close(self._file)
            self._file = None

    def _rang(self) -> None:
        assert self._file is not None
        os.read(self._file, 8)
        self._ring()


class OfferedLoad:
    """One round's load: pairs the moves that are due with the turns that wait, both in their order.

    times: when moves fall due, in seconds from now. move: is called with a turn that waits (whatever `wait` was given)
    and the time at which its move was due, by `time.perf_counter`. lags: how late this process noticed each time, in
    ms, which is part of the latency of that move. all_answered: is set once `answered` was called for every move.
    """

    def __init__(self, times: Iterable[float], move: Callable[[Any, float], None]) -> None:
        began = time.perf_counter()
        self._coming = deque(began + each for each in times)
        self._move = move
        self._alarm = Alarm(self._fall_due)
        self._unanswered = len(self._coming)
        self.all_answered = asyncio.Event()
        if not self._coming:
            self.all_answered.set()
        self.due: deque[float] = deque()
        self.waiting: deque[Any] = deque()
        self.lags: list[float] = []
        self._fall_due()

    def wait(self, turn: Any) -> None:
        """Add a turn; it is played when a move is due."""
        self.waiting.append(turn)
        self._pair()

    def answered(self) -> None:
        """Count a move as answered."""
        self._unanswered -= 1
        if self._unanswered <= 0:
            self.all_answered.set()

    def close(self) -> None:
        """End the round: nothing more falls due."""
        self._alarm.close()

    def _fall_due(self) -> None:
        coming, now = self._coming, time.perf_counter()
        while coming and coming[0] <= now:
            self.lags.append((now - coming[0]) * 1000)
            self.due.append(coming.popleft())
        if coming:
            self._alarm.set(coming[0])
        self._pair()

    def _pair(self) -> None:
        while self.due and self.waiting:
            self._move(self.waiting.popleft(), self.due.popleft())
