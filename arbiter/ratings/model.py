"""The model behind the ratings: Bradley–Terry with draws and an advantage of the first player, and its priors.

Sources. Bradley and Terry, Biometrika 39 (1952): strengths. Davidson, Journal of the American Statistical Association
65 (1970): draws, with a probability proportional to the geometric mean of the two strengths. Davidson and Beaver,
Biometrics 33 (1977): the multiplicative effect of the order within a pair. Stiratelli, Laird and Ware, Biometrics 40
(1984): effects of groups (here: of pairs) in a logistic model, normal around 0, estimated together with the rest.
Glickman, Applied Statistics 48 (1999): strength as a Gaussian walk, a step a period (here: a step a version).

With ratings r in nats (natural logarithms of strengths), an advantage h of seat 1, a draw parameter ν and a pair's own
effect e, a game of a in seat 1 against b in seat 2 has u = r(a) − r(b) + e(a, b) + h, with e(b, a) = −e(a, b), and ends
with probabilities proportional to

    seat 1 wins: exp(u/2)        draw: ν        seat 2 wins: exp(−u/2)

Davidson and Beaver write the same three as π(a), ν'·√(π(a)π(b)) and γ·π(b). With one order effect for all pairs that
is the same family of models: h = −ln γ and ν = ν'/√γ. Two equal players without an advantage draw ν/(2 + ν) of their
games.

Repeated pairs weigh less. Two bots are not as far apart in their own games as their ratings say: one may know just what
the other does wrong. e is normal around 0 with standard deviation τ (`Prior.pair_spread`). If the games of a pair hold
the information I about their difference, then after e has been averaged out they hold I / (1 + τ²I) about the difference
of their ratings: never more than 1/τ², however many games they play.

Versions are players of their own, and each is expected to be as strong as the one before:

    r(first version) ~ Normal(common mean, σ²)        r(version n + 1) ~ Normal(r(version n), ω²)

with ω = `Prior.version_spread`. In the precision of the prior that is a term (r(n + 1) − r(n))²/ω² for each step: a
chain. So a new version begins at its predecessor's rating and with an interval by about ω wider on each side, and what
it then plays says a little about its predecessors too.

| part | here |
| --- | --- |
| one advantage and one draw parameter for all pairs | yes, both fitted |
| an order effect of each pair of its own (the 1977 paper has it) | no |
| an effect of each pair on its difference in strength | yes, fitted; its spread τ is given |
| draws by the other model, Rao and Kupper (1967) | no |
| strength that changes in time (whole-history rating, Coulom 2008) | no: it changes from version to version |
| priors: Gaussian on ratings, on h and on ln ν | yes |

The prior on ratings is on their differences: each is normal around a common mean, of which nothing is assumed. So the
whole scale may be shifted freely, and anchors shift it. Without anchors the mean of all ratings is 0. Because of the
priors, the maximum exists, is unique and is finite for every record, also for one without losses, draws or games.

The logarithm of the posterior density is concave in (r, h, ln ν, e), as the sum of a log-linear model's likelihood and
of Gaussians. Here are its value, its gradient and its curvature, summed by pairs and never by games; gradient and
curvature also as means over a normal distribution of u, which is what `fit` needs for its intervals. The pair effects
touch one another only through the rest, so they are solved for pair by pair, and what is left has a row a player.
"""  # noqa: E501 - a formula is not broken

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import log
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from arbiter.errors import argument_invalid
from arbiter.ratings.counts import Counts, chains
from arbiter.ratings.outcomes import Matrix, Means, Vector, averaged, log_norm, outcomes, skews

_invalid: Final = partial(argument_invalid, of="a rating")

ELO_PER_NAT: Final = 400 / log(10)
"""Elo points in a nat: 400 Elo are odds of ten to one (Elo 1978, the logistic form)."""

ANCHOR_LIMIT: Final = 10_000.0
"""The largest anchor, up or down, in Elo: beyond it the arithmetic has no digits left."""

SPREADS: Final = (1.0, 1e5)  #: the least and the largest spread of ratings, in Elo

_HELD: Final = 1.0  # precision of the mean of all ratings where nothing else holds it; it shows nowhere


