"""Exactly once, against a model: two players, an unreliable network and disk, and a server that restarts.

Requests are lost, duplicated, delayed and reordered; they are sent by calls and over streams, and a broken stream loses
its messages. The disk delays writes, refuses them, or stores them and reports a failure. The server crashes and is
stopped. All this happens to the real arbiter, on a store in memory and in virtual time. The model knows only requests,
answers and the rules of the game. `make soak` runs many more examples.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from arbiter.errors import Reason, Refusal
from arbiter.event_json.canonical import digest
from arbiter.games.contract import Seat
from arbiter.games.registry import game
from arbiter.matches import Receipt, check_chain
from arbiter.matches.commands import AnswerDraw, ClaimDraw, OfferDraw, Play, Resign, SeatRequest
from arbiter.matches.events import Event, EventKind, Moved, Refused, Rejected
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import read
from arbiter.matches.verification import Verification
from arbiter.service.matches.live_match import Answer
from arbiter.service.play.session import AnswerItem
from arbiter.testing.clock import VirtualLoop, settle
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from tests.service.matches.live_matches import said

pytestmark = pytest.mark.long

T = TypeVar("T")

PLAYERS = ("alice", "bob")
ALONE = ("alice", "alice")
GAMES = ("pods(size=3)", "circle-of-life", "pondlife")
POLICY = Policy(illegal_moves=50, kept_refusals=1_000, abandon_ms=0, resume_ms=2_000)
NOT_AN_ANSWER = {Reason.STORE_UNAVAILABLE, Reason.DRAINING}
"""Refusals that ask for the same request again: they are not final."""


class Request(NamedTuple):
    """A request of a player.

    kind: the command; ply and move as the command has them.
    """

    player: str
    request_id: str
    kind: type[SeatRequest]
    ply: int = 0
    move: str = ""
    accept: bool = False

    def command(self, seat: Seat, now: int) -> SeatRequest:
        """Return the command, as it arrives at this time."""
        if self.kind is Play:
            return Play(seat, self.request_id, self.ply, self.move, now)
        if self.kind is AnswerDraw:
            return AnswerDraw(seat, self.request_id, self.accept)
        return self.kind(seat, self.request_id)  # type: ignore[call-arg]


class Line:
    """A game by its rules alone: the position after each of its moves."""

    def __init__(self, variant: str) -> None:
        self.game = game(variant)
        self.positions = [self.game.initial()]
        self.moves: list[str] = []

    def extend(self, moves: list[str]) -> None:
        """Continue with a longer line; the moves played so far must be its beginning."""
        assert moves[: len(self.moves)] == self.moves, "an earlier move is missing or changed"
        for move in moves[len(self.moves) :]:
            self.positions.append(self.game.play(self.positions[-1], move))
            self.moves.append(move)


class ExactlyOnce(RuleBasedStateMachine):
    """One match, and every request of its players."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=VirtualLoop)
        self.asked: dict[str, Request] = {}
        self.under_way: list[Request] = []
        self.waiting: list[tuple[Request, asyncio.Future[Answer]]] = []
        self.answers: dict[str, Answer] = {}
        self.acknowledged: dict[int, Request] = {}
        self.bots: dict[str, StreamReader] = {}

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the machine's event loop, where time is virtual."""
        return self.runner.run(work)

    @initialize(
        variant=st.sampled_from(GAMES),
        start=st.sampled_from(ClockStart),
        time=st.sampled_from(("none", "20s+1s")),
        players=st.sampled_from((PLAYERS, PLAYERS, ALONE)),
        opening_plies=st.sampled_from((0, 0, 3)),
    )
    def begin(self, variant: str, start: ClockStart, time: str, players: tuple[str, str], opening_plies: int) -> None:
        async def work() -> None:
            self.server = InMemoryArbiter()
            policy = replace(POLICY, start=start)
            match = await self.server.create(variant, players, time, policy=policy, opening=tuple(self.line.moves))
            self.match_id = match.id

        self.players = players
        self.line = Line(variant)
        for _ in range(opening_plies):
            self.line.extend([*self.line.moves, self.line.game.moves(self.line.positions[-1])[0]])
        self.opening = list(self.line.moves)
        self.run(work())

    # -- requests of the players ---------------------------------------------------------------------------------

    @rule(pick=st.integers(0, 999), copies=st.sampled_from((0, 1, 1, 1, 2, 3)), hasty=st.sampled_from((0, 0, 0, 1, 2)))
    def ask_for_a_move(self, pick: int, copies: int, hasty: int) -> None:
        """Request a legal move, or the same move for a later ply, which must never be played."""
        position = self.line.positions[-1]
        moves = sorted(self.line.game.moves(position))
        if moves:
            player = self.players[position.turn - 1]
            self.send(player, copies, Play, len(self.line.moves) + hasty, moves[pick % len(moves)])

    @rule(player=st.sampled_from(PLAYERS), back=st.integers(-1, 3), move=st.sampled_from(("a1", "?", "é" * 300)))
    def ask_for_any_move(self, player: str, back: int, move: str) -> None:
        self.send(player, 1, Play, len(self.line.moves) - back, move)

    @rule(
        player=st.sampled_from(PLAYERS),
        kind=st.sampled_from((OfferDraw, OfferDraw, AnswerDraw, ClaimDraw)),
        copies=st.sampled_from((1, 2)),
    )
    def ask_for_a_draw(self, player: str, kind: type[SeatRequest], copies: int) -> None:
        self.send(player, copies, kind)

    @rule(player=st.sampled_from(PLAYERS), accept=st.booleans())
    @precondition(lambda self: len(self.asked) > 12)
    def ask_for_the_end(self, player: str, accept: bool) -> None:
        self.send(player, 1, AnswerDraw if accept else Resign, accept=accept)

    def send(
        self, player: str, copies: int, kind: type[SeatRequest], ply: int = 0, move: str = "", accept: bool = False
    ) -> None:
        """Send copies of a new request; without copies it is lost, and may be sent again."""
        player = self.seated(player)
        request = Request(player, f"r{len(self.asked)}", kind, ply, move, accept)
        self.asked[request.request_id] = request
        self.under_way += [request] * copies

    def seated(self, player: str) -> str:
        """Return which player is at that seat: the other one, in a match against itself."""
        return self.players[PLAYERS.index(player)]

    @rule(pick=st.integers(0, 999))
    @precondition(lambda self: self.asked)
    def ask_again(self, pick: int) -> None:
        self.under_way.append(self.asked[f"r{pick % len(self.asked)}"])

    # -- faults of the network -----------------------------------------------------------------------------------

    @rule(pick=st.integers(0, 999), stream=st.booleans(), together=st.integers(1, 4))
    @precondition(lambda self: self.under_way)
    def deliver(self, pick: int, stream: bool, together: int) -> None:
        """Let some of the sent requests arrive, in any order, all at the same time."""

        async def work() -> None:
            for n in range(min(together, len(self.under_way))):
                request = self.under_way.pop((pick + n) % len(self.under_way))
                self.arrive(request, self.bots.get(request.player) if stream else None)

        self.run(work())

    def arrive(self, request: Request, bot: StreamReader | None) -> None:
        """Deliver a request to the arbiter: over the player's stream, or by a call."""
        server, now = self.server, self.server.clock.now_ms()
        if bot is None:
            answer = server.arbiter.matches.request(
                request.player, self.match_id, lambda seat: request.command(seat, now)
            )
            self.waiting.append((request, answer))
        elif request.kind is Play:
            bot.play(self.match_id, request.ply, request.move, request.request_id)
        else:
            acts, arguments = server.arbiter.acts, (bot.session, request.request_id, self.match_id)
            if request.kind is AnswerDraw:
                acts.answer_draw(*arguments, request.accept)
            else:
                {OfferDraw: acts.offer_draw, ClaimDraw: acts.claim_draw, Resign: acts.resign}[request.kind](*arguments)

    @rule(pick=st.integers(0, 999))
    @precondition(lambda self: self.under_way)
    def lose(self, pick: int) -> None:
        del self.under_way[pick % len(self.under_way)]

    @rule(player=st.sampled_from(PLAYERS))
    def connect(self, player: str) -> None:
        """Open a stream; the one before is superseded, and its unread messages are lost."""

        async def work() -> None:
            self.bots[self.seated(player)] = await self.server.connect(self.seated(player))

        self.run(work())

    @rule(player=st.sampled_from(PLAYERS))
    def cut(self, player: str) -> None:
        bot = self.bots.pop(player, None)
        if bot is not None:
            self.run(_left(bot))

    # -- faults of the server and its disk -----------------------------------------------------------------------

    @rule()
    def the_disk_stalls(self) -> None:
        self.server.journal.hold = True

    @rule(fault=st.sampled_from(("refuse", "lie")))
    def the_disk_fails(self, fault: str) -> None:
        setattr(self.server.journal, fault, True)

    @rule()
    def the_disk_is_well(self) -> None:
        self.run(self.recover())

    async def recover(self) -> None:
        """Let the disk accept writes again."""
        journal = self.server.journal
        journal.refuse = journal.lie = False
        journal.release()
        await asyncio.sleep(1.1)  # until all failed writers have tried again

    @rule()
    def crash(self) -> None:
        self.run(self.restart())

    @rule()
    def stop(self) -> None:
        async def work() -> None:
            await self.recover()
            await self.server.arbiter.matches.drain()
            await self.receive()
            await self.restart()

        self.run(work())

    async def restart(self) -> None:
        """Restart the server: streams break, and pending answers are lost."""
        self.bots.clear()
        self.waiting.clear()
        await self.server.restart()

    @rule(seconds=st.sampled_from((0.5, 3, 12)))
    def time_passes(self, seconds: float) -> None:
        self.run(asyncio.sleep(seconds))

    # -- invariants ----------------------------------------------------------------------------------------------

    @invariant()
    def answers_agree(self) -> None:
        self.run(self.check())

    async def check(self) -> None:
        """Read all messages that were sent, and compare them with the model."""
        await self.receive()
        events = await self.events()
        self.line.extend([*self.opening, *(event.move for event in events if isinstance(event, Moved))])
        self.check_record(events)
        for ply, request in self.acknowledged.items():
            assert self.line.moves[ply] == request.move, f"an acknowledged move is missing: {request}"

    async def receive(self) -> None:
        """Read all answers, on streams and to calls."""
        await settle()
        for request, answer in self.waiting:
            if answer.done():
                self.note(request, answer.result())
        self.waiting = [pair for pair in self.waiting if not pair[1].done()]
        for player, bot in self.bots.items():
            for item in await bot.receive():
                if isinstance(item, AnswerItem):
                    assert self.asked[item.request_id].player == player
                    self.note(self.asked[item.request_id], item.answer)

    def note(self, request: Request, answer: Answer) -> None:
        """Compare an answer with the earlier ones, and with the rules."""
        if isinstance(answer, Refusal) and answer.reason in NOT_AN_ANSWER:
            return
        before = self.answers.setdefault(request.request_id, answer)
        assert said(before) == said(answer), f"{request} had another answer before"
        if isinstance(answer, Receipt) and answer.kind is EventKind.MOVED:
            assert request.kind is Play
            assert answer.ply == request.ply + 1
            assert self.acknowledged.setdefault(request.ply, request) == request, "two moves for one ply"
        if isinstance(answer, Refusal) and answer.reason is Reason.PLY_MISMATCH:
            assert answer.facts["actual"] == str(request.ply) != answer.facts["expected"]

    async def events(self) -> list[Event]:
        """Return the record as it is stored."""
        return [read(record.body) for record in await self.server.journal.read(self.match_id)]

    def check_record(self, events: list[Event]) -> None:
        """Assert that each request is on record at most once, with its content and the answer that it got."""
        seen: dict[str, Event] = {}
        for event in events[1:]:
            name = getattr(event, "request", "")
            if not name:
                continue
            request, answer = self.asked[name], self.answers.get(name)
            assert name not in seen, f"{request} is on record twice: {seen[name]} and {event}"
            seen[name] = event
            if isinstance(event, Moved):
                assert (request.kind, request.ply, request.move) == (Play, event.ply, event.move)
                assert request.player == self.players[self.line.positions[event.ply].turn - 1]
            expected = Refusal if isinstance(event, Refused | Rejected) else Receipt
            assert answer is None or isinstance(answer, expected), f"{request} was answered {answer}, on record {event}"
        for name, answer in self.answers.items():
            after_the_end = isinstance(answer, Refusal) and answer.facts.get("phase") == "ended"
            assert (name in seen) != after_the_end, f"{self.asked[name]} was answered, and is not on record"

    def teardown(self) -> None:
        """Repeat every request after a last restart, and verify the record as an auditor does."""

        async def work() -> None:
            await self.recover()
            await self.restart()
            for request in self.asked.values():
                self.arrive(request, None)
            await self.check()
            assert not self.waiting, "some requests were never answered"
            assert set(self.answers) == set(self.asked)
            match = await self.server.arbiter.matches.match(self.match_id)
            assert match.text == self.line.game.text(self.line.positions[-1])
            records = [record.body for record in await self.server.journal.read(self.match_id)]
            retracing = Verification()
            for event, body in zip(check_chain(records), records, strict=True):
                retracing.step(event, digest(body))

        try:
            if hasattr(self, "server"):
                self.run(work())
        finally:
            self.runner.close()


async def _left(bot: StreamReader) -> None:
    bot.leave()


ExactlyOnce.TestCase.settings = settings(
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
test_exactly_once = pytest.mark.timeout(3_600)(ExactlyOnce.TestCase)  # many examples in the long form
