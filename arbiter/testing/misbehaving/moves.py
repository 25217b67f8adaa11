"""Faults of a bot that concern its moves and draw offers: wrong ones, too many, or none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import grpc
from arbiter_protos.v1 import match_pb2, play_pb2

from arbiter.errors import Reason, Refusal
from arbiter.games.contract import AnyGame
from arbiter.games.registry import game
from arbiter.testing.player import BotClient, move_at

LOOKS_AHEAD = 5  #: how many plies are played to find an illegal move


class Stalls(BotClient):
    """Never moves."""

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Never answer."""


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