@dataclass(frozen=True, slots=True)
class Prior:
    """What is believed before the first game. Spreads are standard deviations of Gaussians.

    spread: of the players' ratings around their mean, in Elo, 1 to 100,000. Bots reach from random movers to deep
    search, so it is learned from the record (see `fit`): this is its median before the first game.
    spread_doubt: how little is believed of `spread`: the standard deviation of its logarithm, 0 to 10; 0: it is known.
    version_spread: of a version's rating around that of the version before, in Elo, 1 to 100,000.
    pair_spread: τ, of a pair's own effect, in Elo, 0 (there is none) to 1,000. With 25, two hundred games of two equal
    bots say half of what they would say if they were played against two hundred opponents, and no number says more than
    twice that.
    advantage_spread: of the first player's advantage around 0, in Elo, 1 to 100,000.
    draws: the share of games that two equal players draw, strictly between 0 and 1.
    draws_spread: of ln ν around the value that `draws` stands for, in nats, 0.01 to 100. With the defaults, 95 % of the
    belief lies on shares between 0.2 % and 85 %.

    Raises Refusal ARGUMENT_INVALID (facts what, where, allowed) for a number outside these bounds.
    """

    spread: float = 600.0
    spread_doubt: float = 0.7
    version_spread: float = 100.0
    pair_spread: float = 25.0
    advantage_spread: float = 200.0
    draws: float = 0.1
    draws_spread: float = 2.0

    def __post_init__(self) -> None:
        bounds = {
            "spread": SPREADS,
            "spread_doubt": (0, 10),
            "version_spread": SPREADS,
            "pair_spread": (0, 1_000),
            "advantage_spread": SPREADS,
            "draws_spread": (0.01, 100),
        }
        for name, (least, most) in bounds.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise _invalid(value, name, f"a number from {least:g} to {most:g}")
        if not 0 < self.draws < 1:
            raise _invalid(self.draws, "draws", "a share between 0 and 1, neither of them")


class Bend(NamedTuple):
    """The posterior at a point, to the second order, with the pair effects solved for.

    gradient, precision: of (r, h, ln ν); the precision is the negative Hessian. The rest is by pair: `informed`,
    `by_advantage` and `by_draws` are the negative derivatives of the likelihood by (v, v), (v, h) and (v, ln ν), where
    v = r(a) − r(b) + e(a, b); `saturated` is 1/(1 + τ²I); `pull` is τ² times the derivative by e.
    """

    gradient: Vector
    precision: Matrix
    informed: Vector
    by_advantage: Vector
    by_draws: Vector
    saturated: Vector
    pull: Vector


