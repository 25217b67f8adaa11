"""A bus in memory, which loses, delays, doubles and reorders messages as a test says."""

from __future__ import annotations

import asyncio
from random import Random

from arbiter.service.ports.bus import Listener, Message


class MemoryBroker:
    """What carries the messages of all servers.

    lost, doubled: the shares of the messages to which this happens. longest_s: each message takes a random time up to
    this, so messages overtake each other. away: nothing passes, and every server knows it. silent: nothing passes, and
    no server knows it. keeps: then it keeps the messages until it is back, as a connection does that buffers them.
    """

    def __init__(self, dice: Random | None = None) -> None:
        self.lost = self.doubled = self.longest_s = 0.0
        self.away = self.silent = self.keeps = False
        self._kept: list[tuple[Message, MemoryBus]] = []
        self._dice = dice or Random(0)
        self._buses: list[MemoryBus] = []

    def bus(self) -> MemoryBus:
        """Return the bus of one more server."""
        made = MemoryBus(self)
        self.add(made)
        return made

    def add(self, bus: MemoryBus) -> None:
        """Carry messages to one more server."""
        self._buses.append(bus)

    def come_back(self) -> None:
        """Carry messages again, and deliver those that it has kept: each twice, in any order, behind newer ones."""
        self.away = self.silent = self.keeps = False
        kept, self._kept = self._kept, []
        for message, sender in self._dice.sample(kept * 2, len(kept) * 2):
            self.pass_on(message, sender)

    def keep(self, message: Message, sender: MemoryBus) -> None:
        """Keep a message until it is back, if it does so."""
        if self.keeps and (self.away or self.silent):
            self._kept.append((message, sender))

    def pass_on(self, message: Message, sender: MemoryBus) -> None:
        """Deliver a message to all other servers, or not."""
        loop = asyncio.get_running_loop()
        for bus in self._buses:
            if bus is sender or self._dice.random() < self.lost:
                continue
            for _ in range(2 if self._dice.random() < self.doubled else 1):
                loop.call_later(self._dice.uniform(0, self.longest_s), bus.deliver, message)


class MemoryBus:
    """The bus of one server (`arbiter.service.ports.bus`). cut: nothing passes in either direction, and nobody says so.

    sent: the messages so far, also those that were lost. refused: none, as nobody else uses it.
    """

    def __init__(self, broker: MemoryBroker) -> None:
        self.cut = False
        self.refused = 0
        self.sent: list[Message] = []
        self._broker = broker
        self._listeners: list[Listener] = []

    @property
    def trouble(self) -> str:
        return "the bus is away" if self._broker.away else ""

    @property
    def _is_cut_off(self) -> bool:
        return self.cut or self._broker.away or self._broker.silent

    def publish(self, message: Message) -> None:
        self.sent.append(message)
        if not self._is_cut_off:
            self._broker.pass_on(message, self)
        elif not self.cut:
            self._broker.keep(message, self)

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def deliver(self, message: Message) -> None:
        """Have a message arrive."""
        if not self._is_cut_off:
            for listener in self._listeners:
                listener(message)
