"""A simulated player: a bot that plays, sometimes errs, and repeats each request until it has an answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from arbiter_protos.v1 import match_pb2, refusal_pb2
from arbiter_protos.v1 import play_pb2 as pb

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.matches.match import with_position
from arbiter.service.record.match_log import load_match
from arbiter.testing.simulation.address import Address
from arbiter.testing.simulation.gate_calls import Answer
from arbiter.testing.simulation.observations import Request, SentResult
from arbiter.testing.simulation.plan import PlayerPlan
from arbiter.testing.simulation.play_calls import act_of
from arbiter.testing.simulation.simulated_network import Calls, Delays, Link

TRY_AGAIN: Final = (Reason.STORE_UNAVAILABLE, Reason.DRAINING)  #: not final: these ask for the same request again
TRY_AGAIN_ON_WIRE: Final = tuple(
    refusal_pb2.RefusalReason.Value(f"REFUSAL_REASON_{reason.value}") for reason in TRY_AGAIN
)
SILENCE_S: Final = 9.0  #: after this time without a message from the server, a player considers its connection dead
PONDERING_MS: Final = 15_000  #: the longest thinking time of a player that errs
WITH_HISTORY: Final = ("pondlife",)  #: games that forbid positions of earlier moves
UNCLOCKED: Final = (match_pb2.PHASE_PENDING, match_pb2.PHASE_PAUSED)
BLUNDERS: Final = ("malformed", "illegal", "stale", "early", "foreign", "endless", "claim", "answer", "reuse")


@dataclass(slots=True)
class _Board:
    """A match as its player knows it.

    turn: the ply and start time of the turn that it handled last. asleep: whether it plays no more in this match.
    last_move: the last move that it received. latest: the turn that it has not answered yet.
    """

    plies: int
    latest: pb.Turn | None = None
    turn: tuple[int, int] = (-1, -1)
    asleep: bool = False
    last_move: str = "a1-a1"
    seen: list[Request] = field(default_factory=list)  # its latest requests


class SimulatedBot:
    """A bot. `plies` says, by label and creation request of a match, how many plies it wants to play."""

    def __init__(self, plan: PlayerPlan, server: Address, delays: Delays, dice: Random, plies: dict[str, int]) -> None:
        self.name = plan.name
        self.link: Link | None = None
        self._plan = plan
        self._server = server
        self._delays = delays
        self._dice = dice
        self._plies = plies
        self._calls = Calls(delays, dice, server.chance)
        self._boards: dict[str, _Board] = {}
        self._waiting: dict[tuple[str, str], Request] = {}  # unanswered requests, by match and request id
        self._requests = 0
        self._life = 0  # how often it has restarted
        self._ready = False
        self._heard_s = 0.0
        self._closing = False
        self._away = False

    # -- connection -----------------------------------------------------------------------------------------------

    def connect(self) -> None:
        """Connect, even if a connection is already open."""
        if self._closing or self._away:
            return
        link = self.link = Link(self._delays, self._plan.prepares_ms is not None)
        self._ready = False
        link.on_message_below = lambda message: self._receive(link, message)
        link.on_loss_below = lambda: self._lost(link)
        loop = asyncio.get_running_loop()
        self._heard_s = loop.time()
        loop.call_later(self._delays.draw_s(), self._server.connect, self.name, link)
        loop.call_later(SILENCE_S, self._watch, link)

    def _watch(self, link: Link) -> None:
        """Drop a connection on which nothing has arrived for too long."""
        if link is not self.link or self._closing:
            return
        loop = asyncio.get_running_loop()
        left_s = self._heard_s + SILENCE_S - loop.time()
        if left_s <= 0:
            link.cut()
            self._lost(link)
        else:
            loop.call_later(left_s + 0.001, self._watch, link)

    def _lost(self, link: Link) -> None:
        if link is self.link and not self._closing:
            self.link = None
            asyncio.get_running_loop().call_later(self._dice.uniform(0.05, 1.5), self._reconnect)

    def _reconnect(self) -> None:
        if self.link is None:
            self.connect()

    @property
    def matches(self) -> list[str]:
        """The matches that it plays, as far as it knows."""
        return list(self._boards)

    def hurry(self, match_id: str) -> None:
        """Act in a match at this instant: if it is to move, with a move."""
        board = self._boards.get(match_id)
        if board is None or self._closing or self._away:
            return
        if board.latest is not None and self._dice.random() < 0.8:
            self._act(board.latest, board)
        else:
            self._ask(match_id, self._dice.choice(("offer", "offer", "claim", "resign")))

    def forget(self) -> None:
        """Restart as a process without memory, even of its own requests."""
        self._life += 1
        self._boards.clear()
        self._waiting.clear()
        if self.link is not None:
            self.link.cut(below_after_s=0.2)

    def leave(self, seconds: float) -> None:
        """Disconnect, and reconnect after some time."""
        if not self._away:
            self._away = True
            if self.link is not None:
                self.link.cut()
            asyncio.get_running_loop().call_later(seconds, self._come_back)

    def _come_back(self) -> None:
        self._away = False
        self.link = None
        self.connect()

    def close(self) -> None:
        """Disconnect for good."""
        self._closing = True
        if self.link is not None:
            self.link.cut()

    # -- received items -------------------------------------------------------------------------------------------

    def _receive(self, link: Link, message: pb.PlayResponse | str) -> None:
        self._heard_s = asyncio.get_running_loop().time()
        if isinstance(message, str):
            link.cut()  # the server has ended the call
            return
        for item in message.items:
            self._take(link, item)

    def _take(self, link: Link, item: pb.PlayItem) -> None:
        match item.WhichOneof("item"):
            case "ping":
                link.up.send(pb.PlayRequest(acts=[pb.PlayAct(pong=pb.Pong(number=item.ping.number))]))
            case "turn" if link is self.link:
                turn = item.turn
                board = self._board(turn.match_id)
                board.last_move = turn.last_moves[-1].move if turn.last_moves else board.last_move
                if board.turn != (turn.ply, turn.started_ms):
                    board.turn, board.latest = (turn.ply, turn.started_ms), turn
                    self._think(turn.match_id, self._act, turn, board)
            case "answer":
                answer = item.answer
                if not (answer.HasField("refusal") and answer.refusal.reason in TRY_AGAIN_ON_WIRE):
                    self._waiting.pop((answer.match_id, answer.request_id), None)
            case "ended":
                self._ended(link, item.ended)
            case "draw_offered" if link is self.link:
                self._think(item.draw_offered.match_id, self._offered, item.draw_offered.match_id)
            case "match":
                board = self._board(item.match.match_id)
                board.last_move = item.match.moves[-1] if item.match.moves else board.last_move
                if self._plan.prepares_ms is not None and item.match.phase in UNCLOCKED:
                    ready = pb.PlayRequest(acts=[pb.PlayAct(match_id=item.match.match_id, ready=pb.ReadyAct())])
                    asyncio.get_running_loop().call_later(self._plan.prepares_ms / 1000, link.up.send, ready)
            case "hello" if link is self.link:
                self._ready = True
                for ask in list(self._waiting.values()):
                    self._send(ask)
            case _:
                pass

    def _board(self, match_id: str) -> _Board:
        board = self._boards.get(match_id)
        if board is None:
            summary = self._server.stored.summary_now(match_id)
            board = self._boards[match_id] = _Board(self._plies.get(summary.request_id, 10) if summary else 10)
        return board

    def _think(self, match_id: str, act: Any, *arguments: Any) -> None:
        ponders = self._plan.blunder > 0 and self._dice.random() < 0.01
        think_ms = self._dice.randint(0, PONDERING_MS if ponders else self._plan.think_ms)
        asyncio.get_running_loop().call_later(think_ms / 1000, self._thought, self._life, match_id, act, arguments)

    def _thought(self, life: int, match_id: str, act: Any, arguments: tuple[Any, ...]) -> None:
        if life == self._life and match_id in self._boards and not (self._closing or self._away):
            act(*arguments)

    def _ended(self, link: Link, ended: pb.MatchEnded) -> None:
        end = ended.result
        words = (
            _record_value(match_pb2.ResultKind.Name(end.kind), "RESULT_KIND_"),
            end.winner,
            end.reason,
            _record_value(match_pb2.Cause.Name(end.cause), "CAUSE_"),
            _record_value(match_pb2.Party.Name(end.party), "PARTY_"),
            end.responsible_seat,
        )
        result = SentResult(self.name, ended.match_id, words, int(ended.cursor), self._server.head)
        self._server.history.results.append(result)
        self._boards.pop(ended.match_id, None)
        if self._dice.random() < 0.7:
            link.up.send(pb.PlayRequest(acts=[pb.PlayAct(acknowledge=pb.Acknowledgement(cursor=ended.cursor))]))

    # -- actions --------------------------------------------------------------------------------------------------

    def _act(self, turn: pb.Turn, board: _Board) -> None:
        """Answer a turn: usually with a move."""
        match_id, ply = turn.match_id, turn.ply
        board.asleep |= self._dice.random() < self._plan.sleepy
        if board.asleep or board.turn != (ply, turn.started_ms):
            return
        board.latest = None
        chance = self._dice.random()
        if chance < self._plan.blunder:
            self._blunder(turn, board)
        elif chance < self._plan.blunder + self._plan.chatty:
            self._ask(match_id, "offer")
        if ply >= board.plies and self._dice.random() < 0.5:
            self._ask(match_id, "resign")
        elif turn.draw_claim and self._dice.random() < 0.5:
            self._ask(match_id, "claim")
        else:
            board.seen.append(self._ask(match_id, "move", ply, self._choice(turn)))

    def _choice(self, turn: pb.Turn) -> str:
        """Return a legal move. An exact player takes the position from the record if its text leaves out what was."""
        rules = registry.game(turn.game)
        position = rules.parse(turn.position)
        if self._plan.exact and rules.facts.id in WITH_HISTORY:
            match = load_match(self._server.stored.of_match(turn.match_id))
            position = with_position(match).position if match.ply == turn.ply else position
        moves = rules.moves(position)
        return moves[self._dice.randrange(len(moves))]

    def _blunder(self, turn: pb.Turn, board: _Board) -> None:
        """Send a request that must be refused, or may be."""
        match_id, ply = turn.match_id, turn.ply
        kind = self._dice.choice(BLUNDERS)
        match kind:
            case "malformed":
                self._ask(match_id, "move", ply, "a move?")
            case "illegal":
                self._ask(match_id, "move", ply, board.last_move)
            case "stale":
                self._ask(match_id, "move", max(ply - 1, 0), self._choice(turn))
            case "early":
                self._ask(match_id, "move", ply + 2, self._choice(turn))
            case "foreign":
                self._ask("m000000", "move", ply, "a1")
            case "endless":
                self._ask(match_id, "move", ply, "a1" * 400)
            case "reuse" if board.seen:
                self._send(board.seen[-1]._replace(move="another"))
            case "claim" | "answer":
                self._ask(match_id, kind, accept=self._dice.random() < 0.5)

    def _offered(self, match_id: str) -> None:
        chance = self._dice.random()
        if chance < 0.7:
            self._ask(match_id, "answer", accept=chance < 0.2)

    def _ask(self, match_id: str, verb: str, ply: int = 0, move: str = "", accept: bool = False) -> Request:
        self._requests += 1
        ask = Request(f"{self._life}.{self._requests}", match_id, verb, ply, move, accept)
        self._waiting[ask.match_id, ask.request] = ask
        self._send(ask)
        return ask

    def _send(self, ask: Request) -> None:
        """Send a request, and repeat it after a while if it is not answered."""

        def take(answer: Answer) -> None:
            if not (isinstance(answer, Refusal) and answer.reason in TRY_AGAIN):
                self._waiting.pop((ask.match_id, ask.request), None)

        if self._away:
            pass  # until it has reconnected
        elif self._dice.random() < self._plan.unary:
            self._calls.call(lambda: self._server.request(self.name, ask), take, lambda: None)
        elif self._ready and self.link is not None:
            self.link.up.send(pb.PlayRequest(acts=[act_of(ask)]))
        patience_s = self._plan.patience_ms / 1000 * self._dice.uniform(1.0, 2.0)
        asyncio.get_running_loop().call_later(patience_s, self._again, ask)

    def _again(self, ask: Request) -> None:
        if self._waiting.get((ask.match_id, ask.request)) is ask and not self._closing:
            self._send(ask)

    @property
    def is_at_rest(self) -> bool:
        """Whether it is connected, and all its requests have been answered."""
        return self.link is not None and self._ready and not self._waiting


def _record_value(name: str, prefix: str) -> str:
    """Return the value of an enum as it is written in the record."""
    return name.removeprefix(prefix).lower()
