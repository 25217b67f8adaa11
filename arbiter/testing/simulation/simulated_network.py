"""The network between players and a simulated server, as unreliable as a real one.

On a stream, no message is lost, duplicated or reordered while the connection lasts. When it is cut, messages under way
are lost in both directions, and either end may learn of it late. Unary calls may be lost, duplicated, late and
reordered.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any, Generic, TypeVar

from arbiter.testing.simulation.disk import Chance
from arbiter.testing.simulation.plan import Fault
from arbiter.testing.virtual_processes import WORLD

T = TypeVar("T")
WINDOW = 8  #: messages under way in one direction before the sender has to wait, as with flow control


class Delays:
    """The latency of one player's network."""

    def __init__(self, rtt_ms: int, dice: Random, chance: Chance) -> None:
        self._least_s = rtt_ms / 2000
        self._dice = dice
        self._chance = chance

    def draw_s(self) -> float:
        """Return the latency of the next message, in seconds."""
        late_s = self._dice.uniform(0.1, 4.0) if self._chance(Fault.LATE) else 0.0
        return self._least_s * self._dice.uniform(1.0, 1.5) + late_s


class Pipe(Generic[T]):
    """One direction of a connection: messages arrive in order, each at its time, until it is cut."""

    def __init__(self, delays: Delays, deliver: Callable[[T], None]) -> None:
        self._delays = delays
        self._deliver = deliver
        self._last_s = 0.0
        self._under_way: deque[T] = deque()  # timers of the same time may fire in any order: messages may not
        self._room = asyncio.Event()
        self.is_cut = False

    def send(self, message: T) -> None:
        """Send a message."""
        if self.is_cut:
            return
        loop = asyncio.get_running_loop()
        self._last_s = max(self._last_s, loop.time() + self._delays.draw_s())
        self._under_way.append(message)
        loop.call_at(self._last_s, self._arrive, context=WORLD)

    def stall(self, seconds: float) -> None:
        """Deliver nothing that is sent from now on for a while: the reader does not read."""
        self._last_s = max(self._last_s, asyncio.get_running_loop().time() + seconds)

    async def room(self) -> None:
        """Wait until there is room for another message under way."""
        while len(self._under_way) >= WINDOW:
            self._room.clear()
            await self._room.wait()

    def _arrive(self) -> None:
        message = self._under_way.popleft()
        self._room.set()
        if not self.is_cut:
            self._deliver(message)


class Link:
    """A connection: a pipe up, a pipe down, and two ends that are notified when it is lost.

    Each end sets a callback that is called with every message, and once without one when the connection is lost.
    prepares: whether the player below says when it is ready for a match.
    """

    def __init__(self, delays: Delays, prepares: bool = False) -> None:
        self.prepares = prepares
        self.up: Pipe[Any] = Pipe(delays, lambda message: self.on_message_above(message))
        self.down: Pipe[Any] = Pipe(delays, lambda message: self.on_message_below(message))
        self.on_message_above: Callable[[Any], None] = _ignore
        self.on_message_below: Callable[[Any], None] = _ignore
        self.on_loss_above: Callable[[], None] = _nothing
        self.on_loss_below: Callable[[], None] = _nothing
        self._on_cut: Callable[[], None] = _nothing

    def when_cut(self, callback: Callable[[], None]) -> None:
        """Have a callback called when the connection is lost, or now if it is: before either end is notified."""
        self._on_cut = callback
        if self.is_cut:
            callback()

    @property
    def is_cut(self) -> bool:
        """Whether the connection is cut."""
        return self.up.is_cut

    def cut(self, below_after_s: float = 0.0, above_after_s: float | None = 0.0) -> None:
        """Lose the connection. The player below and the server above are notified after a delay; None: never."""
        if self.is_cut:
            return
        self.up.is_cut = self.down.is_cut = True
        self._on_cut()
        loop = asyncio.get_running_loop()
        loop.call_later(below_after_s, lambda: self.on_loss_below(), context=WORLD)
        if above_after_s is not None:
            loop.call_later(above_after_s, lambda: self.on_loss_above(), context=WORLD)


class Calls:
    """The unary calls of one caller."""

    def __init__(self, delays: Delays, dice: Random, chance: Chance) -> None:
        self._delays = delays
        self._dice = dice
        self._chance = chance

    def call(
        self, request: Callable[[], asyncio.Future[T]], answered: Callable[[T], None], failed: Callable[[], None]
    ) -> None:
        """Carry a call to the server and its answer back: once, twice or not at all.

        `request` is called where the call arrives, and returns the future answer. `failed` is called if the call ends
        without an answer. A lost call is never mentioned again.
        """
        loop = asyncio.get_running_loop()
        copies = 2 if self._chance(Fault.DOUBLED) else 1
        for _ in range(copies):
            if not self._chance(Fault.LOST):
                loop.call_later(self._delays.draw_s(), self._arrive, request, answered, failed)

    def _arrive(
        self, request: Callable[[], asyncio.Future[T]], answered: Callable[[T], None], failed: Callable[[], None]
    ) -> None:
        request().add_done_callback(lambda done: self._return(done, answered, failed))

    def _return(self, done: asyncio.Future[T], answered: Callable[[T], None], failed: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        error = None if done.cancelled() else done.exception()
        if self._chance(Fault.LOST):
            return
        if done.cancelled() or error is not None:
            loop.call_later(self._delays.draw_s(), failed)
        else:
            loop.call_later(self._delays.draw_s(), answered, done.result())


def _ignore(message: Any) -> None:
    """Ignore a message that arrives where nobody reads."""


def _nothing() -> None:
    """Ignore a lost connection."""
