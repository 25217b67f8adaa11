"""Random matches, with misbehaving players and a server that restarts, keep the invariants of matches."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from arbiter.errors import Refusal
from arbiter.games.contract import AnyGame, Seat
from arbiter.matches import Decision, Phase, available_ms, deadline, decide, with_position
from arbiter.matches.clock import most_credit
from arbiter.matches.commands import (
    Abort,
    AnswerDraw,
    Arrive,
    ClaimDraw,
    Command,
    Interrupt,
    Interruption,
    Leave,
    OfferDraw,
    Play,
    Resign,
    Tick,
)
from arbiter.matches.events import Ended, EventKind, Moved, Refused, Resumed, Started
from arbiter.matches.policy import ClockStart, NoShow
from arbiter.matches.requests import Receipt
from tests.matches.heap import games
from tests.matches.logged_match import LoggedMatch, policy

SEATS = st.sampled_from((1, 2))
WAITS = st.sampled_from((0, 1, 40, 1_000, 9_999, 61_000)) | st.integers(0, 3_000)
GAMES = ("heap(stones=30)", "heap(stones=6,handicap=3)", "circle-of-life", "pondlife(handicap=2)")
TIMES = ("none", "20s", "5s+2s", "5s+1sd", "5s+1sb", "500ms/move+5s", "3s+2x2s", "3/10s")


class MatchMachine(RuleBasedStateMachine):
    """A match; every request is remembered with its answer, and repeated."""

    def __init__(self) -> None:
        super().__init__()
        self.logged: LoggedMatch = LoggedMatch()
        self.answers: list[tuple[Command, Receipt | Refusal]] = []
        self.recorded: list[Command] = []
        self.number = 0

    @initialize(
        game=st.sampled_from(GAMES),
        time=st.sampled_from(TIMES),
        start=st.sampled_from(ClockStart),
        no_show=st.sampled_from(NoShow),
        abandon_ms=st.sampled_from((0, 5_000)),
        both=st.booleans(),
        opening_plies=st.integers(0, 4),
        opponent=st.sampled_from(("bob", "bob", "alice")),
    )
    def begin(
        self,
        game: str,
        time: str,
        start: ClockStart,
        no_show: NoShow,
        abandon_ms: int,
        both: bool,
        opening_plies: int,
        opponent: str,
    ) -> None:
        rules = policy(start=start, no_show=no_show, abandon_ms=abandon_ms, move_cap_ms=60_000)
        opening = first_moves(games(game), opening_plies)
        self.logged = LoggedMatch(game, time, rules, opening=opening, players=("alice", opponent))
        if both:
            self.logged.do(Arrive(1))
            self.logged.do(Arrive(2))

    def ask(self, command: Command, wait: int = 0) -> Decision:
        decision = self.logged.do(command, wait)
        if not isinstance(command, Arrive | Leave | Interrupt | Tick):
            self.answers.append((command, decision.answer))
            if decision.events:
                self.recorded.append(command)
        return decision

    def request(self) -> str:
        self.number += 1
        return f"r{self.number}"

    @rule(
        pick=st.integers(0, 10_000),
        wait=WAITS,
        handed=st.none() | st.integers(0, 500),
        round_trip=st.none() | st.integers(0, 400),
    )
    def play(self, pick: int, wait: int, handed: int | None, round_trip: int | None) -> None:
        match = with_position(self.logged.match)
        moves = match.game.moves(match.position)
        if moves:
            move = moves[pick % len(moves)]
            handed_over = None if handed is None else match.since + handed
            command = Play(match.turn, self.request(), match.ply, move, self.logged.now + wait, handed_over, round_trip)
            decision = self.ask(command, wait)
            played = any(isinstance(event, Moved | Ended) for event in decision.events)
            assert (match.phase in (Phase.ACTIVE, Phase.PAUSED)) == played

    @rule(seat=SEATS, ply=st.integers(-1, 12), move=st.sampled_from(("1", "4", "pass", "", "é" * 300)), wait=WAITS)
    def play_badly(self, seat: Seat, ply: int, move: str, wait: int) -> None:
        self.ask(Play(seat, self.request(), ply, move, self.logged.now), wait)

    @rule(seat=SEATS, version=st.sampled_from(("", "1", "2")), wait=WAITS)
    def come(self, seat: Seat, version: str, wait: int) -> None:
        self.ask(Arrive(seat, version), wait)

    @rule(seat=SEATS)
    def go(self, seat: Seat) -> None:
        self.ask(Leave(seat))

    @rule(seat=SEATS)
    def offer(self, seat: Seat) -> None:
        self.ask(OfferDraw(seat, self.request()))

    @rule(seat=SEATS, accept=st.sampled_from((False, False, True)))
    def answer(self, seat: Seat, accept: bool) -> None:
        self.ask(AnswerDraw(seat, self.request(), accept))

    @rule(seat=SEATS)
    def claim(self, seat: Seat) -> None:
        self.ask(ClaimDraw(seat, self.request()))

    @rule(seat=SEATS)
    @precondition(lambda self: self.number % 10 == 9)
    def give_up(self, seat: Seat) -> None:
        self.ask(Resign(seat, self.request()))

    @rule()
    @precondition(lambda self: self.number % 20 == 19)
    def abort(self) -> None:
        self.ask(Abort("boss", self.request()))

    @rule(reason=st.sampled_from(Interruption), wait=WAITS)
    def interrupt(self, reason: Interruption, wait: int) -> None:
        self.ask(Interrupt(reason), wait)

    @rule(wait=WAITS)
    def tick(self, wait: int) -> None:
        due = deadline(self.logged.match)
        decision = self.ask(Tick(), wait)
        assert bool(decision.events) == (due is not None and self.logged.now >= due)

    @rule()
    def restart(self) -> None:
        """Go on with a replay of the match's log, the position read on trust."""
        replayed = self.logged.replayed()
        assert replayed == self.logged.match
        self.logged.match = replayed

    @rule(data=st.data(), wait=WAITS)
    @precondition(lambda self: self.answers)
    def ask_again(self, data: st.DataObject, wait: int) -> None:
        command, answer = data.draw(st.sampled_from(self.answers))
        again = self.logged.do(command, wait)
        assert again.events == ()
        assert _said(again.answer) == _said(answer)

    @rule(data=st.data())
    @precondition(lambda self: self.recorded)
    def ask_something_else(self, data: st.DataObject) -> None:
        command = data.draw(st.sampled_from(self.recorded))
        assert not isinstance(command, Arrive | Leave | Interrupt | Tick)
        caller: Any = {"seat": getattr(command, "seat", None)}
        if caller["seat"] is not None:
            other = Play(caller["seat"], command.request, 999, "1", self.logged.now)  # type: ignore[union-attr]
            decision = decide(self.logged.match, other, self.logged.now)
            assert isinstance(decision.answer, Refusal)
            assert decision.answer.reason.value == "REQUEST_ID_REUSED"

    @invariant()
    def something_is_due_until_the_end(self) -> None:
        match = self.logged.match
        assert (deadline(match) is None) == (match.phase is Phase.ENDED) == (match.result is not None)

    @invariant()
    def clocks_are_sound(self) -> None:
        match = self.logged.match
        for seat in (1, 2):
            assert 1 <= available_ms(match, seat) <= 60_000
        assert all(0 <= bank <= 10_000 for bank in match.banks)
        assert all(0 <= strikes <= 4 for strikes in match.strikes)

    def teardown(self) -> None:
        logged = self.logged
        logged.check()
        _check_events(logged)


