"""The fan-out: a queue of items for each reader, and the order in which readers are woken.

A reader that is woken writes to its stream at once. A thousand such writes keep the event loop busy for tens of
milliseconds. So readers are woken a few at a time, and live matches go on in between. Items that arrive meanwhile are
sent to the readers that are still to be woken in the same message. Hence one event costs at most one message for each
reader, however many other events there are.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 16  #: readers that are woken before others have the event loop: about a millisecond


class Turns:
    """Wakes the readers that have items, in the order in which each got its first."""

    __slots__ = ("_due",)

    def __init__(self) -> None:
        self._due: deque[Subscription[Any]] = deque()

    def add(self, subscription: Subscription[Any]) -> None:
        """Queue a subscription to be woken."""
        if not self._due:
            asyncio.get_running_loop().call_soon(self._next)
        self._due.append(subscription)

    def _next(self) -> None:
        due = self._due
        for _ in range(min(len(due), AT_ONCE)):
            due.popleft().wake(True)
        if due:
            asyncio.get_running_loop().call_soon(self._next)


class Subscription(Generic[T]):
    """The items that one reader has not read yet, at most `most`. More are dropped, and `overrun` is set.

    A reader waits on a bare future, and on one timer that is set again when it rings too early. An asyncio.Event and a
    timer for each item would double the cost of an item.
    """

    __slots__ = ("_alarm", "_idle_s", "_is_due", "_items", "_loop", "_since", "_turns", "_waiting", "most", "overrun")

    def __init__(self, turns: Turns, most: int, idle_s: float) -> None:
        self._turns = turns
        self.most = most
        self._idle_s = idle_s
        self._loop = asyncio.get_running_loop()
        self._items: list[T] = []
        self._waiting: asyncio.Future[bool] | None = None
        self._is_due = False  # to be woken
        self._since = 0.0  # when the wait began
        self._alarm: asyncio.TimerHandle | None = None
        self.overrun = False

    def put(self, item: T) -> None:
        """Add an item."""
        if len(self._items) < self.most:
            self._items.append(item)
        else:
            self.overrun = True
        if self._waiting is not None and not self._is_due:
            self._is_due = True
            self._turns.add(self)

    def take(self) -> list[T]:
        """Return the items, and empty the queue."""
        taken, self._items = self._items, []
        return taken

    def wait(self) -> asyncio.Future[bool]:
        """Return a future: True as soon as there are items, False if none arrive for `idle_s` seconds."""
        waiting = self._waiting = self._loop.create_future()
        if self._items or self.overrun:
            self._is_due = True
            self._turns.add(self)
        else:
            self._since = self._loop.time()
            if self._alarm is None:
                self._alarm = self._loop.call_at(self._since + self._idle_s, self._ring)
        return waiting

    def wake(self, something: bool) -> None:
        """End the wait with a result, if the reader waits."""
        waiting, self._waiting = self._waiting, None
        self._is_due = False
        if waiting is not None and not waiting.done():
            waiting.set_result(something)

    def close(self) -> None:
        """Cancel the timer: the reader has left."""
        if self._alarm is not None:
            self._alarm.cancel()

    def _ring(self) -> None:
        self._alarm = None
        if self._waiting is not None and not self._is_due:
            due = self._since + self._idle_s
            if self._loop.time() < due:  # items have arrived meanwhile
                self._alarm = self._loop.call_at(due, self._ring)
            else:
                self.wake(False)
