"""The sequential probability ratio test of A against B on pairs of games: a generalised one, pentanomial.

Sources: Wald, "Sequential Tests of Statistical Hypotheses", Annals of Mathematical Statistics 16 (1945): the bounds.
Van den Bergh, "A Practical Introduction to the GSPRT" (2020), and the fishtest framework of Stockfish, which tests with
it: the ratio. The hypotheses are about A's expected score; the distribution of the five outcomes is a nuisance
parameter. Under each hypothesis it is replaced by the most likely distribution with that mean.

With observed shares p̂(i) of the scores a(i), the likeliest distribution with mean s is p(i) = p̂(i) / (1 + θ(a(i) − s)),
where θ solves Σ p̂(i)(a(i) − s) / (1 + θ(a(i) − s)) = 0, and the log-likelihood ratio of N pairs is
N Σ p̂(i) ln(p1(i) / p0(i)).

Normalised Elo measures the difference in standard deviations of a game (Van den Bergh, "Normalized Elo" and "Normalized
Elo in practice", 2021): t = (mean − ½) / σ, times 800 / ln 10. So the hypotheses fix t and not the mean. With t = τ for
a pair (√2 times that of a game, since a pair's mean score has half the variance), the likeliest distribution is, by
Lagrange's multiplier of mean − ½ − τσ = 0,

    p(i) = p̂(i) / (1 + θ(a(i) − ½ − τσ(1 + ((a(i) − μ) / σ)²) / 2))

where μ and σ are its own mean and deviation: they are found by repetition, θ each time as above.

| part | here |
| --- | --- |
| logistic Elo, normalised Elo | yes |
| Elo of the BayesElo model | no |
| regularisation | an outcome that never occurred counts as a thousandth of a pair, as in fishtest |
| overshoot correction of the bounds | no |
| error rates with a look after each pair | close to α and β, but not bounded by them; `evidence` has a bound |
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from math import log, sqrt
from typing import Final, NamedTuple

from arbiter.errors import argument_invalid
from arbiter.ratings.pairs import GAMES, LARGEST_ELO, NORMALISED, SCORES, Pairs, expected_score, regular

_invalid: Final = partial(argument_invalid, of="a sequential test")

MOST_STEPS: Final = 50  #: repetitions for a distribution of a normalised Elo; about ten are needed
ENOUGH: Final = 1e-10  #: change of a share at which they end


MILLE: Final = 1_000  #: error rates in a specification are in thousandths


class Verdict(StrEnum):
    """The current verdict of a sequential test."""

    UNDECIDED = "undecided"
    H0 = "h0"  #: A is not better than B by `elo1`: accept `elo0`
    H1 = "h1"  #: A is better than B by more than `elo0`: accept `elo1`


class Hypotheses(NamedTuple):
    """The hypotheses: H0 says that A is `elo0` better than B, H1 `elo1`.

    alpha: the probability of accepting H1 although H0 is true; beta: of accepting H0 although H1 is true. normalised:
    `elo0` and `elo1` are normalised Elo.
    """

    elo0: float = 0.0
    elo1: float = 10.0
    alpha: float = 0.05
    beta: float = 0.05
    normalised: bool = False


def hypotheses_in_parts(elo: tuple[int, int], parts: int, errors: tuple[int, int], normalised: bool) -> Hypotheses:
    """Return hypotheses as a specification has them: Elo in parts of a point, error rates (alpha, beta) per mille."""
    return Hypotheses(elo[0] / parts, elo[1] / parts, errors[0] / MILLE, errors[1] / MILLE, normalised)


class Standing(NamedTuple):
    """The state of a sequential test: the log-likelihood ratio, and its decision bounds."""

    ratio: float
    lower: float
    upper: float
    verdict: Verdict


def judge(pairs: Pairs, hypotheses: Hypotheses) -> Standing:
    """Return the state of a sequential test of some pairs.

    Raises Refusal ARGUMENT_INVALID (facts what, where, allowed) for hypotheses in the wrong order, and error rates
    outside 0 to ½.
    """
    check(hypotheses)
    lower = log(hypotheses.beta / (1 - hypotheses.alpha))
    upper = log((1 - hypotheses.beta) / hypotheses.alpha)
    ratio = log_likelihood_ratio(pairs, hypotheses)
    verdict = Verdict.H1 if ratio >= upper else Verdict.H0 if ratio <= lower else Verdict.UNDECIDED
    return Standing(ratio, lower, upper, verdict)


def log_likelihood_ratio(pairs: Pairs, hypotheses: Hypotheses) -> float:
    """Return the generalised log-likelihood ratio of H1 to H0; 0 without pairs."""
    if not pairs.total:
        return 0.0
    counts = regular(pairs)
    total = sum(counts)
    shares = [count / total for count in counts]
    likeliest = _with_normalised if hypotheses.normalised else _with_elo
    h0, h1 = (likeliest(shares, elo) for elo in (hypotheses.elo0, hypotheses.elo1))
    return total * sum(share * log(p1 / p0) for share, p0, p1 in zip(shares, h0, h1, strict=True))


def check(hypotheses: Hypotheses) -> None:
    """Raise Refusal ARGUMENT_INVALID for invalid hypotheses."""
    for name, elo in (("elo0", hypotheses.elo0), ("elo1", hypotheses.elo1)):
        if not -LARGEST_ELO <= elo <= LARGEST_ELO:
            raise _invalid(str(elo), name, f"a number between ±{LARGEST_ELO:g}")
    if not hypotheses.elo0 < hypotheses.elo1:
        raise _invalid(str(hypotheses.elo0), "elo0", f"less than elo1, which is {hypotheses.elo1}")
    for name, rate in (("alpha", hypotheses.alpha), ("beta", hypotheses.beta)):
        if not 0 < rate < 0.5:
            raise _invalid(str(rate), name, "a rate between 0 and ½, neither of them")


def _with_elo(shares: list[float], elo: float) -> list[float]:
    """Return the most likely distribution whose mean is the expected score of a logistic Elo difference."""
    mean = expected_score(elo)
    return _weighted(shares, [score - mean for score in SCORES])


def _with_normalised(shares: list[float], elo: float) -> list[float]:
    """Return the most likely distribution with a given normalised Elo difference."""
    strength = elo / NORMALISED * sqrt(GAMES)  # of a pair, in its standard deviations
    found = [1 / len(shares)] * len(shares)
    for _ in range(MOST_STEPS):
        mean = sum(share * score for share, score in zip(found, SCORES, strict=True))
        deviation = sqrt(sum(share * (score - mean) ** 2 for share, score in zip(found, SCORES, strict=True)))
        bends = [1 + ((score - mean) / deviation) ** 2 for score in SCORES]
        away = [score - 0.5 - strength * deviation * bend / 2 for score, bend in zip(SCORES, bends, strict=True)]
        before, found = found, _weighted(shares, away)
        if max(abs(this - that) for this, that in zip(before, found, strict=True)) < ENOUGH:
            break
    return found


def _weighted(shares: list[float], away: list[float]) -> list[float]:
    """Return the shares p̂ / (1 + θ·away) for the θ with which the mean of `away` is 0; all shares are above 0."""
    # θ is where all terms 1 + θ·away stay positive; the sum falls from +∞ to −∞ between the ends.
    low, high = -1 / max(away), -1 / min(away)
    for _ in range(60):
        theta = (low + high) / 2
        if sum(share * each / (1 + theta * each) for share, each in zip(shares, away, strict=True)) > 0:
            low = theta
        else:
            high = theta
    theta = (low + high) / 2
    return [share / (1 + theta * each) for share, each in zip(shares, away, strict=True)]
