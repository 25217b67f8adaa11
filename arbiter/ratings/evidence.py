"""Evidence that is valid at every look: a confidence sequence for A's score, from pairs of games, by betting.

Source: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", Journal of the Royal
Statistical Society B 86 (2024); Ville's inequality.

A gambler who tests the hypothesis that A's expected score is m bets on the score X of each pair: a stake λ multiplies
the capital by 1 + λ(X − m), which is a fair bet if m is true. So the capital is an e-process: the probability that it
ever reaches 1/α, at any look, is at most α. Here the capital is divided over a grid of stakes at the start, and each
part grows separately (a mixture). So it depends on the counts alone and not on the order of the pairs. The confidence
sequence contains all m whose capital is below 1/α: with probability 1 − α it contains the true score at every look,
however often and for whatever reason one looks or stops.

The only assumption is that each pair has the same expected score given the past; independence is not needed.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from arbiter.errors import argument_invalid
from arbiter.ratings.pairs import SCORES, Pairs, elo, moments
from arbiter.ratings.rating_results import ScoreInterval

_invalid: Final = partial(argument_invalid, of="a confidence sequence")

STAKES: Final = np.concatenate([-np.geomspace(0.9, 0.002, 24), np.geomspace(0.002, 0.9, 24)])
"""The stakes, as shares of the largest stake that cannot ruin: 1/m for scores above m, 1/(1 − m) for those below."""

GRID: Final = 1_000  #: scores m that are tested to find the ends of the confidence sequence


def log_capital(pairs: Pairs, score: float) -> float:
    """Return the logarithm of the capital won against the hypothesis that A's expected score is `score`.

    This is the evidence against it: exp of this is an e-value. `score` is above 0 and below 1. Raises Refusal
    ARGUMENT_INVALID.
    """
    if not 0 < score < 1:
        raise _invalid(str(score), "score", "a number between 0 and 1")
    return float(_log_capitals(pairs, np.array([score]))[0])


def _log_capitals(pairs: Pairs, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the logarithms of the capital won against each of some hypotheses."""
    means = scores[:, np.newaxis]
    stakes = np.where(STAKES > 0, STAKES / means, STAKES / (1 - means))
    bets = stakes[:, :, np.newaxis] * (np.array(SCORES) - means)[:, np.newaxis, :]
    logs = np.log1p(bets) @ np.array(pairs, dtype=np.float64)
    largest = logs.max(axis=1)
    capitals: npt.NDArray[np.float64] = largest + np.log(np.exp(logs - largest[:, np.newaxis]).mean(axis=1))
    return capitals


def interval(pairs: Pairs, alpha: float = 0.05) -> ScoreInterval:
    """Return the confidence sequence at this look, with error rate `alpha` over all looks together.

    Raises Refusal ARGUMENT_INVALID (facts what, where, allowed) for an alpha outside 0 to 1.
    """
    if not 0 < alpha < 1:
        raise _invalid(str(alpha), "alpha", "a rate between 0 and 1")
    scores = (np.arange(GRID) + 0.5) / GRID
    left_open = scores[_log_capitals(pairs, scores) < -np.log(alpha)]
    # The observed mean is never excluded, but it may be between two scores of the grid.
    mean = moments(pairs).mean
    low = max(0.0, min([mean, *left_open[:1]]) - 1 / GRID)
    high = min(1.0, max([mean, *left_open[-1:]]) + 1 / GRID)
    return ScoreInterval(float(low), float(high), elo(float(low)), elo(float(high)))
