"""Ratings of a whole record of games, with intervals: the maximum a posteriori, and Laplace's approximation around it.

A pure function of the counts: everybody who has the games gets the same numbers. Arithmetic on other processors may
differ in the last bits of a double, so what is returned is rounded to a thousandth of an Elo point, far below any
interval's width and far above those bits.

Intervals hold 95 % of the posterior, taken as normal with the curvature at its maximum (Laplace). Only differences of
ratings mean anything, so each interval says against what: without anchors, against the mean of all players (a player
alone is that mean: 0, without width); with anchors, on the anchors' scale. Two players' intervals are not independent:
for "is a stronger than b" ask `Ratings.difference`. The shape of the posterior of a player who won or lost all games is
not normal but skewed, away from the others; with few games its interval is a rough one.

How often the players' intervals hold the truth, with the default prior, in 1,000 synthetic round robins each
(tests/ratings/test_synthetic.py runs fewer; strengths are normal with the given spread in Elo):

| players | games of each pair | spread 150 | 300 | 400 | 600 | 800 |
| --- | --- | --- | --- | --- | --- | --- |
| 4 | 4 | | 97.2 % | | 91.4 % | |
| 6 | 10 | | | 95.5 % | | |
| 10 | 4 | 95.7 % | 96.0 % | | | 81.0 % |
| 20 | 2 | | | 95.6 % | | |

So trust them less in a field where most games are foregone conclusions, until many games have been played.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log, sqrt, tanh
from typing import Final, NamedTuple

import numpy as np

from arbiter.errors import Reason, Refusal
from arbiter.ratings.counts import Counts
from arbiter.ratings.model import ELO_PER_NAT, Matrix, Posterior, Prior, Vector

Z95: Final = 1.959963984540054
"""The normal deviate with 95 % of the probability within ±."""

_STEPS: Final = 200  # Newton takes about ten
_NEAR: Final = 1e-6  # of gradient · step: the next gain could not be told from rounding
_DONE: Final = 1e-16  # of gradient · step, before the last step: convergence is quadratic
_SHORTEST: Final = 1e-9


class Estimate(NamedTuple):
    """A fitted number and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


class Rated(NamedTuple):
    """A player's rating in Elo, the ends of its 95 % interval, and the number of games that it rests on."""

    player: str
    rating: float
    low: float
    high: float
    games: int


@dataclass(frozen=True, slots=True)
class Ratings:
    """The outcome of a fit.

    rated: all players, best first, by name where ratings are equal.
    advantage: what holding seat 1 is worth, in Elo.
    draws: the share of games, 0 to 1, that two equal players draw (ν/(2 + ν)).
    """

    rated: tuple[Rated, ...]
    advantage: Estimate
    draws: Estimate
    _covariance: Matrix = field(repr=False, compare=False)  #: of the ratings in nats, in the players' order by name

    def of(self, player: str) -> Rated:
        """Return a player's rating. Raises Refusal PLAYER_NOT_FOUND (fact id)."""
        for rated in self.rated:
            if rated.player == player:
                return rated
        raise Refusal(Reason.PLAYER_NOT_FOUND, f"{player!r} is not among the rated players", id=player)

    def difference(self, player: str, other: str) -> Estimate:
        """Return how many Elo points a player is above another. Raises Refusal PLAYER_NOT_FOUND (fact id)."""
        value = self.of(player).rating - self.of(other).rating
        names = sorted(rated.player for rated in self.rated)
        a, b = names.index(player), names.index(other)
        variance = self._covariance[a, a] + self._covariance[b, b] - 2 * self._covariance[a, b]
        return _elo(value / ELO_PER_NAT, float(variance))


def fit(counts: Counts, prior: Prior | None = None, anchors: Mapping[str, float] | None = None) -> Ratings:
    """Return the ratings of everybody in a record of games.

    prior: what is believed before the first game; `Prior()` if left out.
    anchors: ratings in Elo that are given and fix the scale, by player; players without games may be among them.

    Costs time by pairs that have met, and by the cube of the number of players. Raises Refusal ARGUMENT_INVALID (facts
    what, where, allowed) for an anchor beyond ±10,000.
    """
    anchors = anchors or {}
    posterior = Posterior(counts, prior or Prior(), anchors)
    x = maximum(posterior)
    covariance = np.zeros((posterior.size + 2, posterior.size + 2))
    covariance[np.ix_(posterior.free, posterior.free)] = np.linalg.inv(_free_precision(posterior, x))
    size = posterior.size
    of_ratings = covariance[:size, :size]
    if size and not anchors:
        of_ratings = _against_the_mean(of_ratings)
    games = posterior.games_of
    rated = [
        Rated(player, *_elo(float(x[number]), float(of_ratings[number, number])), int(games[number]))
        for number, player in enumerate(posterior.players)
    ]
    return Ratings(
        rated=tuple(sorted(rated, key=lambda each: (-each.rating, each.player))),
        advantage=_elo(float(x[size]), float(covariance[size, size])),
        draws=_share(float(x[size + 1]), float(covariance[size + 1, size + 1])),
        _covariance=of_ratings,
    )


def maximum(posterior: Posterior) -> Vector:
    """Return the parameters, in nats, at the maximum of a posterior density: Newton's method with halved steps.

    The density is strictly log-concave in the free parameters, so there is one maximum and every Newton direction
    climbs. A full step is taken once the expected gain, half of gradient · step, is too small to be told from rounding.
    """
    x, free = posterior.start.copy(), posterior.free
    value = posterior.value(x)
    for _ in range(_STEPS):
        gradient = posterior.gradient(x)[free]
        direction = np.linalg.solve(_free_precision(posterior, x), gradient)
        slope = float(gradient @ direction)
        step = 1.0
        while True:
            tried = x.copy()
            tried[free] += step * direction
            tried_value = posterior.value(tried)
            if slope < _NEAR or tried_value >= value + 1e-4 * step * slope or step < _SHORTEST:
                break
            step /= 2
        x, value = tried, tried_value
        if slope < _DONE:
            break
    return x


def _free_precision(posterior: Posterior, x: Vector) -> Matrix:
    precision: Matrix = posterior.precision(x)[np.ix_(posterior.free, posterior.free)]
    return precision


def _against_the_mean(covariance: Matrix) -> Matrix:
    """Return the covariance of the ratings' distances from their mean."""
    rows = covariance.mean(axis=0)
    centred: Matrix = covariance - rows - rows[:, np.newaxis] + rows.mean()
    return centred


def _elo(nats: float, variance: float) -> Estimate:
    width = Z95 * sqrt(max(0.0, variance))
    return Estimate(*(round(end * ELO_PER_NAT, 3) + 0.0 for end in (nats, nats - width, nats + width)))


def _share(log_nu: float, variance: float) -> Estimate:
    width = Z95 * sqrt(variance)
    # ν/(2 + ν), the logistic function of ln ν − ln 2, in the form that never overflows.
    ends = ((1 + tanh((end - log(2)) / 2)) / 2 for end in (log_nu, log_nu - width, log_nu + width))
    return Estimate(*(round(end, 6) for end in ends))
