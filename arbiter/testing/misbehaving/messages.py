"""Faults of a bot that concern its messages: too many, too large, unknown, or wrong at the beginning of a stream."""

from __future__ import annotations

from typing import Final

from arbiter_protos.v1 import play_pb2

from arbiter.testing.misbehaving.once import Misbehaving
from arbiter.testing.player import BotClient

UNKNOWN_FIELD: Final = b"\xc2\x3e\x03abc"  #: field 1000, which no message defines: "abc"


class Floods(Misbehaving):
    """Sends more than twice the messages that one second allows, then reconnects."""

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Send many empty acknowledgements."""
        acknowledge = play_pb2.PlayAct(acknowledge=play_pb2.Acknowledgement())
        most = await self.limit("acts_a_second")
        await self.say(*[acknowledge] * (2 * most + 2))  # enough for one second, whenever it begins
        self.spawn(self.come_back())


class GiantMessage(Misbehaving):
    """Sends one message that is too large, then reconnects."""

    times = 1  #: size, as a multiple of the limit

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Send an acknowledgement that is padded beyond the limit."""
        padded = play_pb2.Acknowledgement(cursor="0" * (self.times * await self.limit("message_bytes")))
        await self.say(play_pb2.PlayAct(acknowledge=padded))
        self.spawn(self.come_back())


class Garbage(Misbehaving):
    """Sends bytes that are not a valid message, then reconnects."""

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Send the invalid bytes."""
        await self.write(b"\xff\xff")
        self.spawn(self.come_back())


class BeginsWrongly(BotClient):
    """Begins a stream wrongly; after the server has ended it, begins another one correctly."""

    async def connect(self) -> None:
        """Begin wrongly; a background task reconnects later."""
        self.open()
        await self.begin()
        self.spawn(self._again())

    async def begin(self) -> None:
        """Send the wrong beginning, if any."""

    async def _again(self) -> None:
        await self.until(lambda: bool(self.ends))
        await super().connect()


class SaysNothing(BeginsWrongly):
    """Opens a stream and sends nothing."""


class SkipsHello(BeginsWrongly):
    """Sends something other than a hello first."""

    async def begin(self) -> None:
        """Answer a ping that nobody sent."""
        await self.say(play_pb2.PlayAct(pong=play_pb2.Pong(number=1)))


class OtherVersion(BeginsWrongly):
    """Says hello with a protocol version that does not exist yet."""

    async def begin(self) -> None:
        """Say hello with that version."""
        await self.say(play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="9.0")))


class UnknownFields(BotClient):
    """Sends an unknown field with every message and act, and acts of an unknown kind."""

    async def write(self, message: play_pb2.PlayRequest | bytes) -> None:
        """Send the message with an unknown field added."""
        assert isinstance(message, play_pb2.PlayRequest)
        more = play_pb2.PlayRequest(acts=[_with_unknown(act) for act in message.acts])
        more.acts.add().MergeFromString(UNKNOWN_FIELD)
        await super().write(more.SerializeToString() + UNKNOWN_FIELD)


def _with_unknown(act: play_pb2.PlayAct) -> play_pb2.PlayAct:
    more = play_pb2.PlayAct()
    more.CopyFrom(act)
    more.MergeFromString(UNKNOWN_FIELD)
    return more
