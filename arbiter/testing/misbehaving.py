"""Misbehaving players: for every fault that a bot may have, one that has this fault and no other.

Each does what `arbiter.testing.bot_faults.POLICIES` says of it, over real gRPC, and everything else right: it answers
pings, plays legal moves and comes back after a lost stream, as far as its fault leaves room for that. What the server
does about it stands there too.

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
from arbiter.testing.bot_faults import Fault
from arbiter.testing.player import Player, move_at

LOOKS_AHEAD = 5  #: plies of play in which an illegal move is looked for
SPEAKS_EVERY_S = 0.05  #: how often one that reads nothing shows that it lives
UNKNOWN_FIELD: Final = b"\xc2\x3e\x03abc"  #: field 1000, which no message has: "abc"


class StaysAway(Player):
    """Never connects."""

    async def connect(self) -> None:
        """Do nothing."""


class Misbehaving(Player, ABC):
    """A player whose fault is done once, at its first turn; before and after it plays."""

    def __init__(self, channel: grpc.aio.Channel, metadata: Sequence[tuple[str, str]]) -> None:
        super().__init__(channel, metadata)
        self._channel = channel
        self.misbehaved = False

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Misbehave, or play."""
        if self.misbehaved:
            await super().choose(turn)
        else:
            self.misbehaved = True
            await self.misbehave(turn)

    @abstractmethod
    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Do what this one does. Until it returns, nothing more is read."""

    async def limit(self, name: str) -> int:
        """Return a limit that the server publishes."""
        server: Any = server_pb2_grpc.ServerServiceStub(self._channel)
        info = await server.GetServerInfo(server_pb2.GetServerInfoRequest())
        limit: int = info.limits[name]
        return limit

    async def come_back(self) -> None:
        """Connect again once the server has ended the stream: the turn is told again there."""
        await self.until(lambda: bool(self.ends))
        await self.connect()


class Disconnects(Misbehaving):
    """Loses its stream at its first turn, and comes back."""

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Lose the stream; connect again."""
        self.let_go()
        await self.connect()


class Vanishes(Misbehaving):
    """Loses its stream at its first turn, and never comes back."""

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Lose the stream."""
        self.let_go()


class HalfOpen(Misbehaving):
    """Neither reads nor speaks any more from its first turn on, while its stream stays open."""

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Stop reading; whoever does not read does not answer either."""
        self.stop_reading()


class Stalls(Player):
    """Never moves."""

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Think for ever."""


class Floods(Misbehaving):
    """Says more than twice what may be said in a second, then comes back."""

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Acknowledge nothing, very often."""
        acknowledge = play_pb2.PlayAct(acknowledge=play_pb2.Acknowledgement())
        most = await self.limit("acts_a_second")
        await self.say(*[acknowledge] * (2 * most + 2))  # so many in one second, wherever seconds begin
        self.spawn(self.come_back())


class WrongMoves(Player, ABC):
    """Sends wrong moves only, one after the other, as soon as it can think of one."""

    def __init__(self, channel: grpc.aio.Channel, metadata: Sequence[tuple[str, str]]) -> None:
        super().__init__(channel, metadata)
        self._turns: dict[str, play_pb2.Turn] = {}
        self._sent = 0

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Send a wrong move, or a right one where there is none."""
        self._turns[turn.match_id] = turn
        wrong = self.wrong(turn)
        if wrong is None:
            await super().choose(turn)
        else:
            self._sent += 1
            await self.say(move_at(turn, wrong, request_id=f"wrong {self._sent}"))

    async def answered(self, answer: match_pb2.MoveAnswer) -> None:
        """Send another."""
        if answer.HasField("refusal") and answer.match_id not in self.results:
            await self.choose(self._turns[answer.match_id])

    @abstractmethod
    def wrong(self, turn: play_pb2.Turn) -> str | None:
        """Return what it sends, or None for a right move."""


class IllegalMoves(WrongMoves):
    """Sends moves that the rules forbid."""

    def wrong(self, turn: play_pb2.Turn) -> str | None:
        """Return an illegal move."""
        rules = game(turn.game)
        return illegal_move(rules, rules.parse(turn.position))


class MalformedMoves(WrongMoves):
    """Sends moves that are none."""

    def wrong(self, turn: play_pb2.Turn) -> str | None:
        """Return no move of any game."""
        return "?"


class AlsoSays(Player):
    """Says something that it should not with each of its moves."""

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Say it, and play."""
        await self.say(*self.also(turn), move_at(turn), *self.then(turn))

    def also(self, turn: play_pb2.Turn) -> Sequence[play_pb2.PlayAct]:
        """Return what it says before the move, in the same message."""
        return ()

    def then(self, turn: play_pb2.Turn) -> Sequence[play_pb2.PlayAct]:
        """Return what it says after the move, in the same message."""
        return ()


