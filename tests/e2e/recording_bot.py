"""Bots that record everything that they send and receive, while their server is killed again and again.

A bot's choice at a turn depends on the turn alone, so that it is the same in every run of the server. A request that
was not answered in one run is sent again in the next, with the same request id. A bot plays legal moves, sometimes
sends an illegal or a stale one first, offers and answers draws, resigns, loses its stream, and repeats answered
requests.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import grpc
from arbiter_protos.v1 import match_pb2, play_pb2

from arbiter.games.registry import game
from arbiter.testing.player import BotClient, move_at

TEMPORARY = grpc.StatusCode.UNAVAILABLE.value[0]
LOSES_STREAM = 0.01  #: probabilities at each answer
REPEATS = 0.03
ILLEGAL = 0.02  #: probabilities at each turn
STALE = 0.02
OFFERS = 0.04
RESIGNS = 0.005
ACCEPTS = 0.2  #: the probability that an offer is accepted


class Exchanges:
    """The requests of all bots, and what they received.

    breaches: repeated answers that differ from the first. moves: how many moves were acknowledged. changed: set
    whenever something was received.
    """

    def __init__(self) -> None:
        self.asked: dict[tuple[str, str], play_pb2.PlayAct] = {}  # by player and request id
        self.answers: dict[tuple[str, str], match_pb2.MoveAnswer] = {}
        self.results: Counter[tuple[str, str]] = Counter()  # by player and match: how often it was received
        self.breaches: list[str] = []
        self.repeats = 0
        self.moves = 0
        self.changed = asyncio.Event()

    def ask(self, player: str, act: play_pb2.PlayAct) -> None:
        """Record a request, before it is sent."""
        before = self.asked.setdefault((player, act.request_id), act)
        assert before == act, f"the test requests {act} and {before} with one id"

    def answer(self, player: str, answer: match_pb2.MoveAnswer) -> None:
        """Record an answer, unless it asks the player to send the request again."""
        if answer.refusal.code == TEMPORARY:
            return
        key = player, answer.request_id
        before = self.answers.setdefault(key, answer)
        if before is answer:
            self.moves += answer.HasField("receipt") and self.asked[key].HasField("move")
        else:
            self.repeats += 1
            if before != answer:
                self.breaches.append(f"{player} was answered {before}, and later {answer}")
        self.changed.set()

    def move(self, match_id: str, ply: int, players: Sequence[str]) -> str:
        """Return the move that a player of the match has requested at a ply."""
        return next(act.move.move for name in players if (act := self.asked.get((name, f"{match_id} {ply}"))))

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on the exchanges holds."""
        while not condition():
            self.changed.clear()
            await self.changed.wait()

    def ended(self, player: str, match_id: str) -> None:
        """Record that a player has received the end of a match."""
        self.results[player, match_id] += 1
        self.changed.set()


class RecordingBot(BotClient):
    """A player during one run of the server. repeated: answered requests that it repeats when it reconnects."""

    repeated = 20

    def __init__(
        self,
        name: str,
        exchanges: Exchanges,
        dice: random.Random,
        channel: grpc.aio.Channel,
        metadata: Sequence[tuple[str, str]],
    ) -> None:
        super().__init__(channel, metadata)
        self._name = name
        self._exchanges = exchanges
        self._dice = dice
        self._positions: dict[str, tuple[int, Any]] = {}  # by match: the last position that was needed, and its ply

    async def come_back(self) -> None:
        """Connect, and repeat all unanswered requests and some answered ones."""
        await self.connect()
        exchanges = self._exchanges
        mine = [key for key in exchanges.asked if key[0] == self._name]
        waiting = [key for key in mine if key not in exchanges.answers]
        answered = [key for key in mine if key in exchanges.answers]
        again = self._dice.sample(answered, min(self.repeated, len(answered)))
        await self.say(*(exchanges.asked[key] for key in waiting + again))

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Play, after other requests that are drawn for this turn."""
        dice = random.Random(f"{self._name} {turn.match_id} {turn.ply}")
        name = f"{turn.match_id} {turn.ply}"
        acts = []
        if dice.random() < ILLEGAL:
            acts.append(move_at(turn, move="nonsense", request_id=f"{name} illegal"))
        if dice.random() < STALE and turn.ply:
            acts.append(move_at(turn, move="nonsense", ply=turn.ply - 1, request_id=f"{name} stale"))
        if dice.random() < OFFERS:
            offer = play_pb2.OfferDrawAct()
            acts.append(play_pb2.PlayAct(request_id=f"{name} offer", match_id=turn.match_id, offer_draw=offer))
        if dice.random() < RESIGNS:
            resign = play_pb2.ResignAct()
            acts.append(play_pb2.PlayAct(request_id=f"{name} resign", match_id=turn.match_id, resign=resign))
        moves = sorted(game(turn.game).moves(self._position(turn)))
        acts.append(move_at(turn, move=dice.choice(moves)))
        await self._ask(*acts)

    def _position(self, turn: play_pb2.Turn) -> Any:
        """Return the position of a turn with its history, which rules on repetition need and its text does not have."""
        rules = game(turn.game)
        ply, position = self._positions.get(turn.match_id, (0, None))
        if position is None or ply > turn.ply:
            ply, position = 0, rules.initial()
        for past in range(ply, turn.ply):
            position = rules.play(position, self._exchanges.move(turn.match_id, past, (self._name, turn.opponent)))
        assert rules.text(position) == turn.position, f"the requested moves don't lead to {turn}"
        self._positions[turn.match_id] = turn.ply, position
        return position

    async def take(self, item: play_pb2.PlayItem) -> None:
        """Handle an item as a player does; record what the exchanges need."""
        await super().take(item)
        self.items.clear()
        self.answers.clear()
        if item.HasField("draw_offered"):
            offer = item.draw_offered
            name = f"{offer.match_id} {offer.ply} answer"
            answer = play_pb2.AnswerDrawAct(accept=random.Random(name).random() < ACCEPTS)
            await self._ask(play_pb2.PlayAct(request_id=name, match_id=offer.match_id, answer_draw=answer))
        elif item.HasField("ended"):
            self._exchanges.ended(self._name, item.ended.match_id)
            await self.say(play_pb2.PlayAct(acknowledge=play_pb2.Acknowledgement(cursor=item.ended.cursor)))

    async def answered(self, answer: match_pb2.MoveAnswer) -> None:
        """Record an answer; now and then repeat the request, or lose the stream."""
        self._exchanges.answer(self._name, answer)
        if self._dice.random() < REPEATS:
            await self.say(self._exchanges.asked[self._name, answer.request_id])
        if self._dice.random() < LOSES_STREAM:
            self.let_go()
            self.spawn(self.come_back())

    async def _ask(self, *acts: play_pb2.PlayAct) -> None:
        for act in acts:
            self._exchanges.ask(self._name, act)
        await self.say(*acts)
