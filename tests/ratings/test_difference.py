"""The difference of two bots by pairs of games: error rates with few pairs, with many, and with repeated looks."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.ratings.difference import JEFFREYS, LOOKED, LOST, below, difference, excluded
from arbiter.ratings.model import ELO_PER_NAT
from arbiter.ratings.pairs import SCORES, Pairs, elo, moments

PAIRS = st.builds(Pairs, *[st.integers(0, 400)] * 5)


@pytest.mark.long
@given(PAIRS)
def test_both_sides_see_the_same_difference(pairs: Pairs) -> None:
    mine, theirs = difference(pairs), difference(pairs.swapped)
    assert mine.elo == pytest.approx(-theirs.elo, abs=1e-6)
    assert (mine.low, mine.high) == pytest.approx((-theirs.high, -theirs.low), abs=1e-3)
    assert mine.superiority == pytest.approx(1 - theirs.superiority, abs=1e-5)
    assert mine.low <= mine.elo <= mine.high


def test_two_games_give_a_wide_interval() -> None:
    won = difference(Pairs(two=1))
    assert 0 < won.elo < 200
    assert won.low < -400
    assert won.high == 1_200
    assert won.superiority < 0.85
    drawn = difference(Pairs(one=1))
    assert drawn.elo == pytest.approx(0)
    assert drawn.high > 300


def test_without_pairs_the_interval_is_the_widest() -> None:
    assert difference(Pairs()) == (0.5, 0.0, -1_200, 1_200, 0.5)


def test_the_probabilities_agree_with_simulated_ones() -> None:
    counts = Pairs(2, 0, 5, 1, 3)
    drawn = np.random.default_rng(1).dirichlet(np.array(counts) + JEFFREYS, 400_000) @ SCORES
    for score in (0.3, 0.5, 0.55, 0.7):
        assert below(np.array([counts]), score, JEFFREYS)[0] == pytest.approx((drawn <= score).mean(), abs=0.003)


def test_pairs_without_a_split_have_the_exact_ends_of_a_binomial_share() -> None:
    # Clopper and Pearson, 8 of 10: 0.4439 (beta distribution with 8 and 3, its quantile of 2.5 %).
    assert below(np.array([Pairs(zero=2, two=8)]), 0.4439, LOST)[0] == pytest.approx(0.025, abs=1e-4)


@pytest.mark.parametrize("elo", [0, 100, 300, 600])
@pytest.mark.parametrize("pairs", [1, 2, 5, 20, 100])
def test_intervals_of_few_pairs_contain_the_truth(elo: float, pairs: int) -> None:
    weights = np.array([exp(-elo / ELO_PER_NAT / 2), 0.3, exp(elo / ELO_PER_NAT / 2)])
    shares = np.convolve(weights, weights) / weights.sum() ** 2
    drawn = np.random.default_rng(7).multinomial(pairs, shares, 1_000)
    counts, times = np.unique(drawn, axis=0, return_counts=True)
    missed = excluded(counts, float(shares @ SCORES)) @ times / 1_000
    assert missed <= 0.05


@pytest.mark.long
def test_a_look_after_every_pair_makes_misses_far_more_frequent(seeds: int) -> None:
    runs, longest = seeds, max(LOOKED)
    shares = [0.1, 0.2, 0.4, 0.2, 0.1]
    rng = np.random.default_rng(3)
    looks = (np.eye(5, dtype=np.int64)[rng.choice(5, longest, p=shares)].cumsum(axis=0) for _ in range(runs))
    missed = np.array([excluded(each, 0.5) for each in looks])
    for pairs, share in LOOKED.items():
        # Three standard errors, also those of the figures.
        assert missed[:, :pairs].any(axis=1).mean() == pytest.approx(share, abs=0.1 + 1.2 / runs**0.5)
    assert missed.any(axis=1).mean() > 0.05


@pytest.mark.parametrize("times", [1, 30, 1_000])
@pytest.mark.parametrize("pairs", [Pairs(379, 10_170, 21_828, 10_640, 343), Pairs(1, 20, 300, 900, 400)])
def test_the_interval_of_many_pairs_is_the_normal_one(pairs: Pairs, times: int) -> None:
    pairs = Pairs(*(times * count for count in pairs))
    mean, error = moments(pairs).mean, moments(pairs).error
    found = difference(pairs)
    for end, sign in ((found.low, -1), (found.high, 1)):
        away = abs(end - elo(mean))
        assert away == pytest.approx(abs(elo(mean + sign * 1.96 * error) - elo(mean)), rel=0.1)