class MovesElsewhere(AlsoSays):
    """Moves in a match of others, `elsewhere`, too."""

    elsewhere = ""

    def also(self, turn: play_pb2.Turn) -> Sequence[play_pb2.PlayAct]:
        """Return a move there."""
        act = move_at(turn, request_id=f"elsewhere {turn.ply}")
        act.match_id = self.elsewhere
        return (act,)


class MovesNowhere(MovesElsewhere):
    """Moves in a match that is not there, too."""

    elsewhere = "nowhere"


class MovesOutOfTurn(AlsoSays):
    """Moves for its opponent, too."""

    def then(self, turn: play_pb2.Turn) -> Sequence[play_pb2.PlayAct]:
        """Return the same move for the next ply."""
        return (move_at(turn, ply=turn.ply + 1, request_id=f"for the opponent {turn.ply}"),)


class WrongPly(AlsoSays):
    """Moves for a later ply, too."""

    def also(self, turn: play_pb2.Turn) -> Sequence[play_pb2.PlayAct]:
        """Return a move that is much too early."""
        return (move_at(turn, ply=turn.ply + 1_000, request_id=f"too early {turn.ply}"),)


class ReusesRequestId(AlsoSays):
    """Gives the request id of its move to another one, too."""

    def then(self, turn: play_pb2.Turn) -> Sequence[play_pb2.PlayAct]:
        """Return something else under the same id."""
        return (move_at(turn, "?"),)


class Pesters(AlsoSays):
    """Offers a draw twice with every move."""

    def also(self, turn: play_pb2.Turn) -> Sequence[play_pb2.PlayAct]:
        """Return two offers."""
        return [
            play_pb2.PlayAct(
                request_id=f"draw {turn.ply} {n}", match_id=turn.match_id, offer_draw=play_pb2.OfferDrawAct()
            )
            for n in range(2)
        ]


class ConnectsTwice(Misbehaving):
    """Opens a second stream beside its first one, and plays on it."""

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Connect again."""
        await self.connect()


class ComesAndGoes(Misbehaving):
    """Opens streams one after the other, more than it may, and then comes back when it is told to."""

    _restless = False

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Come and go."""
        self._restless = True
        while not self.ends:
            self.let_go()
            heard = len(self.items)
            await self.connect()
            await self.until(lambda heard=heard: len(self.items) > heard or bool(self.ends))  # type: ignore[misc]
        self.spawn(self._come_back_later())

    async def take(self, item: play_pb2.PlayItem) -> None:
        """Do nothing with an item on a stream that is about to be left."""
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
    """Sends one message that is too large, then comes back."""

    times = 1  #: how often the limit it is

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Acknowledge nothing, at length."""
        padded = play_pb2.Acknowledgement(cursor="0" * (self.times * await self.limit("message_bytes")))
        await self.say(play_pb2.PlayAct(acknowledge=padded))
        self.spawn(self.come_back())


class Garbage(Misbehaving):
    """Sends bytes that are no message, then comes back."""

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Send them."""
        await self.write(b"\xff\xff")
        self.spawn(self.come_back())


