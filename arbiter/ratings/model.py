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

Repeated pairs have less weight. Two bots are not exactly as far apart in their own games as their ratings say: one may
exploit a weakness of the other. e is normal around 0 with standard deviation τ (`Prior.pair_spread`, updated from the
record). If the games of a pair contain the information I about their difference, then after averaging over e they
contain I / (1 + τ²I) about the difference of their ratings: never more than 1/τ², however many games they play.

The same game counts once. If m of a pair's n games with the same seats only repeat others, move by move, the likelihood
of these games is raised to the power (n − m)/n: they have the information of n − m games, and the score of all n. (With
the repeated games left out, the score itself would be biased: a bot with chance of its own repeats its frequent games,
so of these more would be missing.)

Versions are players of their own, and each is expected to be as strong as the one before:

    r(first version) ~ Normal(common mean, σ²)        r(version n + 1) ~ Normal(r(version n), ω²)

where σ, ω and τ are learned from the record, and σ and ω have a weight for each term (`spreads`): heavy tails. In the
precision of the prior each step is a term (r(n + 1) − r(n))²/ω², so the versions form a chain. A new version starts at
its predecessor's rating, with an interval that is about ω wider on each side. Its games then also say a little about
its predecessors.

| part | here |
| --- | --- |
| one advantage and one draw parameter for all pairs | yes, both fitted |
| an order effect of each pair of its own (the 1977 paper has it) | no |
| an effect of each pair on its difference in strength | yes, fitted; so is its spread τ |
| draws by the other model, Rao and Kupper (1967) | no |
| strength that changes in time (whole-history rating, Coulom 2008) | no: it changes from version to version |
| priors: Gaussian on ratings, on h and on ln ν | yes |

The prior on ratings is on their differences: each is normal around a common mean, about which nothing is assumed. So
the whole scale can be shifted freely, and anchors shift it. Without anchors the mean of all ratings is 0. Because of
the priors the maximum exists, is unique and is finite for every record, even one without losses, draws or games.

