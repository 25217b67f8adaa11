"""The history of ratings: each point is a fit of its own, and the order of results does not matter."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.ratings.answers import RatingPoint
from arbiter.ratings.fit import fit
from arbiter.ratings.history import Dated, evenly, history, of_player
from arbiter.ratings.record import Result, counts_of

WIN = Result("pods", True, "ann", "bob", "win", 1, "rules")
ENDED = [Dated(10, WIN), Dated(20, WIN._replace(winner=2)), Dated(20, WIN._replace(player_2="cid")), Dated(30, WIN)]


def test_each_point_is_the_fit_of_the_results_until_then() -> None:
    moments = history(ENDED, [30, 9, 20])
    assert [at_ms for at_ms, _ in moments] == [9, 20, 30]
    assert moments[0].ratings.rated == ()
    assert moments[1].ratings == fit(counts_of(each.result for each in ENDED[:3]))
    assert moments[2].ratings == fit(counts_of(each.result for each in ENDED))


@pytest.mark.long
@settings(deadline=None, max_examples=10)
@given(st.randoms(use_true_random=False))
def test_results_may_come_in_any_order(chance: random.Random) -> None:
    assert history(chance.sample(ENDED, len(ENDED)), [15, 30]) == history(ENDED, [15, 30])


def test_the_history_of_a_player_begins_with_its_first_game() -> None:
    moments = history(ENDED, [10, 20, 30])
    cid = moments[1].ratings.of("cid")
    assert [mark.at_ms for mark in of_player(moments, "cid")] == [20, 30]
    assert of_player(moments, "cid")[0] == RatingPoint(20, cid.rating, cid.low, cid.high)
    assert of_player(moments, "nobody") == ()


def test_the_times_are_at_equal_distances() -> None:
    assert evenly(0, 100, 5) == (0, 25, 50, 75, 100)
    assert evenly(7, 7, 5) == (7,)
    assert evenly(0, 1, 10) == (0, 1)