class BeginsWrongly(Player):
    """Begins a stream wrongly; when the server has ended it, begins another one rightly."""

    async def connect(self) -> None:
        """Begin wrongly and leave the rest for later."""
        self.open()
        await self.begin()
        self.spawn(self._again())

    async def begin(self) -> None:
        """Say something, or nothing."""

    async def _again(self) -> None:
        await self.until(lambda: bool(self.ends))
        await super().connect()


class SaysNothing(BeginsWrongly):
    """Opens a stream without a word."""


class SkipsHello(BeginsWrongly):
    """Begins with something else than a hello."""

    async def begin(self) -> None:
        """Answer a ping that nobody sent."""
        await self.say(play_pb2.PlayAct(pong=play_pb2.Pong(number=1)))


class OtherVersion(BeginsWrongly):
    """Begins in a version of the protocol that nobody speaks yet."""

    async def begin(self) -> None:
        """Say hello in it."""
        await self.say(play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="9.0")))


class UnknownFields(Player):
    """Sends a field that nobody knows with every message and act, and acts that nobody knows."""

    async def write(self, message: play_pb2.PlayRequest | bytes) -> None:
        """Send the message with more than it has."""
        assert isinstance(message, play_pb2.PlayRequest)
        more = play_pb2.PlayRequest(acts=[_with_unknown(act) for act in message.acts])
        more.acts.add().MergeFromString(UNKNOWN_FIELD)
        await super().write(more.SerializeToString() + UNKNOWN_FIELD)


class ReadsNothing(Misbehaving):
    """Leaves its stream unread from its first turn on, but speaks. It has asked for much, so that much waits."""

    def hello(self) -> play_pb2.ClientHello:
        """Ask for all moves with every turn."""
        hello = super().hello()
        hello.extras.MergeFrom(play_pb2.TurnExtras(board=True, legal_moves_up_to=10_000, steps=True))
        return hello

    async def misbehave(self, turn: play_pb2.Turn) -> None:
        """Stop reading, and begin to speak."""
        self.stop_reading()
        self.spawn(self._speak())

    async def _speak(self) -> None:
        """Answer pings that are guessed."""
        number = 0
        while not self.call.done():
            number += 1
            await self.say(play_pb2.PlayAct(pong=play_pb2.Pong(number=number)))
            await asyncio.sleep(SPEAKS_EVERY_S)


PLAYERS: Final[dict[Fault, type[Player]]] = {
    Fault.STAYS_AWAY: StaysAway,
    Fault.DISCONNECTS: Disconnects,
    Fault.VANISHES: Vanishes,
    Fault.HALF_OPEN: HalfOpen,
    Fault.STALLS: Stalls,
    Fault.FLOODS: Floods,
    Fault.ILLEGAL_MOVES: IllegalMoves,
    Fault.MALFORMED_MOVES: MalformedMoves,
    Fault.MOVES_ELSEWHERE: MovesElsewhere,
    Fault.MOVES_NOWHERE: MovesNowhere,
    Fault.MOVES_OUT_OF_TURN: MovesOutOfTurn,
    Fault.WRONG_PLY: WrongPly,
    Fault.REUSES_REQUEST_ID: ReusesRequestId,
    Fault.PESTERS: Pesters,
    Fault.CONNECTS_TWICE: ConnectsTwice,
    Fault.COMES_AND_GOES: ComesAndGoes,
    Fault.GIANT_MESSAGE: GiantMessage,
    Fault.GARBAGE: Garbage,
    Fault.SAYS_NOTHING: SaysNothing,
    Fault.SKIPS_HELLO: SkipsHello,
    Fault.OTHER_VERSION: OtherVersion,
    Fault.UNKNOWN_FIELDS: UnknownFields,
    Fault.READS_NOTHING: ReadsNothing,
}
"""The player that has each fault."""


def illegal_move(rules: AnyGame, position: Any) -> str | None:
    """Return a text that is a move of the game and not a legal one here: one from the start, or from later play.

    None if there is none among them: in some games every move that can be written is legal at first.
    """
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
