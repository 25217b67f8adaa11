"""The server stops and starts again: no player is charged for it, and no player can block the match for ever."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason
from arbiter.matches import Phase, deadline
from arbiter.matches.commands import Arrive, Interrupt, Interruption, Leave, OfferDraw, Play, Tick
from arbiter.matches.policy import ClockStart
from tests.matches.table import Table, policy, receipt, refusal, started

RESTART = Interrupt(Interruption.RESTART)
HOUR = 3_600_000


def test_the_outage_and_the_interrupted_turn_are_charged_to_nobody() -> None:
    table = started(time="1m+1s")
    table.play("1", after_ms=5_000)
    table.do(Interrupt(Interruption.DRAIN), after_ms=50_000)
    assert table.match.turn_started is None
    table.do(RESTART, after_ms=HOUR)
    assert table.kinds(Arrive(2), after_ms=20_000) == ["arrived", "resumed"]
    assert table.match.turn_started == table.now
    table.play("1", after_ms=2_000)
    assert [clock.remaining_ms for clock in table.match.clocks] == [56_000, 59_000]
    table.check()


def test_the_clock_waits_only_for_the_player_to_move() -> None:
    table = started()
    table.do(RESTART)
    assert table.kinds(Arrive(2)) == ["arrived"]
    assert table.match.phase is Phase.PAUSED
    assert table.kinds(Arrive(1), after_ms=1) == ["arrived", "resumed"]


def test_a_player_who_stays_away_does_not_block_the_match() -> None:
    table = started(policy=policy(resume_ms=30_000))
    table.do(RESTART)
    assert deadline(table.match) == table.now + 30_000
    assert table.kinds(Tick(), after_ms=29_999) == []
    assert table.kinds(Tick(), after_ms=1) == ["resumed"]
    due = deadline(table.match)
    assert due is not None
    assert table.kinds(Tick(), after_ms=due - table.now) == ["ended"]
    table.check()


def test_a_new_interruption_restarts_the_time_to_come_back() -> None:
    table = started(policy=policy(resume_ms=30_000))
    table.do(Interrupt(Interruption.DRAIN))
    table.do(RESTART, after_ms=HOUR)
    assert table.kinds(Tick()) == []
    assert deadline(table.match) == table.now + 30_000


def test_a_move_may_arrive_before_its_player_connects() -> None:
    """The move was sent before the server stopped, or is made by a call: the turn restarts with it."""
    table = started()
    table.do(RESTART, after_ms=10_000)
    move = Play(1, "r", 0, "1", table.now + 500)
    decision = table.do(move, after_ms=500)
    assert [event.kind.value for event in decision.events] == ["resumed", "moved"]
    answer = receipt(decision)
    assert (answer.revision, answer.ledger and answer.ledger.charged) == (table.match.revision, 0)
    assert table.do(move).answer == answer
    table.check()


def test_a_wrong_move_while_interrupted() -> None:
    table = started()
    table.do(RESTART)
    assert refusal(table.do(Play(2, "a", 0, "1", table.now))).reason is Reason.NOT_YOUR_TURN
    assert refusal(table.do(Play(1, "b", 1, "1", table.now))).reason is Reason.PLY_MISMATCH
    assert table.match.phase is Phase.PAUSED
    illegal = table.do(Play(1, "c", 0, "4", table.now))
    assert [event.kind.value for event in illegal.events] == ["resumed", "refused"]
    table.check()


def test_an_offer_and_the_strikes_survive_an_interruption() -> None:
    table = started()
    table.do(OfferDraw(2, "a"))
    table.play("x")
    table.do(RESTART)
    assert table.match.offer is not None
    assert table.match.strikes == (1, 0)
    table.check()


def test_the_outage_is_nobody_s_absence() -> None:
    table = started(time="10m", policy=policy(abandon_ms=60_000, resume_ms=30_000))
    table.do(Leave(2))
    table.do(RESTART, after_ms=50_000)
    table.do(Arrive(1), after_ms=30_000)
    assert deadline(table.match) == table.now + 60_000
    table.do(Tick(), after_ms=60_000)
    assert table.match.result is not None
    assert (table.match.result.reason, table.match.result.seat) == ("abandonment", 2)
    table.check()


def test_a_player_who_never_connected_has_not_abandoned_the_match() -> None:
    table = Table(time="10m", policy=policy(start=ClockStart.AT_ONCE, abandon_ms=1_000))
    table.do(RESTART)
    table.do(Tick(), after_ms=30_000)
    assert table.match.phase is Phase.ACTIVE
    assert table.kinds(Tick(), after_ms=599_000) == []


@pytest.mark.parametrize("reason", Interruption)
def test_the_time_to_wait_for_players_restarts(reason: Interruption) -> None:
    table = Table(policy=policy(no_show_ms=1_000))
    table.do(Arrive(1))
    table.do(Interrupt(reason), after_ms=999)
    assert table.match.phase is Phase.PENDING
    assert table.match.present == (False, False)
    assert deadline(table.match) == table.now + 1_000
    table.do(Arrive(1))
    assert table.kinds(Arrive(2)) == ["arrived", "started"]
    table.check()


def test_every_match_has_a_next_deadline_before_its_end() -> None:
    """No match can be stuck: every phase but the last has a deadline, and passing the deadlines leads to the end."""
    for time in ("none", "1m", "40/30m"):
        for begin in (lambda time=time: Table(time=time), lambda time=time: started(time=time)):
            table = begin()
            table.do(RESTART)
            steps = 0
            while (due := deadline(table.match)) is not None:
                assert table.do(Tick(), after_ms=max(0, due - table.now)).events
                steps += 1
                assert steps < 5
            table.check()
