"""Ends by adjudication: each happens at the right ply, and every reader of the record computes the same end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import Reason, Refusal
from arbiter.event_json.canonical import digest
from arbiter.games.registry import game as registered
from arbiter.matches import Match, create, read, replay
from arbiter.matches.adjudication import (
    BOUNDS,
    EVEN,
    AdjudicationRules,
    Lead,
    ScoreClaim,
    agreed_level,
    agreed_winner,
    check,
)
from arbiter.matches.commands import Create, Interrupt, Interruption, Play
from arbiter.matches.comments import Comment
from arbiter.matches.events import Cause, Created, Ended, Event, Moved, Party
from arbiter.matches.evolution import ContradictionError, evolve
from arbiter.matches.verification import Verification
from tests.matches.heap import games
from tests.matches.logged_match import NOON, LoggedMatch, started

SECRET = bytes.fromhex(digest(b"key"))
LENGTH, MATERIAL = "adjudicated_length", "adjudicated_material"
EVALUATION, LEVEL = "adjudicated_evaluation", "adjudicated_level"


def ruled(rules: AdjudicationRules, game: str = "heap(stones=1000)", opening: tuple[str, ...] = ()) -> LoggedMatch:
    """Return a match with adjudication rules and encrypted comments."""
    logged = started(game, rules=rules, opening=opening)
    logged.match = replace(logged.match, secret=SECRET)
    return logged


def say(logged: LoggedMatch, *evaluations: int | None, move: str = "1") -> None:
    """Play moves with these evaluations by their movers, until the match ends."""
    for evaluation in evaluations:
        match = logged.match
        if match.result is not None:
            return
        comment = None if evaluation is None else Comment(evaluation)
        logged.do(Play(match.turn, f"r{match.revision}", match.ply, move, logged.now, comment=comment))


def verified(events: Sequence[Event]) -> Match:
    """Verify events as an auditor does, without their bytes."""
    retracing = Verification(games)
    for event in events:
        retracing.step(replace(event), "")
    assert retracing.due is None
    assert retracing.match is not None
    return retracing.match


def end(logged: LoggedMatch) -> tuple[str, int]:
    """Return the reason and winner of the end; assert that every reader of the record computes the same."""
    match = logged.match
    assert match.result is not None
    assert (match.result.cause, match.result.party, match.result.by) == (Cause.ORGANISER, Party.ORGANISER, "")
    assert verified(logged.events).result == match.result
    logged.match = replace(match, secret=b"")
    logged.check()
    return match.result.reason, match.result.winner


class TestLength:
    def test_the_last_ply_brings_the_end(self) -> None:
        logged = ruled(AdjudicationRules(plies=5))
        for _ in range(4):
            logged.play("1")
        assert logged.match.result is None
        decision = logged.play("1")
        assert [type(event) for event in decision.events] == [Moved, Ended]
        assert end(logged) == (LENGTH, 0)

    def test_the_opening_counts(self) -> None:
        logged = ruled(AdjudicationRules(plies=3), opening=("1", "1"))
        logged.play("1")
        assert end(logged) == (LENGTH, 0)

    def test_the_rules_of_the_game_are_applied_first(self) -> None:
        logged = started("heap(stones=2)", rules=AdjudicationRules(plies=2))
        logged.play("1")
        logged.play("1")
        assert logged.match.result is not None
        assert logged.match.result.reason == "last_stone"
        verified(logged.events)
        logged.check()

    def test_a_record_that_goes_on_after_its_maximal_length_is_found(self) -> None:
        logged = ruled(AdjudicationRules(plies=2))
        logged.play("1")
        logged.play("1")
        longer = ruled(AdjudicationRules(plies=9))
        for _ in range(3):
            longer.play("1")
        forged = [logged.events[0], *longer.events[1:]]
        with pytest.raises(ContradictionError, match="expected ended"):
            verified(forged)
        early = [*longer.events, replace(logged.events[-1], at=longer.now)]
        with pytest.raises(ContradictionError):
            verified(early)


class TestMaterial:
    def test_a_lead_for_so_many_plies_wins(self) -> None:
        """The heap counts for seat 1, ten stones for seat 2: 12, 11, 10, … after each ply."""
        logged = ruled(AdjudicationRules(material=2, material_plies=3), "heap(stones=13)")
        for stones, led in (
            (12, Lead(1, 1)),
            (11, Lead()),
            (10, Lead()),
            (9, Lead()),
            (8, Lead(2, 1)),
            (7, Lead(2, 2)),
        ):
            logged.play("1")
            assert logged.match.position.stones == stones
            assert logged.match.led == led
        logged.play("1")
        assert end(logged) == (MATERIAL, 2)

    def test_a_restart_keeps_the_count(self) -> None:
        logged = ruled(AdjudicationRules(material=2, material_plies=4), "heap(stones=30)")
        for _ in range(3):
            logged.play("1")
        trusted = replay((read(data) for data in logged.log), games, trust=True)
        assert trusted.position is None
        logged.match = trusted
        logged.do(Interrupt(Interruption.RESTART))
        logged.play("1")  # before this move the arbiter computes the material again
        assert end(logged) == (MATERIAL, 1)

    def test_the_opening_counts_for_nothing(self) -> None:
        logged = ruled(AdjudicationRules(material=1, material_plies=2), "heap(stones=30)", opening=("1", "1", "1"))
        logged.play("1")
        assert logged.match.led == Lead(1, 1)

    def test_material_comes_before_length(self) -> None:
        logged = ruled(AdjudicationRules(plies=2, material=1, material_plies=2), "heap(stones=30)")
        logged.play("1")
        logged.play("1")
        assert end(logged) == (MATERIAL, 1)


class TestEvaluation:
    def test_the_match_ends_when_both_bots_have_agreed_for_long_enough(self) -> None:
        logged = ruled(AdjudicationRules(evaluation=300, evaluation_plies=4))
        say(logged, 800, 200, 810, 201)  # the last evaluation is too low
        assert logged.match.result is None
        say(logged, 800, 200, 900)
        assert logged.match.result is None
        say(logged, 0)
        assert end(logged) == (EVALUATION, 1)

    def test_the_other_seat(self) -> None:
        logged = ruled(AdjudicationRules(evaluation=500, evaluation_plies=2))
        say(logged, 0, 1_000)
        assert end(logged) == (EVALUATION, 2)

    @pytest.mark.parametrize("break_", [None, 500, 200, 799])
    def test_one_missing_evaluation_restarts_the_count(self, break_: int | None) -> None:
        logged = ruled(AdjudicationRules(evaluation=300, evaluation_plies=3))
        say(logged, 900, 100, break_, 100, 900)
        assert logged.match.result is None
        say(logged, 100)
        assert end(logged) == (EVALUATION, 1)

    def test_one_bot_alone_is_not_enough(self) -> None:
        logged = ruled(AdjudicationRules(evaluation=100, evaluation_plies=3), "heap(stones=100,handicap=6)")
        say(logged, *[1_000] * 6)
        assert logged.match.turns == bytes([1] * 6)
        assert logged.match.result is None
        say(logged, *[1_000, 0, 1_000][: 1 if logged.match.turn == 1 else 0])
        say(logged, 0)
        assert end(logged) == (EVALUATION, 1)

    def test_level(self) -> None:
        logged = ruled(AdjudicationRules(draw_evaluation=20, draw_plies=3, draw_from_ply=2))
        say(logged, 500, 500, 520, 480)
        assert logged.match.result is None
        say(logged, 500)
        assert end(logged) == (LEVEL, 0)

    def test_comments_that_can_not_be_decrypted_end_nothing(self) -> None:
        logged = ruled(AdjudicationRules(evaluation=300, evaluation_plies=2))
        logged.match = replace(logged.match, secret=b"")
        say(logged, 1_000, 0, 1_000, 0)
        assert logged.match.result is None

    def test_an_end_that_the_comments_contradict_is_found(self) -> None:
        logged = ruled(AdjudicationRules(evaluation=300, evaluation_plies=2))
        say(logged, 900, 100)
        *before, ended = logged.events
        assert isinstance(ended, Ended)
        mild = ruled(AdjudicationRules(evaluation=300, evaluation_plies=2))
        say(mild, 900, 400)
        for forged in (
            [*before, replace(ended, winner=2)],
            [*before, replace(ended, at=ended.at + 1)],
            [*before, replace(ended, reason=LEVEL)],
            [*before, replace(ended, key="")],
            [*mild.events, ended],
        ):
            with pytest.raises(ContradictionError):
                verified(forged)


class TestEvaluationRule:
    RULES = AdjudicationRules(evaluation=200, evaluation_plies=3, draw_evaluation=50, draw_plies=3, draw_from_ply=4)

    @given(st.lists(st.tuples(st.sampled_from((1, 2)), st.none() | st.integers(0, 1_000)), max_size=9))
    def test_a_literal_implementation_of_the_rule_agrees(self, claims: list[tuple[int, int | None]]) -> None:
        """`said` are the evaluations in order of plies. The test implements the rule again, literally."""
        said = [ScoreClaim(ply, seat, evaluation) for ply, (seat, evaluation) in enumerate(claims)]
        winner, level = 0, False
        for most in range(3, len(said) + 1):
            last = said[-most:]
            both = {each.seat for each in last} == {1, 2}
            sure = [
                None if each.evaluation is None else (each.evaluation if each.seat == 1 else 1_000 - each.evaluation)
                for each in last
            ]
            if both and all(each is not None and each >= 700 for each in sure):
                winner = 1
            if both and all(each is not None and each <= 300 for each in sure):
                winner = 2
            if both and all(each is not None and 450 <= each <= 550 for each in sure) and last[0].ply >= 4:
                level = True
        assert agreed_winner(self.RULES, reversed(said)) == winner
        assert agreed_level(self.RULES, reversed(said)) is level


@pytest.mark.parametrize(
    ("rules", "game", "where"),
    [
        *((AdjudicationRules(**{name: most + 1}), "hop-it", name) for name, most in BOUNDS.items()),
        *((AdjudicationRules(**{name: -1}), "hop-it", name) for name in BOUNDS),
        (AdjudicationRules(material=1, material_plies=1), "pods", "material"),
        (AdjudicationRules(material=1), "hop-it", "material_plies"),
        (AdjudicationRules(material_plies=1), "hop-it", "material_plies"),
        (AdjudicationRules(evaluation=1), "hop-it", "evaluation_plies"),
        (AdjudicationRules(evaluation_plies=2), "hop-it", "evaluation"),
        (AdjudicationRules(evaluation=1, evaluation_plies=1), "hop-it", "evaluation_plies"),
        (AdjudicationRules(draw_plies=1), "hop-it", "draw_plies"),
        (AdjudicationRules(draw_evaluation=EVEN), "hop-it", "draw_plies"),
        (AdjudicationRules(draw_from_ply=9), "hop-it", "draw_plies"),
    ],
)
def test_invalid_adjudication_rules_are_refused(rules: AdjudicationRules, game: str, where: str) -> None:
    with pytest.raises(Refusal) as caught:
        check(rules, registered(game))
    assert (caught.value.reason, caught.value.facts["where"]) == (Reason.PARAMETER_INVALID, f"adjudication.{where}")
    with pytest.raises(Refusal):
        create("m1", Create(game, ("a", "b"), "1m", "org", "r", adjudication=rules), NOON)


def test_a_match_without_rules_records_none() -> None:
    plain = create("m1", Create("pods", ("a", "b"), "1m", "org", "r"), NOON).events
    empty = create("m1", Create("pods", ("a", "b"), "1m", "org", "r", adjudication=AdjudicationRules()), NOON).events
    assert empty == plain
    assert isinstance(plain[0], Created)
    assert plain[0].adjudication is None


def test_an_end_by_adjudication_without_rules_is_found() -> None:
    logged = started()
    ended = ruled(AdjudicationRules(plies=1))
    ended.play("1")
    with pytest.raises(ContradictionError):
        evolve(logged.match, replace(ended.events[-1], at=logged.now))
