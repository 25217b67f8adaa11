"""Exactly once: a repeated request gets the same answer."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.matches import decide, evolve
from arbiter.matches.commands import (
    Abort,
    Adjudicate,
    AnswerDraw,
    Arrive,
    ClaimDraw,
    Command,
    CommandName,
    Interrupt,
    Interruption,
    OfferDraw,
    Play,
    RequestContent,
    Resign,
    ResultKind,
    Text,
    Tick,
)
from arbiter.matches.events import EventKind, Rejected
from arbiter.matches.requests import Answered, Receipt, Requests
from tests.matches.logged_match import LoggedMatch, policy, receipt, refusal, started


def same(first: Receipt | Refusal, second: Receipt | Refusal) -> bool:
    """Return whether two answers are equal."""
    if isinstance(first, Refusal) and isinstance(second, Refusal):
        return (first.reason, first.message, first.facts) == (second.reason, second.message, second.facts)
    return first == second


def assert_repeats(logged: LoggedMatch, command: Command, answer: Receipt | Refusal) -> None:
    """Assert that a repeated request gets its answer, also after a restart, and adds nothing to the record."""
    for match in (logged.match, logged.replayed()):
        again = decide(match, command, logged.now + 5)
        assert again.events == ()
        assert same(again.answer, answer)


CASES: list[tuple[str, list[Command], Command]] = [
    ("a move", [], Play(1, "r", 0, "1", 0)),
    ("a move that ends the game", [], Play(1, "r", 0, "2", 0)),
    ("an illegal move", [], Play(1, "r", 0, "3", 0)),
    ("a malformed move", [], Play(1, "r", 0, "x" * 500, 0)),
    ("the illegal move that loses", [Play(1, "a", 0, "3", 0)], Play(1, "r", 0, "3", 0)),
    ("a draw offer", [], OfferDraw(2, "r")),
    ("a draw declined", [OfferDraw(2, "a")], AnswerDraw(1, "r", False)),
    ("a draw accepted", [OfferDraw(2, "a")], AnswerDraw(1, "r", True)),
    ("a draw accepted by the other", [OfferDraw(1, "a")], AnswerDraw(2, "r", True)),
    ("a claim", [], ClaimDraw(1, "r")),
    ("a resignation", [], Resign(2, "r")),
    ("an abort", [], Abort("boss", "r", "why")),
    ("an adjudication", [], Adjudicate("boss", "r", ResultKind.WIN, 2, "why")),
    ("an adjudication by tables", [], Adjudicate("boss", "r", ResultKind.WIN, 2, "why", by_tables=True)),
    ("a move for a ply to come", [], Play(1, "r", 1, "1", 0)),
    ("a long move for a ply to come", [], Play(2, "r", 7, "é" * 500, 0)),
    ("a move for a ply that is over", [], Play(1, "r", -1, "1", 0)),
    ("a move out of turn", [], Play(2, "r", 0, "1", 0)),
    ("an offer too many", [OfferDraw(2, "a")], OfferDraw(1, "r")),
    ("an answer to no offer", [], AnswerDraw(1, "r", True)),
    ("an answer to an offer of one's own", [OfferDraw(1, "a")], AnswerDraw(1, "r", False)),
    ("a claim out of turn", [], ClaimDraw(2, "r")),
]


@pytest.mark.parametrize(("before", "command"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
@pytest.mark.parametrize("interrupted", [False, True])
def test_the_same_request_gets_the_same_answer(before: list[Command], command: Command, interrupted: bool) -> None:
    logged = started("heap(stones=2)", policy=policy(illegal_moves=2))
    for earlier in before:
        logged.do(earlier)
    if interrupted:
        logged.do(Interrupt(Interruption.RESTART))
    decision = logged.do(command, after_ms=1)
    assert decision.events
    assert_repeats(logged, command, decision.answer)
    for later in (Interrupt(Interruption.RESTART), Arrive(1), Arrive(2), Tick(), Abort("boss", "end")):
        logged.do(later, after_ms=1)
        assert_repeats(logged, command, decision.answer)
    logged.check()


def test_a_receipt_stays_the_same_when_the_match_ends_for_another_reason() -> None:
    logged = started("heap(stones=9)")
    move = Play(1, "r", 0, "1", logged.now)
    answer = logged.do(move).answer
    logged.do(ClaimDraw(2, "even"))
    assert_repeats(logged, move, answer)


@pytest.mark.parametrize(
    "command",
    [Play(1, "r", 0, "1", 0), OfferDraw(2, "r"), AnswerDraw(1, "r", False), ClaimDraw(1, "r"), Resign(2, "r")],
)
def test_a_request_refused_before_the_start_is_not_carried_out_after_it(command: Command) -> None:
    logged = LoggedMatch("heap(stones=2)")
    answer = refusal(logged.do(command))
    assert (answer.reason, answer.facts) == (Reason.MATCH_NOT_ACTIVE, {"phase": "pending", "outcome": "none"})
    for later in (Arrive(1), Arrive(2), OfferDraw(2, "peace?"), Interrupt(Interruption.RESTART), Abort("boss", "end")):
        logged.do(later, after_ms=1)
        assert_repeats(logged, command, answer)
    logged.check()


def test_a_refused_move_is_not_played_when_its_ply_comes() -> None:
    logged = started()
    hasty = Play(1, "hasty", 2, "1", logged.now)
    answer = refusal(logged.do(hasty))
    assert (answer.reason, answer.facts) == (Reason.PLY_MISMATCH, {"expected": "0", "actual": "2"})
    logged.play("1")
    logged.play("1")
    assert (logged.match.ply, logged.match.turn) == (2, 1)
    assert_repeats(logged, hasty, answer)
    assert receipt(logged.do(Play(1, "in time", 2, "1", logged.now))).kind is EventKind.MOVED


def test_a_rejection_is_answered_from_the_record_alone() -> None:
    logged = started()
    decision = logged.do(Play(1, "r", 5, "1", logged.now))
    assert decision.events == (
        Rejected(
            logged.now,
            1,
            "r",
            RequestContent(CommandName.PLAY, 5, Text("1")),
            Reason.PLY_MISMATCH,
            "the match is at ply 0, the move is for ply 5: read the match again",
            (("actual", "5"), ("expected", "0")),
        ),
    )
    assert list(refusal(decision).facts) == ["actual", "expected"]


def test_a_match_keeps_as_many_refusals_of_a_player_as_its_policy_says() -> None:
    logged = started(policy=policy(kept_refusals=2))
    kept = [logged.do(Play(1, f"kept {n}", 2, "1", logged.now)) for n in range(2)]
    beyond = Play(1, "beyond", 2, "1", logged.now)
    assert refusal(logged.do(beyond)).reason is Reason.PLY_MISMATCH
    assert [len(decision.events) for decision in kept] == [1, 1]
    assert logged.match.rejected == (2, 0)
    assert logged.do(OfferDraw(2, "other")).events
    assert logged.do(ClaimDraw(2, "the other player's are its own")).events
    logged.play("1")
    logged.play("1")
    for n, decision in enumerate(kept):
        assert_repeats(logged, Play(1, f"kept {n}", 2, "1", logged.now), decision.answer)
    assert receipt(logged.do(beyond)).kind is EventKind.MOVED  # judged again
    logged.check()


def test_requests_that_no_match_could_carry_out_are_refused_and_not_recorded() -> None:
    logged = started()
    requests: list[Command] = [
        Resign(1, ""),
        Play(1, "r", 2**60, "1", 0),
        Abort("boss", "r", "x" * 501),
        Adjudicate("boss", "r", ResultKind.DRAW, 1),
        Adjudicate("boss", "r", ResultKind.WIN, 0),
    ]
    answers = [logged.do(command) for command in requests]
    assert {refusal(answer).reason for answer in answers} == {Reason.ARGUMENT_INVALID}
    assert not any(answer.events for answer in answers)
    logged.do(Abort("boss", "r"))
    for command, answer in zip(requests, answers, strict=True):
        assert_repeats(logged, command, answer.answer)


def test_after_the_end_every_refusal_stays_the_same() -> None:
    logged = started("heap(stones=1)")
    logged.play("1")
    for command in (Play(2, "a", 1, "1", logged.now), Play(1, "b", 0, "1", logged.now), OfferDraw(1, "c")):
        answer = refusal(logged.do(command))
        assert answer.facts == {"phase": "ended", "outcome": "1 last_stone"}
        assert_repeats(logged, command, answer)
    logged.check()


@pytest.mark.parametrize(
    "other",
    [
        Play(1, "r", 0, "2", 0),
        Play(1, "r", 2, "1", 0),
        Play(1, "r", 1, "1", 0),
        OfferDraw(1, "r"),
        AnswerDraw(1, "r", True),
        AnswerDraw(1, "r", False),
        ClaimDraw(1, "r"),
        Resign(1, "r"),
        Abort("alice", "r"),
    ],
)
def test_the_same_id_on_another_request_is_refused(other: Command) -> None:
    logged = started()
    logged.do(Play(1, "r", 0, "1", logged.now))
    answer = refusal(logged.do(other))
    assert answer.reason is Reason.REQUEST_ID_REUSED
    assert answer.facts == {"request_id": "r"}
    logged.check()


def test_each_player_has_request_ids_of_its_own() -> None:
    logged = started()
    first = receipt(logged.do(Play(1, "r", 0, "1", logged.now)))
    second = receipt(logged.do(Play(2, "r", 1, "1", logged.now)))
    third = receipt(logged.do(Abort("boss", "r")))
    assert (first.revision, second.revision, third.revision) == (5, 6, 7)


def test_the_time_of_sending_is_no_part_of_a_request() -> None:
    logged = started()
    answer = logged.do(Play(1, "r", 0, "1", logged.now, logged.now, 20)).answer
    assert_repeats(logged, Play(1, "r", 0, "1", logged.now + 9_999), answer)


def test_a_long_legal_move_is_a_move_like_any_other() -> None:
    logged = started("wordy-heap")
    move = Play(1, "r", 0, "2" * 300, logged.now)
    answer = receipt(logged.do(move))
    assert answer.kind is EventKind.MOVED
    assert_repeats(logged, move, answer)
    logged.check()


def test_two_racing_moves() -> None:
    logged = started()
    assert receipt(logged.do(Play(1, "first", 0, "1", logged.now))).kind is EventKind.MOVED
    loser = Play(1, "second", 0, "2", logged.now)
    answer = refusal(logged.do(loser))
    assert (answer.reason, answer.facts) == (Reason.PLY_MISMATCH, {"expected": "1", "actual": "0"})
    logged.play("3")
    assert_repeats(logged, loser, answer)


def test_a_seat_that_was_not_to_move_gets_the_same_refusal_for_ever() -> None:
    logged = started("heap(stones=3,handicap=1)")
    hasty = Play(2, "hasty", 1, "1", logged.now)
    logged.play("1")
    answer = logged.do(hasty).answer
    assert isinstance(answer, Refusal)
    assert answer.reason is Reason.NOT_YOUR_TURN
    logged.play("1")
    assert_repeats(logged, hasty, answer)
    logged.play("1")
    assert logged.match.result is not None
    assert_repeats(logged, hasty, answer)


def test_a_seat_that_was_not_to_move_at_the_end_gets_the_same_refusal_for_ever() -> None:
    logged = started()
    hasty = Play(2, "hasty", 0, "1", logged.now)
    answer = logged.do(hasty).answer
    logged.do(Resign(1, "enough"))
    assert_repeats(logged, hasty, answer)


@pytest.mark.parametrize("request_id", ["", "x" * 101, "a\nb", "\ud800"])
def test_request_ids_have_bounds(request_id: str) -> None:
    logged = started()
    assert refusal(logged.do(Resign(1, request_id))).reason is Reason.ARGUMENT_INVALID


def answered(number: int) -> Answered:
    return Answered(RequestContent(CommandName.PLAY, number, Text("1")), Receipt(number, EventKind.MOVED, number))


def test_old_versions_of_a_match_do_not_change() -> None:
    empty = Requests()
    one = empty.with_answer("alice", "a", answered(1))
    two = one.with_answer("alice", "b", answered(2))
    assert (len(empty), len(one), len(two)) == (0, 1, 2)
    assert empty.find("alice", "a") is None
    assert one.find("alice", "b") is None
    assert two.find("alice", "a") == answered(1)
    assert two.find("bob", "a") is None


def test_two_continuations_of_an_old_version_are_independent() -> None:
    one = Requests().with_answer("alice", "a", answered(1))
    two = one.with_answer("alice", "b", answered(2))
    other = one.with_answer("alice", "b", answered(3)).with_answer("alice", "c", answered(4))
    assert two.find("alice", "b") == answered(2)
    assert other.find("alice", "b") == answered(3)
    assert two.find("alice", "c") is None
    assert two != other
    assert two == Requests().with_answer("alice", "a", answered(1)).with_answer("alice", "b", answered(2))


def test_a_decision_that_was_not_stored_leaves_no_trace() -> None:
    logged = started()
    lost = decide(logged.match, Play(1, "r", 0, "3", logged.now), logged.now)
    evolve(logged.match, lost.events[0])
    answer = receipt(logged.do(Play(1, "r", 0, "1", logged.now)))
    assert answer.kind is EventKind.MOVED
    assert logged.match.text == "20 2 0"
    logged.check()