The logarithm of the posterior density is concave in (r, h, ln ν, e), as the sum of a log-linear model's likelihood and
of Gaussians. This module computes its value, its gradient and its curvature, summed over pairs and never over games;
gradient and curvature also as means over a normal distribution of u, which `fit` needs for its intervals. The pair
effects interact only through the other parameters. So they are eliminated pair by pair, and the remaining system has
one row for each player.
"""

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
from arbiter.ratings.anchors import ANCHOR_LIMIT
from arbiter.ratings.counts import Counts, chains
from arbiter.ratings.covariance import Covariance
from arbiter.ratings.outcomes import Matrix, Means, Vector, averaged, log_norm, outcomes, skews
from arbiter.ratings.scales import FieldPrior, Scales

_invalid: Final = partial(argument_invalid, of="a rating")

ELO_PER_NAT: Final = 400 / log(10)
"""Elo points in a nat: 400 Elo are odds of ten to one (Elo 1978, the logistic form)."""

SPREADS: Final = (1.0, 1e5)  #: the least and the largest spread of ratings, in Elo

_TABLED: Final = 1_000  # up to this number of players, pairs are found with a table of all cells
_HELD: Final = 1.0  # precision of the mean of all ratings if nothing else fixes it; it affects no result


@dataclass(frozen=True, slots=True)
class Prior:
    """The prior: the belief before the first game. Spreads are standard deviations of Gaussians.

    spread: of the players' ratings around their mean, in Elo, 1 to 100,000. Bots range from random movers to deep
    search, so the spread is learned from the record (see `spreads`); this is its median before the first game.
    spread_doubt: the uncertainty of `spread`: the standard deviation of its logarithm, 0 to 10; 0: it is known.
    field_freedom: the degrees of freedom of Student's t that the field follows, 1 to 1,000,000.
    version_spread: of a version's rating around that of the version before, in Elo, 1 to 100,000; version_doubt and
    version_freedom likewise.
    pair_spread: τ, of a pair's own effect, in Elo, 0 (there is none) to 1,000; pair_doubt likewise. With 25, two
    hundred games of two equal bots have half the information of games against two hundred different opponents, and
    no number of games has more than twice that.
    advantage_spread: of the first player's advantage around 0, in Elo, 1 to 100,000.
    draws: the share of draws between two equal players, strictly between 0 and 1.
    draws_spread: of ln ν around the value that corresponds to `draws`, in nats, 0.01 to 100. With the defaults, 95 %
    of the prior probability is on shares between 0.2 % and 85 %.

    Raises Refusal ARGUMENT_INVALID (facts what, where, allowed) for a number outside these bounds.
    """

    spread: float = 600.0
    spread_doubt: float = 0.7
    field_freedom: float = 3.0
    version_spread: float = 250.0
    version_doubt: float = 0.5
    version_freedom: float = 2.0
    pair_spread: float = 40.0
    pair_doubt: float = 1.0
    advantage_spread: float = 200.0
    draws: float = 0.1
    draws_spread: float = 2.0

    def __post_init__(self) -> None:
        bounds = {
            "spread": SPREADS,
            "spread_doubt": (0, 10),
            "field_freedom": (1, 1_000_000),
            "version_spread": SPREADS,
            "version_doubt": (0, 10),
            "version_freedom": (1, 1_000_000),
            "pair_spread": (0, 1_000),
            "pair_doubt": (0, 10),
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
    """The posterior at a point, to the second order, with the pair effects eliminated.

    gradient: by (r, h, ln ν). The other fields define their precision, the negative Hessian (`Posterior.precision`).
    `corner` is its part for (h, ln ν). For each pair, `informed`, `by_advantage` and `by_draws` are the negative
    derivatives of the likelihood by (v, v), (v, h) and (v, ln ν), where v = r(a) − r(b) + e(a, b); `saturated` is 1/(1
    + τ²I), with the variance τ² of the pair's effect; `pull` is τ² times the derivative by e.
    """

    gradient: Vector
    corner: Matrix
    informed: Vector
    by_advantage: Vector
    by_draws: Vector
    saturated: Vector
    pull: Vector


class Posterior:
    """The posterior density of a record of games, as a function of one vector of parameters, and of scales.

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
        # Column by column: ten times as fast as an array of tuples.
        seats1, seats2, *numbers = zip(*counts.pairs, strict=True) if counts.pairs else ((),) * 6
        seat1, seat2 = (np.fromiter(map(index.__getitem__, seats), np.intp, len(seats)) for seats in (seats1, seats2))
        of_rows = np.minimum(seat1, seat2) * size + np.maximum(seat1, seat2)
        if size <= _TABLED:
            # A table of all cells instead of sorting: the covariance is as large.
            number = np.zeros(size * size, dtype=np.intp)
            number[of_rows] = 1
            self._cells = np.flatnonzero(number)
            number[self._cells] = np.arange(len(self._cells))
            self._pair = number[of_rows]
        else:
            self._cells, self._pair = np.unique(of_rows, return_inverse=True)
        self.first, self.second = self._cells // size, self._cells % size
        self._sign = np.where(seat1 < seat2, 1.0, -1.0)
        wins, drawn, lost, repeated = (np.fromiter(column, np.float64, len(column)) for column in numbers)
        self._played = wins + drawn + lost
        self._games = self._played - repeated
        new = self._games / np.maximum(self._played, 1)
        self._draws, self._score = new * drawn, new * (wins - lost) / 2

    def _set_prior(self, prior: Prior, index: Mapping[str, int], shifting: bool) -> None:
        versions = chains(self.players)
        self.founders = np.array([index[chain[0]] for chain in versions], dtype=np.intp)
        steps = [(index[a], index[b]) for chain in versions for a, b in pairwise(chain)]
        self.before, self.after = np.array(steps, dtype=np.intp).reshape(-1, 2).T
        self.held = _HELD / max(1, self.size) if shifting else 0.0
        self._mean = np.array([0.0, log(2 * prior.draws / (1 - prior.draws))])
        self._weights = np.array([(ELO_PER_NAT / prior.advantage_spread) ** 2, 1 / prior.draws_spread**2])

    @property
    def games_of(self) -> npt.NDArray[np.int64]:
        """The number of games of each player."""
        games = self._by_pair(self._played)
        return self._by_player(games, games).astype(np.int64)

    def scales(self, prior: Prior) -> Scales:
        """Return the scales that the prior has before the first game."""
        spread, step, pair = (
            (elo / ELO_PER_NAT) ** 2 for elo in (prior.spread, prior.version_spread, prior.pair_spread)
        )
        founders, groups = np.full(len(self.founders), spread), np.zeros(len(self.founders), dtype=np.intp)
        return Scales(founders, groups, spread, np.full(len(self.before), step), np.full(len(self.first), pair))

    def value(self, x: Vector, scales: Scales) -> float:
        """Return the logarithm of the posterior density at x for given scales, up to a constant."""
        u, kappa = self._arguments(x)
        size = self.size
        likelihood = self._score * u + self._draws * kappa - self._games * log_norm(u, kappa)
        effects = x[size + 2 :]
        away = x[size : size + 2] - self._mean
        believed = float(x[:size] @ self._believed(x[:size], scales, FieldPrior(scales)) + self._weights @ away**2)
        known = scales.pairs > 0
        believed += float(np.sum(effects[known] ** 2 / scales.pairs[known]))
        return float(likelihood.sum() - believed / 2)

    def bend(self, x: Vector, scales: Scales, widths: Vector | None = None) -> Bend:
        """Return gradient and curvature at x for given scales.

        widths: standard deviations of u by row. If given, the likelihood's part is the mean over u, normal around its
        value.
        """
        size, tau2 = self.size, scales.pairs
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
        gradient[:size] -= self._believed(x[:size], scales, FieldPrior(scales))
        gradient[size:] -= self._weights * (x[size : size + 2] - self._mean)
        corner = np.diag(self._weights)
        corner[0, 0] += by_uu.sum() - by_advantage**2 @ less
        corner[0, 1] += by_uk.sum() - (by_advantage * by_draws) @ less
        corner[1, 0] = corner[0, 1]
        corner[1, 1] += self._games @ means.draw_draw - by_draws**2 @ less
        return Bend(gradient, corner, informed, by_advantage, by_draws, saturated, pull)

    def precision(self, bend: Bend, scales: Scales) -> Matrix:
        """Return the precision of (r, h, ln ν), the negative Hessian, as a matrix."""
        size = self.size
        result = np.empty((size + 2, size + 2))
        informed = bend.informed * bend.saturated
        result[:size, :size] = self.held
        result[self.first, self.second] -= informed
        result[self.second, self.first] -= informed
        result[np.arange(size), np.arange(size)] += self._by_player(informed, informed)
        held = FieldPrior(scales)
        to_centres = np.zeros((size, held.count))
        to_centres[self.founders, held.groups] = held.weights
        result[:size, :size] -= to_centres @ held.loose @ to_centres.T
        result[self.founders, self.founders] += held.weights
        step = 1 / scales.steps
        for one, other, sign in (
            (self.before, self.before, 1),
            (self.after, self.after, 1),
            (self.before, self.after, -1),
            (self.after, self.before, -1),
        ):
            np.add.at(result, (one, other), sign * step)
        border = self.border(bend)
        result[:size, size:] = border
        result[size:, :size] = border.T
        result[size:, size:] = bend.corner
        return result

    def whole(self, bend: Bend, scales: Scales, step: Vector) -> Vector:
        """Return a Newton step of (r, h, ln ν) extended by the step of the pair effects."""
        size = self.size
        along = bend.informed * (step[self.first] - step[self.second])
        along += bend.by_advantage * step[size] + bend.by_draws * step[size + 1]
        return np.concatenate([step, bend.saturated * (bend.pull - scales.pairs * along)])

    def reduced(self, bend: Bend, scales: Scales, by_effects: Vector) -> Vector:
        """Convert a gradient by the pair effects into one by (r, h, ln ν), with the effects eliminated."""
        passed = -scales.pairs * bend.saturated * by_effects
        along = passed * bend.informed
        ends = [passed @ bend.by_advantage, passed @ bend.by_draws]
        return np.concatenate([self._by_player(along, -along), ends])

    def widths(self, bend: Bend, scales: Scales, covariance: Covariance) -> Vector:
        """Return the standard deviations of u by row, given the covariance of (r, h, ln ν).

        Given these, a pair's effect is normal with variance τ²/(1 + τ²I), and follows r(a) − r(b) and h.
        """
        effect = scales.pairs * bend.saturated
        of_pair = (bend.saturated**2 * covariance.apart)[self._pair]
        with_advantage = covariance.with_advantage
        shared = with_advantage[self.first] - with_advantage[self.second]
        shared = (bend.saturated * shared)[self._pair] * self._sign
        own = 1 - self._sign * (effect * bend.by_advantage)[self._pair]
        of_advantage = with_advantage[self.size]
        variances = of_pair + 2 * own * shared + own**2 * of_advantage + effect[self._pair]
        widths: Vector = np.sqrt(np.maximum(variances, 0))
        return widths

    def rows(self) -> Matrix:
        """Return the derivatives of u by (r, h, ln ν), one row for each row of games."""
        rows = np.arange(len(self._pair))
        by = np.zeros((len(rows), self.size + 2))
        by[rows, self.first[self._pair]] = self._sign
        by[rows, self.second[self._pair]] = -self._sign
        by[:, self.size] = 1
        return by

    def third(self, x: Vector, widths: Vector) -> Vector:
        """Return the negative third derivatives of the likelihood by u, by row, as means over u."""
        return self._games * skews(*self._arguments(x), widths)

    def _believed(self, ratings: Matrix, scales: Scales, field: FieldPrior) -> Matrix:
        """Return the precision of the ratings' prior, times ratings (a vector, or columns)."""
        total = np.zeros_like(ratings)
        if len(self.founders):
            total[self.founders] = field.times(ratings[self.founders])
            total += self.held * ratings.sum(axis=0)
        if len(self.before):
            step = ((ratings[self.after] - ratings[self.before]).T / scales.steps).T
            np.add.at(total, self.after, step)
            np.subtract.at(total, self.before, step)
        return total

    def border(self, bend: Bend) -> Matrix:
        """Return the precision's columns of h and ln ν, in the rows of ratings."""
        columns = (each * bend.saturated for each in (bend.by_advantage, bend.by_draws))
        return np.stack([self._by_player(each, -each) for each in columns], axis=1)

    def _arguments(self, x: Vector) -> tuple[Vector, float]:
        """Return u by row, and ln ν."""
        v = x[self.first] - x[self.second] + x[self.size + 2 :]
        return self._sign * v[self._pair] + x[self.size], float(x[self.size + 1])

    def _means(self, x: Vector, widths: Vector | None) -> Means:
        u, kappa = self._arguments(x)
        return outcomes(u, kappa) if widths is None else averaged(u, widths, kappa)

    def _by_pair(self, by_row: Vector) -> Vector:
        return np.bincount(self._pair, by_row, len(self.first)).astype(np.float64)

    def _by_player(self, first: Vector, second: Vector) -> Vector:
        """Return the sum over each player's pairs: of `first` where it is the first of the pair, else of `second`."""
        size = self.size
        total = np.bincount(self.first, first, size) + np.bincount(self.second, second, size)
        return total.astype(np.float64)
