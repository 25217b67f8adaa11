"""Ratings of a whole record of games, with intervals: the maximum a posteriori, and a normal distribution around it.

This is a pure function of the counts: everybody who has the games gets the same numbers. Arithmetic on other processors
may differ in the last bits of a double, so results are rounded to a thousandth of an Elo point. That is far below any
interval's width and far above those bits.

The numbers are the maximum of the posterior density (`model`), with the spread of the field at its own estimate.
Intervals contain 95 % of the posterior, by three steps (`normal` describes them and their sources):

1. The posterior is approximated by the normal distribution nearest to it, instead of one with the curvature at the
   maximum. So the interval of a player who won nearly all of its games extends further away from the others than
   towards them.
2. The spreads of the field, of version steps and of pair effects are learned, with heavy tails (`spreads`; `Prior`
   has the belief about them before the first game).
3. The uncertainty of these spreads makes the intervals wider.

Only differences of ratings have a meaning, so each interval is relative to something. Without anchors that is the mean
of all players (a single player is that mean: 0, without width); with anchors it is the anchors' scale. Two players'
intervals are not independent: for "is a stronger than b" use `Ratings.difference`.

How often the intervals contain the truth, in per cent and by condition, is in deploy/RESULTS.md, in a table that
`python -m tests.studies coverage 100` makes (tests/ratings/test_coverage.py runs fewer records). Two limits are not the
fit's to remove:

- One step to one new version is a single number. An interval that holds for every size of that number can't be much
  narrower where the number is 0 than one without a prior: by at most 15 % (Pratt, Journal of the American Statistical
  Association 56 (1961)). So the prior of steps is wide, and only a record with several steps makes it narrower.
- Whom a player meets may follow from the record so far, as on a ladder or in a Swiss. If it follows from strengths that
  are known from elsewhere, the schedule says who is strong and the record does not: neighbours in strength score about
  half of their points against each other, so the whole field looks narrow. Differences of players who met still hold.
  Games across the field and anchors mend it in part; the same page has figures.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import erf, log, sqrt, tanh
from typing import NamedTuple

import numpy as np

from arbiter.errors import Reason, Refusal
from arbiter.ratings.counts import Counts
from arbiter.ratings.covariance import Uncertainty
from arbiter.ratings.model import ELO_PER_NAT, Posterior, Prior
from arbiter.ratings.normal import Normal, maximum, nearest_normal
from arbiter.ratings.outcomes import Vector
from arbiter.ratings.pairs import Z95
from arbiter.ratings.rating_results import Estimate

"""The normal deviate with 95 % of the probability within ±."""


class Rated(NamedTuple):
    """A player's rating in Elo, the ends of its 95 % interval, and the number of its games."""

    player: str
    rating: float
    low: float
    high: float
    games: int


@dataclass(frozen=True, slots=True)
class FittedRatings:
    """The result of a fit.

    rated: all players, best first; players with equal ratings by name.
    advantage: the value of seat 1, in Elo.
    draws: the share of draws, 0 to 1, between two equal players (ν/(2 + ν)).
    spread: the fitted standard deviation of the field, in Elo.
    """

    rated: tuple[Rated, ...]
    advantage: Estimate
    draws: Estimate
    spread: float
    _mean: Vector = field(repr=False, compare=False)  #: of the ratings in nats, in the players' order by name
    _uncertainty: Uncertainty = field(repr=False, compare=False)  #: likewise
    _place: Mapping[str, int] = field(repr=False, compare=False)  #: in `rated`
    _index: Mapping[str, int] = field(repr=False, compare=False)  #: in the two above

    def has(self, player: str) -> bool:
        """Return whether a player has a rating."""
        return player in self._place

    def of(self, player: str) -> Rated:
        """Return a player's rating. Raises Refusal PLAYER_NOT_FOUND (fact id)."""
        if player not in self._place:
            raise Refusal(Reason.PLAYER_NOT_FOUND, f"{player!r} is not among the rated players", id=player)
        return self.rated[self._place[player]]

    def difference(self, player: str, other: str) -> Estimate:
        """Return how many Elo points a player is above another. Raises Refusal PLAYER_NOT_FOUND (fact id)."""
        value = (self.of(player).rating - self.of(other).rating) / ELO_PER_NAT
        return _elo(value, *self._apart(player, other))

    def shifted_to(self, given: Mapping[str, float]) -> dict[str, tuple[Estimate, float]]:
        """Return what the games say of some players' ratings, if the whole scale is shifted to given ratings in Elo.

        The mean of these players is then the mean of the given ratings, and the intervals are around it. The second
        number says how many standard deviations away the given rating is. Raises Refusal PLAYER_NOT_FOUND (fact id).
        """
        places = np.array([self._index[self.of(player).player] for player in given], dtype=np.intp)
        wanted = np.array([*given.values()]) / ELO_PER_NAT
        ratings = np.array([self.of(player).rating for player in given]) / ELO_PER_NAT
        means = self._mean[places]
        variances = np.maximum(self._uncertainty.around(places), 1e-12)
        values, means = (each - each.mean() + wanted.mean() for each in (ratings, means))
        away = np.abs(wanted - means) / np.sqrt(variances)
        said = itertools.starmap(_elo, zip(values.tolist(), means.tolist(), variances.tolist(), strict=True))
        return dict(zip(given, zip(said, away.tolist(), strict=True), strict=True))

    def superiority(self, player: str, other: str) -> float:
        """Return the probability, 0 to 1, that a player is better than another. Raises Refusal PLAYER_NOT_FOUND."""
        self.of(player), self.of(other)
        mean, variance = self._apart(player, other)
        if variance <= 0:
            return 0.5 if mean == 0 else float(mean > 0)
        return round((1 + erf(mean / sqrt(2 * variance))) / 2, 6)

    def _apart(self, player: str, other: str) -> tuple[float, float]:
        """Return mean and variance of the difference of two ratings, in nats."""
        a, b = self._index[player], self._index[other]
        variance = 0.0 if a == b else float(self._uncertainty.differences(np.array([a]), np.array([b]))[0])
        return float(self._mean[a] - self._mean[b]), variance


