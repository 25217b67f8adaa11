"""Pairs of games, the sequential test and the confidence sequence: arithmetic, symmetry, error rates when peeking."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import Reason, Refusal
from arbiter.ratings import evidence, sprt
from arbiter.ratings.pairs import Pairs, draw_ratio, elo, expected_score, moments, normalised
from tests.refusals import refusing

PAIRS = st.builds(Pairs, *[st.integers(0, 400)] * 5)


def test_score_and_elo_follow_the_logistic_curve() -> None:
    assert expected_score(0) == 0.5
    assert expected_score(400) == pytest.approx(10 / 11)
    assert elo(0.75) == pytest.approx(190.8485, abs=1e-3)
    assert elo(0.0) == pytest.approx(-1_200)
    assert elo(1.0) == pytest.approx(1_200)


def test_the_moments_of_pairs_are_those_of_their_scores() -> None:
    mean, variance, total = moments(Pairs(1, 0, 2, 0, 1))
    assert (mean, variance, total) == (0.5, 0.125, 4)
    assert moments(Pairs()) == (0.5, 0.0, 0)


def test_a_pair_of_games_has_at_most_four_half_points() -> None:
    assert Pairs().with_pair(3) == Pairs(0, 0, 0, 1, 0)
    with refusing(Reason.ARGUMENT_INVALID):
        Pairs().with_pair(5)


@given(PAIRS)
def test_the_ratio_changes_its_sign_with_the_sides(pairs: Pairs) -> None:
    hypotheses = sprt.Hypotheses(-5, 5)
    assert sprt.log_likelihood_ratio(pairs, hypotheses) == pytest.approx(
        -sprt.log_likelihood_ratio(pairs.swapped, hypotheses), abs=1e-6
    )


def test_the_ratio_without_draws_and_splits_is_that_of_a_coin() -> None:
    # With only two outcomes the maximum-likelihood distribution is the hypothesis itself, and the ratio is Wald's.
    pairs = Pairs(zero=40_000, two=60_000)
    low, high = expected_score(0), expected_score(100)
    wald = 60_000 * log(high / low) + 40_000 * log((1 - high) / (1 - low))
    assert sprt.log_likelihood_ratio(pairs, sprt.Hypotheses(0, 100)) == pytest.approx(wald, rel=1e-3)


def test_the_bounds_are_walds() -> None:
    standing = sprt.judge(Pairs(), sprt.Hypotheses(0, 10, 0.05, 0.1))
    assert standing.lower == pytest.approx(log(0.1 / 0.95))
    assert standing.upper == pytest.approx(log(0.9 / 0.05))
    assert standing.verdict is sprt.Verdict.UNDECIDED


@pytest.mark.parametrize("wrong", [sprt.Hypotheses(10, 10), sprt.Hypotheses(alpha=0.5), sprt.Hypotheses(beta=0.0)])
def test_hypotheses_that_can_not_be_tested_are_refused(wrong: sprt.Hypotheses) -> None:
    with refusing(Reason.ARGUMENT_INVALID):
        sprt.judge(Pairs(), wrong)


@given(PAIRS)
def test_the_observed_mean_is_never_refuted(pairs: Pairs) -> None:
    interval = evidence.interval(pairs)
    assert interval.low <= moments(pairs).mean <= interval.high


def refuted(pairs: Pairs) -> bool:
    """Return whether the evidence excludes that both are equally good, at an error rate of 5 %."""
    return evidence.log_capital(pairs, 0.5) >= -log(0.05)


def test_evidence_of_many_wins_excludes_equality_and_more_games_narrow_it() -> None:
    few, many = evidence.interval(Pairs(1, 2, 4, 6, 3)), evidence.interval(Pairs(100, 200, 400, 600, 300))
    assert many.high - many.low < few.high - few.low
    assert many.low > 0.5
    assert refuted(Pairs(100, 200, 400, 600, 300))
    assert not refuted(Pairs(1, 2, 4, 6, 3))


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_a_score_of_nothing_or_everything_is_no_belief(score: float) -> None:
    with pytest.raises(Refusal):
        evidence.log_capital(Pairs(1, 1, 1, 1, 1), score)


def _looks(shares: list[float], pairs: int, every: int, seed: int) -> Iterator[Pairs]:
    """Yield the counts of a series of pairs at each look."""
    rng = np.random.default_rng(seed)
    outcomes = np.eye(5, dtype=np.int64)[rng.choice(5, size=pairs, p=shares)].cumsum(axis=0)
    for row in outcomes[every - 1 :: every]:
        yield Pairs(*map(int, row))


LEVEL = [0.1, 0.2, 0.4, 0.2, 0.1]  #: the shares of outcomes of two bots that are equal


@pytest.mark.long
def test_repeated_looks_keep_the_error_rates_of_the_sequential_test_near_alpha_and_beta() -> None:
    runs, hypotheses = 100, sprt.Hypotheses(0, 40, 0.05, 0.05)
    better = [0.08, 0.16, 0.4, 0.2, 0.16]  # a score of 0.55, just under 40 Elo
    wrong_under_h0 = wrong_under_h1 = 0
    for seed in range(runs):
        wrong_under_h0 += _verdict(_looks(LEVEL, 2_000, 10, seed), hypotheses) is sprt.Verdict.H1
        wrong_under_h1 += _verdict(_looks(better, 2_000, 10, seed + runs), hypotheses) is sprt.Verdict.H0
    # The expected number is 5; 14 or more have a probability of one in two thousand.
    assert wrong_under_h0 <= 13
    assert wrong_under_h1 <= 16  # the true difference is slightly below that of H1


def _verdict(looks: Iterator[Pairs], hypotheses: sprt.Hypotheses) -> sprt.Verdict:
    for pairs in looks:
        verdict = sprt.judge(pairs, hypotheses).verdict
        if verdict is not sprt.Verdict.UNDECIDED:
            return verdict
    return sprt.Verdict.UNDECIDED


@pytest.mark.long
def test_repeated_looks_refute_the_truth_no_more_often_than_alpha() -> None:
    runs = 200
    wrong = sum(any(refuted(pairs) for pairs in _looks(LEVEL, 1_000, 5, seed)) for seed in range(runs))
    assert wrong <= 0.05 * runs


# Normalised Elo


@pytest.mark.parametrize(
    ("pairs", "elo", "error", "drawn"),
    [
        (Pairs(1, 10, 78, 48, 13), 132.30, 39.32, 0.52),
        (Pairs(352, 579, 1264, 743, 464), 24.25, 8.26, 0.3715),
        (Pairs(363, 3205, 5861, 3376, 414), 5.93, 4.19, 0.4434),
        (Pairs(379, 10170, 21828, 10640, 343), 3.05, 2.31, 0.5035),
    ],
)
def test_normalised_elo_is_what_fastchess_has_published(pairs: Pairs, elo: float, error: float, drawn: float) -> None:
    """The counts and figures are those of matches that authors of engines have published with fastchess's output."""
    found = normalised(pairs)
    assert found is not None
    assert found == pytest.approx((elo, error), abs=0.005)
    assert draw_ratio(pairs) == pytest.approx(drawn, abs=0.0001)


