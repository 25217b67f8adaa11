"""Results of pairs of games: two games between the same two bots, with swapped seats and from the same opening.

The two games of a pair are not independent, because they share their opening; different pairs are. So tests count
pairs, by a bot's score in both games: 0, ½, 1, 1½ or 2 points of 2, the five outcomes of a pentanomial distribution.
Games without a partner count as outcomes of their own: 0, ½ or 1 point of 1.
"""

from __future__ import annotations

from math import log, log10, sqrt
from typing import Final, NamedTuple

from arbiter.errors import argument_invalid

GAMES: Final = 2  #: of a pair
NORMALISED: Final = 800 / log(10)  #: normalised Elo of a difference of one standard deviation of a game
Z95: Final = 1.959963984540054  #: standard deviations on each side of a normal 95 % interval
LARGEST_ELO: Final = 1_200.0  #: the largest reported Elo difference: a more extreme score says nothing more


class Pairs(NamedTuple):
    """How often A scored 0, ½, 1, 1½ and 2 points against B in a pair of games."""

    zero: int = 0
    half: int = 0
    one: int = 0
    one_and_a_half: int = 0
    two: int = 0

    @property
    def total(self) -> int:
        """The number of pairs."""
        return sum(self)

    @property
    def swapped(self) -> Pairs:
        """The same pairs from B's side."""
        return Pairs(*reversed(self))

    def with_pair(self, half_points: int) -> Pairs:
        """Return the counts with one more pair, in which A scored this many half points (0 to 4)."""
        if not 0 <= half_points <= 4:
            raise argument_invalid(str(half_points), "half_points", "0 to 4", of="a pair of games")
        return Pairs(*(count + (place == half_points) for place, count in enumerate(self)))


SCORES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The score of each outcome of a pair, as a share of its points."""


class Moments(NamedTuple):
    """The mean of A's score (0 to 1), its variance in a single pair, and the number of pairs."""

    mean: float
    variance: float
    total: int

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return sqrt(self.variance / self.total) if self.total else 0.0


class Difference(NamedTuple):
    """The pairs' estimate for two bots: A's score, and how much better it is in Elo with its 95 % interval.

    It is valid for a number of pairs that was fixed beforehand; `difference.difference` computes it.

    superiority: the probability that A is better than B (LOS), 0 to 1. All Elo numbers are within ±1,200.
    """

    score: float
    elo: float
    low: float
    high: float
    superiority: float


def moments(pairs: Pairs) -> Moments:
    """Return the mean and variance of the scores of some pairs; 0.5 and 0 if there are none."""
    total = pairs.total
    if not total:
        return Moments(0.5, 0.0, 0)
    mean = sum(count * score for count, score in zip(pairs, SCORES, strict=True)) / total
    spread = sum(count * (score - mean) ** 2 for count, score in zip(pairs, SCORES, strict=True))
    return Moments(mean, spread / total, total)


class Normalised(NamedTuple):
    """A difference in normalised Elo, and half the width of its 95 % interval."""

    elo: float
    error: float


def normalised(pairs: Pairs) -> Normalised | None:
    """Return how much better A is in normalised Elo; None if the scores do not vary.

    That is the mean beyond ½ in standard deviations of a game, times 800 / ln 10. Source: Van den Bergh, "Normalized
    Elo" (2021). A pair's mean score has half the variance of a game's. The interval
    takes the mean as normal and its deviation as known.
    """
    mean, variance, total = moments(pairs)
    if not variance:
        return None
    of_game = sqrt(GAMES * variance)
    return Normalised(NORMALISED * (mean - 0.5) / of_game, NORMALISED * Z95 / sqrt(GAMES * total))


def draw_ratio(pairs: Pairs) -> float:
    """Return the share of pairs that both sides left with one point, as engine testers count it; 0 without pairs."""
    return pairs.one / pairs.total if pairs.total else 0.0


def regular(pairs: Pairs) -> list[float]:
    """Return the counts with a thousandth of a pair for each outcome that never occurred."""
    return [max(float(count), 1e-3) for count in pairs]


def expected_score(elo_difference: float) -> float:
    """Return the expected score of a bot that is better by this many Elo points (the logistic curve)."""
    return float(1 / (1 + 10 ** (-elo_difference / 400)))


def elo(score: float) -> float:
    """Return the Elo difference that a score corresponds to, at most ±1,200."""
    if not 0 < score < 1:
        return LARGEST_ELO if score >= 1 else -LARGEST_ELO
    return min(max(-400 * log10(1 / score - 1), -LARGEST_ELO), LARGEST_ELO)
