"""Faults of a bot that concern its connection: when it opens, reads and loses streams."""

from __future__ import annotations

import asyncio

from arbiter_protos.v1 import play_pb2

from arbiter.testing.misbehaving.once import Misbehaving
from arbiter.testing.player import BotClient

SPEAKS_EVERY_S = 0.05  #: seconds between the pongs of a player that reads nothing


class StaysAway(BotClient):
    """Never connects."""

    async def connect(self) -> None:
        """Do nothing."""


class Disconnects(Misbehaving):
    """Loses its stream at its first turn, and reconnects."""

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Lose the stream and reconnect."""
        self.let_go()
        await self.connect()


class Vanishes(Misbehaving):
    """Loses its stream at its first turn, and never reconnects."""

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Lose the stream."""
        self.let_go()


class HalfOpen(Misbehaving):
    """Neither reads nor writes from its first turn on, while its stream stays open."""

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Stop reading. A player that does not read cannot answer either."""
        self.stop_reading()


class ConnectsTwice(Misbehaving):
    """Opens a second stream beside its first one, and plays on it."""

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Open a second stream."""
        await self.connect()


class ComesAndGoes(Misbehaving):
    """Opens streams one after the other, more than the limit, and reconnects when the server allows it."""

    _restless = False

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Open and lose streams until the server refuses one."""
        self._restless = True
        while not self.ends:
            self.let_go()
            heard = len(self.items)
            await self.connect()
            await self.until(lambda heard=heard: len(self.items) > heard or bool(self.ends))  # type: ignore[misc]
        self.spawn(self._come_back_later())

    async def take(self, item: play_pb2.PlayItem) -> None:
        """Ignore items on streams that are about to be closed."""
        if self._restless:
            self.items.append(item)
        else:
            await super().take(item)

    async def _come_back_later(self) -> None:
        await self.until(lambda: bool(self.ends))
        refusal = self.ends[-1].refusal
        assert refusal is not None
        self._restless = False
        await asyncio.sleep(int(refusal.facts["retry_after_ms"]) / 1000)
        await self.connect()


class ReadsNothing(Misbehaving):
    """Stops reading its stream at its first turn, but still writes. It asks for large turns, so that much is queued."""

    def hello(self) -> play_pb2.ClientHello:
        """Ask for all moves with every turn."""
        hello = super().hello()
        hello.extras.MergeFrom(play_pb2.TurnExtras(board=True, legal_moves_up_to=10_000, steps=True))
        return hello

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Stop reading, and start sending pongs."""
        self.stop_reading()
        self.spawn(self._send_pongs())

    async def _send_pongs(self) -> None:
        """Send pongs with guessed numbers, to show that the player is alive."""
        number = 0
        while not self.call.done():
            number += 1
            await self.say(play_pb2.PlayAct(pong=play_pb2.Pong(number=number)))
            await asyncio.sleep(SPEAKS_EVERY_S)