def fit(counts: Counts, prior: Prior | None = None, anchors: Mapping[str, float] | None = None) -> FittedRatings:
    """Return the ratings of all players in a record of games.

    prior: the belief before the first game; `Prior()` by default.
    anchors: given ratings in Elo that fix the scale, by player; they may include players without games.

    The cost grows with the number of pairs that have met, and with the cube of the number of players up to 1,000
    players. Beyond that the variances come from samples (`sparse`), and the cost grows with the pairs alone. Raises
    Refusal ARGUMENT_INVALID (facts what, where, allowed) for an anchor beyond ±10,000.
    """
    anchors, prior = anchors or {}, prior or Prior()
    posterior = Posterior(counts, prior, anchors)
    normal = nearest_normal(posterior, prior)
    x = maximum(posterior, normal.scales, normal.mean)
    size, uncertainty = posterior.size, normal.uncertainty
    mean, variances = normal.mean[:size], uncertainty.variances[:size]
    if size and not anchors:
        mean = mean - mean.mean()
        variances = uncertainty.around(np.arange(size))
    width = Z95 * np.sqrt(np.maximum(variances, 0))
    ends = (x[:size], np.minimum(x[:size], mean - width), np.maximum(x[:size], mean + width))
    columns = (np.round(each * ELO_PER_NAT, 3) + 0.0 for each in ends)
    rows = zip(posterior.players, *(each.tolist() for each in columns), posterior.games_of.tolist(), strict=True)
    rated = sorted(itertools.starmap(Rated, rows), key=lambda each: (-each.rating, each.player))
    return FittedRatings(
        rated=tuple(rated),
        advantage=_elo(float(x[size]), float(normal.mean[size]), float(uncertainty.variances[size])),
        draws=_share(float(x[size + 1]), float(normal.mean[size + 1]), float(uncertainty.variances[size + 1])),
        spread=round(_spread(posterior, normal) * ELO_PER_NAT, 3),
        _mean=mean,
        _uncertainty=uncertainty,
        _place={each.player: place for place, each in enumerate(rated)},
        _index={player: number for number, player in enumerate(posterior.players)},
    )


def _spread(posterior: Posterior, normal: Normal) -> float:
    """Return the standard deviation of the field: the root of the expected mean square around the mean."""
    founders = posterior.founders
    if len(founders) < 2:
        return float(np.sqrt(normal.scales.founders.mean())) if len(founders) else 0.0
    ratings = normal.mean[founders]
    squares = float(((ratings - ratings.mean()) ** 2).sum() + normal.uncertainty.around(founders).sum())
    return sqrt(squares / (len(founders) - 1))


def _ends(value: float, mean: float, variance: float) -> tuple[float, float, float]:
    """Return a value with its interval, extended if needed to contain the value."""
    width = Z95 * sqrt(max(0.0, variance))
    return value, min(value, mean - width), max(value, mean + width)


def _elo(value: float, mean: float, variance: float) -> Estimate:
    return Estimate(*(round(end * ELO_PER_NAT, 3) + 0.0 for end in _ends(value, mean, variance)))


def _share(value: float, mean: float, variance: float) -> Estimate:
    # ν/(2 + ν), the logistic function of ln ν − ln 2, in the form that never overflows.
    ends = ((1 + tanh((end - log(2)) / 2)) / 2 for end in _ends(value, mean, variance))
    return Estimate(*(round(end, 6) for end in ends))
