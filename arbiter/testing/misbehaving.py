"""Misbehaving players: one for every fault that a bot may have, which has this fault and no other.

Each player behaves as `arbiter.testing.bot_faults.POLICIES` describes, over real gRPC. As far as its fault allows, it
does everything else right: it answers pings, plays legal moves and reconnects after a lost stream. POLICIES also says
what the server does about the fault.

    async with PLAYERS[Fault.STALLS](channel, metadata) as player:
        result = await player.result(match_id)
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final

import grpc
from arbiter_protos.v1 import match_pb2, play_pb2, server_pb2, server_pb2_grpc

from arbiter.errors import Reason, Refusal
from arbiter.games.contract import AnyGame
from arbiter.games.registry import game
from arbiter.testing.bot_faults import BotFault
from arbiter.testing.player import BotClient, move_at

LOOKS_AHEAD = 5  #: how many plies are played to find an illegal move
SPEAKS_EVERY_S = 0.05  #: seconds between the pongs of a player that reads nothing
UNKNOWN_FIELD: Final = b"\xc2\x3e\x03abc"  #: field 1000, which no message defines: "abc"


class StaysAway(BotClient):
    """Never connects."""

    async def connect(self) -> None:
        """Do nothing."""


class Misbehaving(BotClient, ABC):
    """A player that commits its fault once, at its first turn. Before and after that it plays normally."""

    def __init__(self, channel: grpc.aio.Channel, metadata: Sequence[tuple[str, str]]) -> None:
        super().__init__(channel, metadata)
        self._channel = channel
        self.misbehaved = False

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Commit the fault once, else play."""
        if self.misbehaved:
            await super().choose(turn)
        else:
            self.misbehaved = True
            await self.misbehave(turn)

    @abstractmethod
    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Commit the fault. Nothing more is read until this returns."""

    async def limit(self, name: str) -> int:
        """Return a limit that the server publishes."""
        server: Any = server_pb2_grpc.ServerServiceStub(self._channel)
        info = await server.GetServerInfo(server_pb2.GetServerInfoRequest())
        limit: int = info.limits[name]
        return limit

    async def come_back(self) -> None:
        """Reconnect once the server has ended the stream; the server then sends the turn again."""
        await self.until(lambda: bool(self.ends))
        await self.connect()


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


class Stalls(BotClient):
    """Never moves."""

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Never answer."""


class Floods(Misbehaving):
    """Sends more than twice the messages that one second allows, then reconnects."""

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Send many empty acknowledgements."""
        acknowledge = play_pb2.PlayAct(acknowledge=play_pb2.Acknowledgement())
        most = await self.limit("acts_a_second")
        await self.say(*[acknowledge] * (2 * most + 2))  # enough for one second, whenever it begins
        self.spawn(self.come_back())


class WrongMoves(BotClient, ABC):
    """Sends only wrong moves, one after the other, as soon as it can generate one."""

    def __init__(self, channel: grpc.aio.Channel, metadata: Sequence[tuple[str, str]]) -> None:
        super().__init__(channel, metadata)
        self._turns: dict[str, play_pb2.Turn] = {}
        self._sent = 0

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Send a wrong move, or a legal one where no wrong one exists."""
        self._turns[turn.match_id] = turn
        wrong = self.wrong(turn)
        if wrong is None:
            await super().choose(turn)
        else:
            self._sent += 1
            await self.say(move_at(turn, wrong, request_id=f"wrong {self._sent}"))

    async def answered(self, answer: match_pb2.MoveAnswer) -> None:
        """Send another wrong move."""
        if answer.HasField("refusal") and answer.match_id not in self.results:
            await self.choose(self._turns[answer.match_id])

    @abstractmethod
    def wrong(self, turn: play_pb2.Turn) -> str | None:
        """Return the wrong move to send, or None to play a legal one."""


class IllegalMoves(WrongMoves):
    """Sends moves that the rules forbid."""

    def wrong(self, turn: play_pb2.Turn) -> str | None:
        """Return an illegal move."""
        rules = game(turn.game)
        return illegal_move(rules, rules.parse(turn.position))


class MalformedMoves(WrongMoves):
    """Sends texts that are not moves."""

    def wrong(self, turn: play_pb2.Turn) -> str | None:
        """Return a text that is no move of any game."""
        return "?"


