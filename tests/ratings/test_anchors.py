"""Anchors: by name and by version, without effect, in conflict, and against the games."""

from __future__ import annotations

from random import Random

import pytest

from arbiter.errors import Reason
from arbiter.ratings.anchors import checked, fixed
from arbiter.ratings.rated_matches import Result
from arbiter.ratings.rating_list import rating_list
from arbiter.ratings.rating_results import AnchoredPlayer
from tests.refusals import refusing

PLAYERS = ("ann@1", "ann@2", "ben", "cat@1", "dan")


def played(strengths: dict[str, float], games: int = 200, seed: int = 1) -> list[Result]:
    """Return games of all pairs by the logistic model, from strengths in Elo."""
    random, found = Random(seed), []
    for one in strengths:
        for two in strengths:
            if one < two:
                expected = 1 / (1 + 10 ** ((strengths[two] - strengths[one]) / 400))
                won = sum(random.random() < expected for _ in range(games))
                found += [
                    Result("pods", True, one, two, "win", 1, "rules", won),
                    Result("pods", True, one, two, "win", 2, "rules", games - won),
                ]
    return found


FIELD = {"ann@1": 1500.0, "ben": 1400.0, "cat@1": 1600.0, "dan": 1550.0}


def test_a_name_anchors_every_version_and_a_version_only_itself() -> None:
    assert fixed({"ann": 1500.0}, PLAYERS) == {"ann@1": 1500.0, "ann@2": 1500.0}
    assert fixed({"ann@2": 1500.0, "ben": 10.0}, PLAYERS) == {"ann@2": 1500.0, "ben": 10.0}
    assert fixed({"an": 1500.0, "ann@": 1.0, "cat@2": 2.0}, PLAYERS) == {}


def test_an_anchor_by_name_sets_the_scale() -> None:
    listed = rating_list(played(FIELD), {"ann": 1500.0})
    by_player = {row.player: row.rating for row in listed.all_versions}
    assert by_player["ann@1"] == 1500.0
    assert by_player["dan"] > 1500.0 > by_player["ben"]
    assert listed.anchors == (AnchoredPlayer("ann", "ann@1", 1500.0),), "alone, it can't contradict the games"


def test_anchors_without_effect_are_listed() -> None:
    listed = rating_list(played(FIELD), {"anna": 1.0, "ann@2": 2.0, "dan": 3.0})
    assert [(each.anchor, each.player) for each in listed.anchors] == [("ann@2", ""), ("anna", ""), ("dan", "dan")]
    assert rating_list([], {"dan": 3.0}).anchors == (AnchoredPlayer("dan", "", 3.0),)


def test_anchors_that_contradict_the_games_are_marked() -> None:
    right = rating_list(played(FIELD), {"ann": 1500.0, "cat": 1600.0})
    assert [each.contradicted for each in right.anchors] == [False, False]
    wrong = rating_list(played(FIELD), {"ann": 1500.0, "cat": 1900.0})
    assert [each.contradicted for each in wrong.anchors] == [True, True]
    ann, cat = (each.by_games for each in wrong.anchors)
    assert ann is not None
    assert cat is not None
    assert cat.value - ann.value == pytest.approx(100, abs=40), "what the games say of their difference"
    assert (cat.value + ann.value) / 2 == pytest.approx(1700, abs=0.01), "on the scale that both anchors set together"
    assert ann.low < ann.value < ann.high < 1700


@pytest.mark.long
def test_right_anchors_are_seldom_called_contradicted() -> None:
    anchors = {player.partition("@")[0]: elo for player, elo in FIELD.items()}
    marked = [each.contradicted for seed in range(20) for each in rating_list(played(FIELD, 40, seed), anchors).anchors]
    assert sum(marked) <= 2, "of 80, one in 370 by chance"


@pytest.mark.parametrize(
    ("anchors", "named"),
    [
        (
            [("ann", 1.0), ("ann@1", 2.0)],
            "'ann = 1 and ann@1 = 2' is not allowed in the anchors: expected one rating for each version",
        ),
        ([("ann", 1.0), ("ann", 2.0)], "ann = 1 and ann = 2"),
        ([("", 1.0)], "NAME@VERSION"),
        ([("@1", 1.0)], "NAME@VERSION"),
        ([("ann@", 1.0)], "NAME@VERSION"),
        ([("ann", float("nan"))], "the rating of ann"),
        ([("ann", 10_001.0)], "the rating of ann"),
    ],
)
def test_anchors_that_are_refused(anchors: list[tuple[str, float]], named: str) -> None:
    with refusing(Reason.ARGUMENT_INVALID) as refused:
        checked(anchors)
    assert named in str(refused.value)


def test_anchors_that_agree_are_one() -> None:
    assert checked([("ann@1", 1.0), ("ann", 1.0), ("ann", 1.0)]) == {"ann": 1.0, "ann@1": 1.0}
