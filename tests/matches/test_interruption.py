"""The server stops and starts again: no player is charged for it, and no player can block the match for ever."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason
from arbiter.matches import Phase, deadline
from arbiter.matches.commands import Arrive, Interrupt, Interruption, Leave, OfferDraw, Play, Tick
from arbiter.matches.policy import ClockStart
from tests.matches.logged_match import LoggedMatch, policy, receipt, refusal, started

RESTART = Interrupt(Interruption.RESTART)
HOUR = 3_600_000


def test_the_outage_and_the_interrupted_turn_are_charged_to_nobody() -> None:
    logged = started(time="1m+1s")
    logged.play("1", after_ms=5_000)
    logged.do(Interrupt(Interruption.DRAIN), after_ms=50_000)
    turn_started = logged.match.turn_started
    assert turn_started is None
    logged.do(RESTART, after_ms=HOUR)
    assert logged.kinds(Arrive(2), after_ms=20_000) == ["arrived", "resumed"]
    assert logged.match.turn_started == logged.now
    logged.play("1", after_ms=2_000)
    assert [clock.remaining_ms for clock in logged.match.clocks] == [56_000, 59_000]
    logged.check()


def test_the_clock_waits_only_for_the_player_to_move() -> None:
    logged = started()
    logged.do(RESTART)
    assert logged.kinds(Arrive(2)) == ["arrived"]
    assert logged.match.phase is Phase.PAUSED
    assert logged.kinds(Arrive(1), after_ms=1) == ["arrived", "resumed"]


def test_the_turn_of_one_player_alone_may_be_interrupted() -> None:
    logged = started()
    first, second = logged.match.players
    began = logged.match.turn_started
    assert began is not None
    assert logged.kinds(Interrupt(Interruption.RESTART, second), after_ms=1) == []
    assert logged.kinds(Interrupt(Interruption.RESTART, first, began - 1)) == []
    assert logged.kinds(Interrupt(Interruption.RESTART, first, began)) == ["interrupted"]
    assert logged.kinds(Interrupt(Interruption.RESTART, first)) == [], "no clock runs"
    assert logged.kinds(Arrive(1)) == ["arrived", "resumed"]
    assert logged.kinds(Interrupt(Interruption.RESTART, first)) == ["interrupted"]
    logged.check()


def test_a_player_who_stays_away_does_not_block_the_match() -> None:
    logged = started(policy=policy(resume_ms=30_000))
    logged.do(RESTART)
    assert deadline(logged.match) == logged.now + 30_000
    assert logged.kinds(Tick(), after_ms=29_999) == []
    assert logged.kinds(Tick(), after_ms=1) == ["resumed"]
    due = deadline(logged.match)
    assert due is not None
    assert logged.kinds(Tick(), after_ms=due - logged.now) == ["ended"]
    logged.check()


def test_a_new_interruption_restarts_the_time_to_come_back() -> None:
    logged = started(policy=policy(resume_ms=30_000))
    logged.do(Interrupt(Interruption.DRAIN))
    logged.do(RESTART, after_ms=HOUR)
    assert logged.kinds(Tick()) == []
    assert deadline(logged.match) == logged.now + 30_000


def test_a_move_may_arrive_before_its_player_connects() -> None:
    """The move was sent before the server stopped, or is made by a call: the turn restarts with it."""
    logged = started()
    logged.do(RESTART, after_ms=10_000)
    move = Play(1, "r", 0, "1", logged.now + 500)
    decision = logged.do(move, after_ms=500)
    assert [event.kind.value for event in decision.events] == ["resumed", "moved"]
    answer = receipt(decision)
    assert (answer.revision, answer.ledger and answer.ledger.charged) == (logged.match.revision, 0)
    assert logged.do(move).answer == answer
    logged.check()


def test_a_wrong_move_while_interrupted() -> None:
    logged = started()
    logged.do(RESTART)
    assert refusal(logged.do(Play(2, "a", 0, "1", logged.now))).reason is Reason.NOT_YOUR_TURN
    assert refusal(logged.do(Play(1, "b", 1, "1", logged.now))).reason is Reason.PLY_MISMATCH
    assert logged.match.phase is Phase.PAUSED
    illegal = logged.do(Play(1, "c", 0, "4", logged.now))
    assert [event.kind.value for event in illegal.events] == ["resumed", "refused"]
    logged.check()


def test_an_offer_and_the_strikes_survive_an_interruption() -> None:
    logged = started()
    logged.do(OfferDraw(2, "a"))
    logged.play("x")
    logged.do(RESTART)
    assert logged.match.offer is not None
    assert logged.match.strikes == (1, 0)
    logged.check()


def test_the_outage_is_nobody_s_absence() -> None:
    logged = started(time="10m", policy=policy(abandon_ms=60_000, resume_ms=30_000))
    logged.do(Leave(2))
    logged.do(RESTART, after_ms=50_000)
    logged.do(Arrive(1), after_ms=30_000)
    assert deadline(logged.match) == logged.now + 60_000
    logged.do(Tick(), after_ms=60_000)
    assert logged.match.result is not None
    assert (logged.match.result.reason, logged.match.result.seat) == ("abandonment", 2)
    logged.check()


def test_a_player_who_never_connected_has_not_abandoned_the_match() -> None:
    logged = LoggedMatch(time="10m", policy=policy(start=ClockStart.AT_ONCE, abandon_ms=1_000))
    logged.do(RESTART)
    logged.do(Tick(), after_ms=30_000)
    assert logged.match.phase is Phase.ACTIVE
    assert logged.kinds(Tick(), after_ms=599_000) == []


@pytest.mark.parametrize("reason", Interruption)
def test_the_time_to_wait_for_players_restarts(reason: Interruption) -> None:
    logged = LoggedMatch(policy=policy(no_show_ms=1_000))
    logged.do(Arrive(1))
    logged.do(Interrupt(reason), after_ms=999)
    assert logged.match.phase is Phase.PENDING
    assert logged.match.present == (False, False)
    assert deadline(logged.match) == logged.now + 1_000
    logged.do(Arrive(1))
    assert logged.kinds(Arrive(2)) == ["arrived", "started"]
    logged.check()


def test_every_match_has_a_next_deadline_before_its_end() -> None:
    """No match can be stuck: every phase but the last has a deadline, and passing the deadlines leads to the end."""
    for time in ("none", "1m", "40/30m"):
        for logged in (LoggedMatch(time=time), started(time=time)):
            logged.do(RESTART)
            steps = 0
            while (due := deadline(logged.match)) is not None:
                assert logged.do(Tick(), after_ms=max(0, due - logged.now)).events
                steps += 1
                assert steps < 5
            logged.check()