class AlsoSays(BotClient):
    """Sends something forbidden together with each of its moves."""

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Send the forbidden acts together with a legal move."""
        await self.say(*self.also(turn), move_at(turn), *self.then(turn))

    def also(self, turn: play_pb2.Turn) -> Sequence[play_pb2.PlayAct]:
        """Return the acts to send before the move, in the same message."""
        return ()

    def then(self, turn: play_pb2.Turn) -> Sequence[play_pb2.PlayAct]:
        """Return the acts to send after the move, in the same message."""
        return ()


class MovesElsewhere(AlsoSays):
    """Also sends moves in a match of other players, `elsewhere`."""

    elsewhere = ""

    def also(self, turn: play_pb2.Turn) -> Sequence[play_pb2.PlayAct]:
        """Return a move in the other match."""
        act = move_at(turn, request_id=f"elsewhere {turn.ply}")
        act.match_id = self.elsewhere
        return (act,)


class MovesNowhere(MovesElsewhere):
    """Also sends moves in a match that does not exist."""

    elsewhere = "nowhere"


class MovesOutOfTurn(AlsoSays):
    """Also sends moves for its opponent."""

    def then(self, turn: play_pb2.Turn) -> Sequence[play_pb2.PlayAct]:
        """Return the same move for the next ply."""
        return (move_at(turn, ply=turn.ply + 1, request_id=f"for the opponent {turn.ply}"),)


class WrongPly(AlsoSays):
    """Also sends moves for a later ply."""

    def also(self, turn: play_pb2.Turn) -> Sequence[play_pb2.PlayAct]:
        """Return a move that is much too early."""
        return (move_at(turn, ply=turn.ply + 1_000, request_id=f"too early {turn.ply}"),)


class ReusesRequestId(AlsoSays):
    """Also sends another move with the request id of its move."""

    def then(self, turn: play_pb2.Turn) -> Sequence[play_pb2.PlayAct]:
        """Return a different move with the same request id."""
        return (move_at(turn, "?"),)


class Pesters(AlsoSays):
    """Offers a draw twice with every move."""

    def also(self, turn: play_pb2.Turn) -> Sequence[play_pb2.PlayAct]:
        """Return two draw offers."""
        return [
            play_pb2.PlayAct(
                request_id=f"draw {turn.ply} {n}", match_id=turn.match_id, offer_draw=play_pb2.OfferDrawAct()
            )
            for n in range(2)
        ]


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


PLAYERS: Final[dict[BotFault, type[BotClient]]] = {
    BotFault.STAYS_AWAY: StaysAway,
    BotFault.DISCONNECTS: Disconnects,
    BotFault.VANISHES: Vanishes,
    BotFault.HALF_OPEN: HalfOpen,
    BotFault.STALLS: Stalls,
    BotFault.FLOODS: Floods,
    BotFault.ILLEGAL_MOVES: IllegalMoves,
    BotFault.MALFORMED_MOVES: MalformedMoves,
    BotFault.MOVES_ELSEWHERE: MovesElsewhere,
    BotFault.MOVES_NOWHERE: MovesNowhere,
    BotFault.MOVES_OUT_OF_TURN: MovesOutOfTurn,
    BotFault.WRONG_PLY: WrongPly,
    BotFault.REUSES_REQUEST_ID: ReusesRequestId,
    BotFault.PESTERS: Pesters,
    BotFault.CONNECTS_TWICE: ConnectsTwice,
    BotFault.COMES_AND_GOES: ComesAndGoes,
    BotFault.GIANT_MESSAGE: GiantMessage,
    BotFault.GARBAGE: Garbage,
    BotFault.SAYS_NOTHING: SaysNothing,
    BotFault.SKIPS_HELLO: SkipsHello,
    BotFault.OTHER_VERSION: OtherVersion,
    BotFault.UNKNOWN_FIELDS: UnknownFields,
    BotFault.READS_NOTHING: ReadsNothing,
}
"""The player that has each fault."""


def illegal_move(rules: AnyGame, position: Any) -> str | None:
    """Return a move of the game that is illegal here: one from the initial position, or from later play."""
    later = rules.initial()
    for _ in range(LOOKS_AHEAD):
        for move in rules.moves(later):
            try:
                rules.play(position, move)
            except Refusal as refusal:
                if refusal.reason is Reason.MOVE_ILLEGAL:
                    return move
        if later.outcome is None:
            later = rules.play(later, min(rules.moves(later)))
    return None


def _with_unknown(act: play_pb2.PlayAct) -> play_pb2.PlayAct:
    more = play_pb2.PlayAct()
    more.CopyFrom(act)
    more.MergeFromString(UNKNOWN_FIELD)
    return more
