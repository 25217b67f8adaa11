"""A move: the order of its checks, strikes, the ledger, the flag."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason
from arbiter.event_json.canonical import digest
from arbiter.matches import Phase, available_ms, claimable, deadline
from arbiter.matches.clock import Ledger
from arbiter.matches.commands import AnswerDraw, Arrive, ClaimDraw, Command, OfferDraw, Play
from arbiter.matches.events import EventKind
from arbiter.matches.policy import ClockStart
from tests.matches.logged_match import LoggedMatch, policy, receipt, refusal, started


def test_a_move_is_refused_for_the_most_serious_reason() -> None:
    """The ply is checked before the seat, the seat before the flag, the flag before the move itself."""
    logged = started("heap(stones=4)", time="1s")
    late = logged.now + 5_000
    wrong_everything = refusal(logged.do(Play(2, "a", 7, "rubbish", late)))
    assert wrong_everything.reason is Reason.PLY_MISMATCH
    assert wrong_everything.facts == {"expected": "0", "actual": "7"}
    wrong_seat = refusal(logged.do(Play(2, "b", 0, "rubbish", late)))
    assert wrong_seat.reason is Reason.NOT_YOUR_TURN
    assert wrong_seat.facts == {"seat": "2", "turn": "1"}
    assert logged.match.strikes == (0, 0)
    too_late = logged.do(Play(1, "c", 0, "rubbish", late), after_ms=5_000)
    assert [event.kind for event in too_late.events] == [EventKind.ENDED]
    assert logged.match.strikes == (0, 0)


@pytest.mark.parametrize("ply", [-1, 1, 2**31 - 1])
def test_a_move_for_another_ply_is_refused(ply: int) -> None:
    logged = started()
    assert refusal(logged.do(Play(1, "a", ply, "1", logged.now))).reason is Reason.PLY_MISMATCH


def test_a_malformed_and_an_illegal_move() -> None:
    logged = started("heap(stones=2)")
    malformed = refusal(logged.play("nonsense"))
    assert malformed.reason is Reason.MOVE_MALFORMED
    assert malformed.facts == {"move": "nonsense", "game": "heap(stones=2)", "strikes_left": "3"}
    illegal = refusal(logged.play("3"))
    assert illegal.reason is Reason.MOVE_ILLEGAL
    assert illegal.facts == {"move": "3", "position": "2 1 0", "ply": "0", "strikes_left": "2"}
    assert logged.match.strikes == (2, 0)
    logged.check()


def test_strikes_are_counted_by_player_and_over_the_whole_match() -> None:
    logged = started()
    for _ in range(3):
        logged.play("x")
        logged.play("1")
        logged.play("y")
        logged.play("1")
    assert logged.match.strikes == (3, 3)
    logged.play("x")
    assert logged.match.phase is Phase.ENDED


def test_the_clock_keeps_running_through_refusals() -> None:
    logged = started(time="10s")
    logged.play("x", after_ms=4_000)
    logged.play("1", after_ms=5_000)
    assert logged.match.clocks[0].remaining_ms == 1_000


@pytest.mark.parametrize("move", ["", "x" * 201, "é" * 100_000, "\ud800", "\0", "1 ", "１"])
def test_hostile_texts_are_recorded_in_part(move: str) -> None:
    logged = started()
    decision = logged.play(move, request="r")
    assert refusal(decision).reason is Reason.MOVE_MALFORMED
    assert len(logged.log[-1]) < 2_000
    again = logged.do(Play(1, "r", 0, move, logged.now))
    assert again.events == ()
    assert (refusal(again).reason, refusal(again).facts) == (refusal(decision).reason, refusal(decision).facts)
    logged.check()


def test_a_long_text_is_recorded_by_its_digest() -> None:
    logged = started()
    logged.play("x" * 300, request="r")
    assert f'"move_digest":"{digest(b"x" * 300)}"'.encode() in logged.log[-1]
    other = refusal(logged.do(Play(1, "r", 0, "x" * 299 + "y", logged.now)))
    assert other.reason is Reason.REQUEST_ID_REUSED


def test_the_ledger_of_a_move() -> None:
    logged = started(time="1m+1s")
    begun = logged.match.turn_started
    assert begun is not None
    move = Play(1, "r", 0, "2", begun + 2_000, begun + 40, 60)
    decision = logged.do(move, after_ms=2_345)  # the server was slow after the arrival
    ledger = receipt(decision).ledger
    assert ledger == Ledger(begun, begun + 40, begun + 2_000, 60, credited=100, charged=1_900, left=58_100)
    assert logged.match.clocks[0].remaining_ms == 59_100
    assert logged.match.banks == (10_000, 10_000)
    assert logged.match.turn_started == begun + 2_345  # the next clock starts with the event
    logged.check()


def test_a_move_without_a_stream_gets_no_credit() -> None:
    logged = started()
    logged.do(Play(1, "r", 0, "2", logged.now + 1_000, None, 200), after_ms=1_000)
    assert logged.match.clocks[0].remaining_ms == 59_000


def test_a_move_that_arrived_before_its_turn_is_charged_nothing() -> None:
    logged = started()
    logged.play("1", after_ms=100)
    ledger = receipt(logged.do(Play(2, "r", 1, "1", logged.now - 90))).ledger
    assert ledger is not None
    assert (ledger.credited, ledger.charged) == (0, 0)
    logged.check()


def test_an_arrival_time_in_the_future_counts_as_now() -> None:
    logged = started(time="1s")
    ledger = receipt(logged.do(Play(1, "r", 0, "1", logged.now + 10**9), after_ms=400)).ledger
    assert ledger is not None
    assert ledger.charged == 400


def test_a_move_is_in_time_by_its_arrival_however_late_it_is_decided() -> None:
    logged = started(time="1s")
    decision = logged.do(Play(1, "r", 0, "1", logged.now + 999), after_ms=60_000)
    assert [event.kind for event in decision.events] == [EventKind.MOVED]
    assert logged.match.clocks[0].remaining_ms == 1


def test_credit_can_save_a_move() -> None:
    logged = started(time="1s")
    begun = logged.now
    logged.do(Play(1, "r", 0, "1", begun + 1_399, begun + 100, 300), after_ms=1_399)
    assert logged.match.clocks[0].remaining_ms == 1
    assert logged.match.banks == (9_950, 10_000)
    logged.check()


def test_a_late_move_is_answered_with_the_end() -> None:
    logged = started(time="1s")
    begun = logged.now
    late = Play(1, "r", 0, "1", begun + 1_400, begun + 100, 300)
    answer = receipt(logged.do(late, after_ms=1_400))
    assert (answer.kind, answer.revision) == (EventKind.ENDED, logged.match.revision)
    assert answer.ledger == Ledger(begun, begun + 100, begun + 1_400, 300, credited=400, charged=1_000, left=0)
    assert answer.result is not None
    assert (answer.result.winner, answer.result.reason) == (2, "time")
    assert logged.do(late).answer == answer
    logged.check()


def test_the_deadline_includes_the_credit_in_the_bank() -> None:
    logged = started(time="5s", policy=policy(abandon_ms=0))
    for ply in range(0, 4, 2):
        logged.do(Play(1, f"r{ply}", ply, "1", logged.now + 300, logged.now, 300), after_ms=300)
        logged.play("1")
    assert logged.match.banks[0] == 9_900
    assert deadline(logged.match) == logged.now + 5_000 + 100 + 300
    assert available_ms(logged.match, 1) == 5_000


def test_a_draw_offer_is_open_until_the_opponent_moves() -> None:
    logged = started()
    assert receipt(logged.do(OfferDraw(1, "a"))).kind is EventKind.DRAW_OFFERED
    logged.play("1")  # a move of the player who offers leaves it open
    offer = logged.match.offer
    assert offer is not None
    logged.play("1")
    assert logged.match.offer is None
    answer = refusal(logged.do(AnswerDraw(2, "b", True)))
    assert (answer.reason, answer.facts) == (
        Reason.DRAW_NOT_AVAILABLE,
        {"why": "there is no offer of the opponent"},
    )
    logged.check()


def test_a_seat_may_offer_one_draw_at_a_time_and_one_in_a_ply() -> None:
    logged = started()
    logged.do(OfferDraw(1, "a"))
    assert refusal(logged.do(OfferDraw(2, "b"))).facts == {"why": "an offer stands already"}
    logged.do(AnswerDraw(2, "c", False))
    assert refusal(logged.do(OfferDraw(1, "d"))).facts == {"why": "one offer a ply is allowed"}
    assert receipt(logged.do(OfferDraw(2, "e"))).kind is EventKind.DRAW_OFFERED
    logged.do(AnswerDraw(1, "f", False))
    logged.play("1")
    assert receipt(logged.do(OfferDraw(1, "g"))).kind is EventKind.DRAW_OFFERED
    logged.check()


def test_games_without_draw_offers() -> None:
    logged = started("circle-of-life")
    assert refusal(logged.do(OfferDraw(1, "a"))).facts == {"why": "Circle of Life knows no draw offers"}


def test_a_draw_offer_does_not_make_a_move_stale() -> None:
    logged = started()
    move = Play(1, "r", 0, "1", logged.now)
    logged.do(OfferDraw(2, "a"))
    assert receipt(logged.do(move)).kind is EventKind.MOVED


def test_a_wrong_claim_of_a_draw() -> None:
    logged = started("heap(stones=11)")
    assert claimable(logged.match) is None
    assert refusal(logged.do(ClaimDraw(1, "a"))).reason is Reason.DRAW_NOT_AVAILABLE
    logged.play("1")
    assert claimable(logged.match) == "even"
    assert refusal(logged.do(ClaimDraw(1, "b"))).reason is Reason.NOT_YOUR_TURN
    assert receipt(logged.do(ClaimDraw(2, "a"))).kind is EventKind.ENDED
    assert claimable(logged.match) is None


@pytest.mark.parametrize("command", [Arrive(1), Arrive(2)])
def test_an_arrival_is_recorded_once(command: Command) -> None:
    logged = LoggedMatch(policy=policy(start=ClockStart.AT_ONCE))
    assert logged.kinds(command) == ["arrived"]
    unchanged = receipt(logged.do(command))
    assert (unchanged.kind, unchanged.revision) == (None, logged.match.revision)


def test_with_time_odds_each_seat_has_its_own_clock() -> None:
    logged = started("heap(stones=30)", time="1m+2s:300ms/move+1s")
    assert [clock.remaining_ms for clock in logged.match.clocks] == [60_000, 1_000]
    assert (available_ms(logged.match, 1), available_ms(logged.match, 2)) == (60_000, 1_300)
    logged.play("1", after_ms=5_000)
    logged.play("1", after_ms=700)
    assert [clock.remaining_ms for clock in logged.match.clocks] == [57_000, 600]
    logged.play("1", after_ms=10)
    assert available_ms(logged.match, 2) == 900
    ended = logged.play("1", after_ms=900).events[-1]
    assert (ended.kind, logged.match.result.winner if logged.match.result else 0) == (EventKind.ENDED, 1)
    logged.check()