@pytest.mark.parametrize(
    ("pairs", "hypotheses", "ratio"),
    [
        (Pairs(379, 10170, 21828, 10640, 343), sprt.Hypotheses(0, 2, normalised=True), 2.94598),
        (Pairs(352, 579, 1264, 743, 464), sprt.Hypotheses(9, 16, 0.01, 0.01, normalised=True), 4.60),
        (Pairs(363, 3205, 5861, 3376, 414), sprt.Hypotheses(0, 3, 0.05, 0.1, normalised=True), 2.91),
        (Pairs(0, 0, 1, 8, 1), sprt.Hypotheses(0, 50, normalised=True), 1.24),
    ],
)
def test_the_normalised_ratio_is_what_fastchess_has_published(
    pairs: Pairs, hypotheses: sprt.Hypotheses, ratio: float
) -> None:
    """The first is the example of fastchess's pull request 783; the others are its output for published matches."""
    assert sprt.log_likelihood_ratio(pairs, hypotheses) == pytest.approx(ratio, abs=0.005)


@given(PAIRS)
def test_the_normalised_ratio_changes_its_sign_with_the_sides(pairs: Pairs) -> None:
    hypotheses = sprt.Hypotheses(-5, 5, normalised=True)
    assert sprt.log_likelihood_ratio(pairs, hypotheses) == pytest.approx(
        -sprt.log_likelihood_ratio(pairs.swapped, hypotheses), abs=1e-5
    )


@pytest.mark.long
@pytest.mark.parametrize("elo", [-20.0, 0.0, 3.0, 40.0])
def test_the_likeliest_distribution_has_the_normalised_elo_and_no_other_one_is_likelier(elo: float) -> None:
    """Computed apart: a random walk on the distributions with this normalised Elo finds none that is likelier."""
    shares = np.array([0.06, 0.21, 0.4, 0.23, 0.1])
    found = np.array(sprt._with_normalised(list(shares), elo))
    scores = np.array([0, 0.25, 0.5, 0.75, 1])

    def strength(p: npt.NDArray[np.float64]) -> float:
        mean = p @ scores
        return float((mean - 0.5) / np.sqrt(2 * (p @ (scores - mean) ** 2)))

    assert found.sum() == pytest.approx(1)
    assert 800 / log(10) * strength(found) == pytest.approx(elo, abs=1e-6)
    random, best = np.random.default_rng(7), float(shares @ np.log(found))
    for _ in range(300):
        other = found * np.exp(random.normal(0, 0.02, 5))
        other /= other.sum()
        low, high = -1.0, 1.0  # tilt it until its strength is the wanted one
        for _ in range(60):
            tilt = (low + high) / 2
            tilted = other * np.exp(tilt * scores)
            tilted /= tilted.sum()
            low, high = (tilt, high) if 800 / log(10) * strength(tilted) < elo else (low, tilt)
        assert float(shares @ np.log(tilted)) <= best + 1e-9
