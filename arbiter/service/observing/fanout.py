"""The fan-out: a queue of items for each reader, and the order in which readers are woken.

A reader that is woken writes to its stream at once. A thousand such writes keep the event loop busy for tens of
milliseconds. So readers are woken a few at a time, as a step in the background, and live matches go on in between.
Items that arrive meanwhile go into the same message for the readers that are still waiting. So one event costs at most
one message for each reader, even if many others follow it. The readers of one player share a limit of messages a
second. If they are many, each gets fewer messages with more events in each.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Generic, TypeVar

from arbiter.service.background import Background
from arbiter.service.token_bucket import TokenBucket

T = TypeVar("T")

AT_ONCE: Final = 8  #: readers to wake in one step
NAME: Final = "observers"  #: whose steps these are

PERIOD_MS: Final = 100  #: the period of the message limit; its messages may come at once


class WakeOrder:
    """Wakes the readers that have items: one of each player in turn, and within each player's message limit.

    Those of one player are woken in the order of their first items.
    """

    def __init__(self, messages_a_second: int, background: Background) -> None:
        self._most = max(1, messages_a_second * PERIOD_MS // 1_000)
        self._background = background
        self._due: OrderedDict[str, deque[Subscription[Any]]] = OrderedDict()  # by player, the last served at the end
        self._is_called = False  # the next step waits for its turn
        self._rates: dict[str, TokenBucket] = {}  # of players with readers
        self._readers: Counter[str] = Counter()
        self._held: dict[str, deque[Subscription[Any]]] = {}  # by player: readers that wait for the message limit

    def enter(self, player: str) -> None:
        """Count a reader of a player. Readers inside this process have the player '', and no limit."""
        self._readers[player] += 1
        if player:
            self._rates.setdefault(player, TokenBucket(self._most, PERIOD_MS))

    def leave(self, player: str) -> None:
        """Stop counting a reader."""
        self._readers[player] -= 1
        if not self._readers[player]:
            del self._readers[player]
            self._rates.pop(player, None)

    def add(self, subscription: Subscription[Any]) -> None:
        """Queue a subscription to be woken."""
        held = self._held.get(subscription.player)
        if held is not None:
            held.append(subscription)
            return
        due = self._due.get(subscription.player)
        if due is None:
            self._due[subscription.player] = deque((subscription,))
            self._call()
        else:
            due.append(subscription)

    def _call(self) -> None:
        if self._due and not self._is_called:
            self._is_called = True
            self._background.call(NAME, self._next)

    def _next(self) -> None:
        self._is_called = False
        loop = asyncio.get_running_loop()
        now_ms = round(loop.time() * 1_000)
        for _ in range(AT_ONCE):
            if not self._due:
                return
            subscription = self._taken()
            player = subscription.player
            held, rate = self._held.get(player), self._rates.get(player)
            if held is not None:
                held.append(subscription)
            elif rate is not None and (wait_ms := rate.take(now_ms)):
                self._held[player] = deque([subscription])
                loop.call_later(wait_ms / 1_000, self._go_on, player)
            else:
                subscription.wake(True)
        self._call()

    def _taken(self) -> Subscription[Any]:
        player, due = next(iter(self._due.items()))
        subscription = due.popleft()
        if due:
            self._due.move_to_end(player)
        else:
            del self._due[player]
        return subscription

    def _go_on(self, player: str) -> None:
        for subscription in self._held.pop(player):
            self.add(subscription)


class Subscription(Generic[T]):
    """The items that one reader has not read yet, at most `most`. Further items are dropped, and `overrun` is set.

    A reader gives a function, or waits for a bare future, and has one timer, which is set again if it fires too early.
    An asyncio.Event and a timer for each item would double the cost of an item.

    items: those that wait.
    """

    __slots__ = (
        "_alarm",
        "_idle_s",
        "_is_due",
        "_loop",
        "_since",
        "_turns",
        "_waiting",
        "items",
        "missing",
        "most",
        "overrun",
        "player",
    )

    def __init__(self, turns: WakeOrder, player: str, most: int, idle_s: float) -> None:
        self._turns = turns
        self.player = player
        turns.enter(player)
        self.most = most
        self._idle_s = idle_s
        self._loop = asyncio.get_running_loop()
        self.items: list[T] = []
        self._waiting: Callable[[bool], object] | None = None
        self._is_due = False  # queued to be woken
        self._since = 0.0  # when the wait began
        self._alarm: asyncio.TimerHandle | None = None
        self.overrun = False
        self.missing = False

    def note_missing(self) -> None:
        """Note that the journal has items that were not put here: `missing` is set until the reader resets it."""
        self.missing = True
        self._be_due()

    def put(self, item: T, quiet: bool = False) -> None:
        """Add an item. quiet: it does not wake the reader, unless half as many items wait as may."""
        if len(self.items) < self.most:
            self.items.append(item)
        else:
            self.overrun = True
        if not quiet or len(self.items) > self.most // 2:
            self._be_due()

    def _be_due(self) -> None:
        if self._waiting is not None and not self._is_due:
            self._is_due = True
            self._turns.add(self)

    def take(self) -> list[T]:
        """Return the items, and empty the queue."""
        taken, self.items = self.items, []
        return taken

    def call_with_items(self, waiting: Callable[[bool], object] | None) -> None:
        """Have a function called once: with True as soon as there are items, with False if none arrive for `idle_s`.

        None: the function that was given before is no longer called.
        """
        self._waiting = waiting
        if waiting is None:
            return
        if self.items or self.overrun or self.missing:
            self._is_due = True
            self._turns.add(self)
        else:
            self._since = self._loop.time()
            if self._alarm is None:
                self._alarm = self._loop.call_at(self._since + self._idle_s, self._ring)

    def wait(self) -> asyncio.Future[bool]:
        """Return a future: True as soon as there are items, False if none arrive for `idle_s` seconds."""
        waiting: asyncio.Future[bool] = self._loop.create_future()
        self.call_with_items(partial(_wake, waiting))
        return waiting

    def turn(self) -> asyncio.Future[bool]:
        """Return a future that is done when this reader may send one more message of items that it has taken."""
        waiting: asyncio.Future[bool] = self._loop.create_future()
        self._waiting = partial(_wake, waiting)
        self._is_due = True
        self._turns.add(self)
        return waiting

    def wake(self, something: bool) -> None:
        """End the wait with a result, if the reader waits. something: whether there are items."""
        waiting, self._waiting = self._waiting, None
        self._is_due = False
        if waiting is not None:
            waiting(something)

    def close(self) -> None:
        """Remove the reader, and cancel its timer."""
        self._turns.leave(self.player)
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


def _wake(waiting: asyncio.Future[bool], something: bool) -> None:
    if not waiting.done():
        waiting.set_result(something)