class Posterior:
    """The posterior density of a record of games, as a function of one vector of parameters.

    The vector holds, in nats: the ratings of `players` (sorted by name), the advantage of seat 1, ln ν, and the effects
    e(a, b) of all pairs that have met, a before b by name. `free` marks the parameters among the first n + 2 that are
    to be fitted: all but the ratings of anchored players. Games are laid out in rows, one for each pair and seating.

    Raises Refusal ARGUMENT_INVALID (facts what, where, allowed) for an anchor beyond ±10,000 Elo.
    """

    def __init__(self, counts: Counts, prior: Prior, anchors: Mapping[str, float]) -> None:
        self.players: tuple[str, ...] = tuple(sorted({*counts.players, *anchors}))
        self.size = size = len(self.players)
        index = {player: number for number, player in enumerate(self.players)}
        self._count(counts, index)
        self.tau2 = (prior.pair_spread / ELO_PER_NAT) ** 2
        self._set_prior(prior, index, not anchors)
        self.start: Vector = np.zeros(size + 2 + len(self.first))
        self.start[size + 1] = self._mean[1]
        self.start[:size] = sum(anchors[player] for player in sorted(anchors)) / max(1, len(anchors)) / ELO_PER_NAT
        self.free = np.ones(size + 2, dtype=np.bool_)
        for player, rating in anchors.items():
            if not -ANCHOR_LIMIT <= rating <= ANCHOR_LIMIT:
                raise _invalid(rating, f"anchor {player}", f"a number between ±{ANCHOR_LIMIT:g}")
            self.start[index[player]] = rating / ELO_PER_NAT
            self.free[index[player]] = False

    def _count(self, counts: Counts, index: Mapping[str, int]) -> None:
        size = max(1, self.size)
        # By columns: ten times as fast as an array of tuples.
        seats1, seats2, wins1, draws, wins2 = zip(*counts.pairs, strict=True) if counts.pairs else ((),) * 5
        seat1, seat2 = (np.fromiter(map(index.__getitem__, seats), np.intp, len(seats)) for seats in (seats1, seats2))
        of_rows = np.minimum(seat1, seat2) * size + np.maximum(seat1, seat2)
        # A table of all cells instead of sorting: the covariance has as many.
        number = np.zeros(size * size, dtype=np.intp)
        number[of_rows] = 1
        self._cells = np.flatnonzero(number)
        number[self._cells] = np.arange(len(self._cells))
        self._pair = number[of_rows]
        self.first, self.second = self._cells // size, self._cells % size
        self._sign = np.where(seat1 < seat2, 1.0, -1.0)
        wins, drawn, lost = (np.fromiter(column, np.float64, len(column)) for column in (wins1, draws, wins2))
        self._games, self._draws, self._score = wins + drawn + lost, drawn, (wins - lost) / 2

    def _set_prior(self, prior: Prior, index: Mapping[str, int], shifting: bool) -> None:
        """Set the parts of the prior's precision: `_fixed`, and `_spreading`, which is divided by σ².

        The latter is what `spread_out` multiplies by: a first version's distance from the mean of all of them.
        """
        size = self.size
        versions = chains(self.players)
        first = np.array([index[chain[0]] for chain in versions], dtype=np.intp)
        self._first_versions = first
        self._spreading = np.zeros((size, size))
        self._spreading[first, first] = 1
        self._spreading[np.ix_(first, first)] -= 1 / max(1, len(first))
        self._fixed = np.full((size, size), _HELD / max(1, size) if shifting else 0.0)
        step = (ELO_PER_NAT / prior.version_spread) ** 2
        for chain in versions:
            for before, after in pairwise(chain):
                a, b = index[before], index[after]
                self._fixed[[a, b], [a, b]] += step
                self._fixed[[a, b], [b, a]] -= step
        self._mean = np.array([0.0, log(2 * prior.draws / (1 - prior.draws))])
        self._weights = np.array([(ELO_PER_NAT / prior.advantage_spread) ** 2, 1 / prior.draws_spread**2])

    @property
    def games_of(self) -> npt.NDArray[np.int64]:
        """The number of games of each player."""
        games = self._by_pair(self._games)
        return self._by_player(games, games).astype(np.int64)

    @property
    def founders(self) -> int:
        """The number of first versions."""
        return len(self._first_versions)

    def spread_out(self, values: Vector) -> Vector:
        """Return the distances of the first versions' values (or rows) from their mean, 0 for all other versions."""
        first, distances = self._first_versions, np.zeros_like(values)
        if len(first):
            distances[first] = values[first] - values[first].mean(axis=0)
        return distances

    def scatter(self, ratings: Vector) -> float:
        """Return the sum of squares of the first versions' ratings around their mean."""
        return float(ratings @ self.spread_out(ratings))

    def value(self, x: Vector, spread: float) -> float:
        """Return the logarithm of the posterior density at x for a spread σ in nats, up to a constant."""
        u, kappa = self._arguments(x)
        size = self.size
        likelihood = self._score * u + self._draws * kappa - self._games * log_norm(u, kappa)
        ratings, effects = x[:size], x[size + 2 :]
        away = x[size : size + 2] - self._mean
        believed = ratings @ self._fixed @ ratings + self.scatter(ratings) / spread**2 + self._weights @ away**2
        if self.tau2:
            believed += effects @ effects / self.tau2
        return float(likelihood.sum() - believed / 2)

    def bend(self, x: Vector, spread: float, widths: Vector | None = None) -> Bend:
        """Return gradient and curvature at x for a spread σ in nats.

        widths: standard deviations of u by row; the likelihood's part is then the mean over u normal around its value.
        """
        size, tau2 = self.size, self.tau2
        means = self._means(x, widths)
        by_u = self._score - self._games * means.score
        by_uu, by_uk = self._games * means.score_score, self._games * means.score_draw
        by_v = self._by_pair(self._sign * by_u)
        informed = self._by_pair(by_uu)
        by_advantage, by_draws = self._by_pair(self._sign * by_uu), self._by_pair(self._sign * by_uk)
        saturated = 1 / (1 + tau2 * informed)
        pull = tau2 * by_v - x[size + 2 :]
        moved, less = saturated * pull, tau2 * saturated
        rest = by_v - informed * moved
        gradient = np.concatenate([self._by_player(rest, -rest), np.zeros(2)])
        gradient[size] = by_u.sum() - by_advantage @ moved
        gradient[size + 1] = (self._draws - self._games * means.draw).sum() - by_draws @ moved
        gradient[:size] -= self._fixed @ x[:size] + self.spread_out(x[:size]) / spread**2
        gradient[size:] -= self._weights * (x[size : size + 2] - self._mean)
        precision = self._precision(informed * saturated, by_advantage * saturated, by_draws * saturated, spread)
        precision[size, size] += by_uu.sum() - by_advantage**2 @ less
        precision[size, size + 1] += by_uk.sum() - (by_advantage * by_draws) @ less
        precision[size + 1, size] = precision[size, size + 1]
        precision[size + 1, size + 1] += self._games @ means.draw_draw - by_draws**2 @ less
        return Bend(gradient, precision, informed, by_advantage, by_draws, saturated, pull)

    def whole(self, bend: Bend, step: Vector) -> Vector:
        """Return a Newton step of (r, h, ln ν) together with that of the pair effects."""
        size = self.size
        along = bend.informed * (step[self.first] - step[self.second])
        along += bend.by_advantage * step[size] + bend.by_draws * step[size + 1]
        return np.concatenate([step, bend.saturated * (bend.pull - self.tau2 * along)])

    def widths(self, bend: Bend, covariance: Matrix) -> Vector:
        """Return the standard deviations of u by row, given the covariance of (r, h, ln ν).

        Given these, a pair's effect is normal with variance τ²/(1 + τ²I), and follows r(a) − r(b) and h.
        """
        size, first, second = self.size, self.first, self.second
        variance = covariance.diagonal()
        of_pair = (bend.saturated**2 * (variance[first] + variance[second] - 2 * covariance[first, second]))[self._pair]
        shared = (bend.saturated * (covariance[first, size] - covariance[second, size]))[self._pair] * self._sign
        own = 1 - self._sign * (self.tau2 * bend.saturated * bend.by_advantage)[self._pair]
        effect = (self.tau2 * bend.saturated)[self._pair]
        widths: Vector = np.sqrt(np.maximum(of_pair + 2 * own * shared + own**2 * variance[size] + effect, 0))
        return widths

    def rows(self) -> Matrix:
        """Return the derivatives of u by (r, h, ln ν), a row each."""
        rows = np.arange(len(self._pair))
        by = np.zeros((len(rows), self.size + 2))
        by[rows, self.first[self._pair]] = self._sign
        by[rows, self.second[self._pair]] = -self._sign
        by[:, self.size] = 1
        return by

    def third(self, x: Vector, widths: Vector) -> Vector:
        """Return the negative third derivatives of the likelihood by u, by row, as means over u."""
        return self._games * skews(*self._arguments(x), widths)

    def _arguments(self, x: Vector) -> tuple[Vector, float]:
        """Return u by row, and ln ν."""
        v = x[self.first] - x[self.second] + x[self.size + 2 :]
        return self._sign * v[self._pair] + x[self.size], float(x[self.size + 1])

    def _means(self, x: Vector, widths: Vector | None) -> Means:
        u, kappa = self._arguments(x)
        return outcomes(u, kappa) if widths is None else averaged(u, widths, kappa)

    def _precision(self, informed: Vector, by_advantage: Vector, by_draws: Vector, spread: float) -> Matrix:
        """Return the precision of (r, h, ln ν), but for the likelihood's part in the last two rows and columns."""
        size = self.size
        result = np.zeros((size + 2, size + 2))
        by_cell = np.bincount(self._cells, informed, size * size).reshape(size, size)
        result[:size, :size] = self._fixed + self._spreading / spread**2 - by_cell - by_cell.T
        result[np.arange(size), np.arange(size)] += self._by_player(informed, informed)
        for column, weights in ((size, by_advantage), (size + 1, by_draws)):
            border = self._by_player(weights, -weights)
            result[:size, column] = border
            result[column, :size] = border
        result[[size, size + 1], [size, size + 1]] = self._weights
        return result

    def _by_pair(self, by_row: Vector) -> Vector:
        return np.bincount(self._pair, by_row, len(self.first)).astype(np.float64)

    def _by_player(self, first: Vector, second: Vector) -> Vector:
        """Return the sum over each player's pairs of one weight where it is the first, of the other where second."""
        size = self.size
        total = np.bincount(self.first, first, size) + np.bincount(self.second, second, size)
        return total.astype(np.float64)