def first_moves(game: AnyGame, plies: int) -> tuple[str, ...]:
    """Return an opening of this many plies: always the first legal move."""
    position, moves = game.initial(), []
    for _ in range(plies):
        moves.append(game.moves(position)[0])
        position = game.play(position, moves[-1])
    return tuple(moves)


def _said(answer: Receipt | Refusal) -> object:
    return (answer.reason, answer.message, answer.facts) if isinstance(answer, Refusal) else answer


def _check_events(logged: LoggedMatch) -> None:
    """Assert what any log has: every turn starts once, moves follow turns, charges are consistent, there is one end."""
    begun: int | None = None
    plies = len(logged.match.created.opening)
    limit = most_credit(logged.match.created.policy.credit, 10_000)
    for event in logged.events:
        match event:
            case Started() | Resumed():
                begun = event.at
            case Moved():
                ledger = event.ledger
                assert ledger.started == begun
                assert event.ply == plies
                assert ledger.charged == max(0, ledger.arrived - ledger.started) - ledger.credited >= 0
                assert 0 <= ledger.credited <= limit
                assert ledger.left > 0
                begun, plies = event.at, plies + 1
            case Refused():
                assert event.ply == plies
            case _:
                pass
    ends = [number for number, event in enumerate(logged.events) if isinstance(event, Ended)]
    assert ends in ([], [len(logged.events) - 1])
    assert logged.events[0].kind is EventKind.CREATED
    assert plies == logged.match.ply == len(logged.match.turns)


MatchMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
test_machine = pytest.mark.long(MatchMachine.TestCase)
