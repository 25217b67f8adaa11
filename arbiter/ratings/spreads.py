"""Learns the spreads of the field, of version steps and of pair effects from the record, with heavy tails.

The terms of a family (first versions around the centre of their group, steps, effects of pairs) have a common spread s
and a weight w each, so that the variance of a term is s²/w. ln s is normal around the prior's value. The weights are
gamma distributed with mean 1 and ν/2 in both parameters, so the terms follow Student's t with ν degrees of freedom. An
outlier, or a version that is far better than the one before, has a small weight and is not pulled back to the others
(Lange, Little and Taylor, Journal of the American Statistical Association 84 (1989)). Pair effects have no weights: a
pair has too few games.

Both follow from the normal distribution nearest to the posterior, which gives each term a mean c and a variance V:

    w = (ν + 1) / (ν + (c² + V)/s²)            the EM algorithm's, by longer steps where it is slow
    Σ w (c² + V)/s² = the number of terms      plus the prior's pull on ln s; by scoring: a Newton step with the
                                               expected curvature 2 Σ (1 − ρ)² νw / (νw + (1 − ρ)²), where ρ = w V/s²

That is type II maximum likelihood with a prior (MacKay, Neural Computation 4 (1992); for ρ → 1 a term says nothing).

None of them is known exactly. So each variance grows by the variance of ln s, and of each ln w, times the square of the
derivative of the number by it (Kass and Steffey, Journal of the American Statistical Association 84 (1989)). The
variance of ln w is 2/(ν + 1 − 2ρ w c²/s² − ρ²).

A field may consist of several groups that are far apart, so that every game between them is nearly certain. Then the
games only show that the gap is large, while a normal field would determine how large. So the field is cut at its
largest gaps if that is at least e² times as likely (`groups_of`). Each group has a centre. The centres have a spread of
their own, with the prior's width and uncertainty.
"""

from __future__ import annotations

from math import exp, lgamma, log, pi
from typing import Final

import numpy as np

from arbiter.ratings.covariance import Covariance, Doubt
from arbiter.ratings.model import ELO_PER_NAT, SPREADS, Bend, Posterior, Prior
from arbiter.ratings.outcomes import Matrix, Vector
from arbiter.ratings.scales import FieldPrior, Integers, Scales

_NORMAL: Final = 1e9  # degrees of freedom: no heavy tails
_STRIDE: Final = 0.5  # the largest step of the logarithm of a spread in a round
_STEADY: Final = 0.6  # least steepness, as a share of a plain EM step's: longer steps may oscillate
_LESS: Final = 0.5  # factor of the next step after one that went too far
_MORE: Final = 1.2  # and factor otherwise
_BOUND: Final = 8.0  # the bound of the product of these factors, up and down
_FLATTEST: Final = 0.5  # minimum curvature by the logarithm of a weight
_ODDS: Final = 2.0  # nats: minimum evidence for groups; normal fields of ten reach it in 1 to 4 % of records
_CUTS: Final = 4  # maximum cuts of a field into groups


class Family:
    """Terms with a common spread and a weight each: a term's variance is spread² / weight."""

    def __init__(self, spread: float, doubt: float, freedom: float, size: int) -> None:
        self.believed = log(spread / ELO_PER_NAT) if spread else 0.0
        self.known = not spread
        self.doubt = doubt
        self.freedom = freedom
        self.log_spread = self.believed
        self.weights: Vector = np.ones(size)
        self.curvature = 0.0
        self._gain = 1.0  #: shares of a Newton step that are taken
        self._score = 0.0  #: the last one

    @property
    def variances(self) -> Vector:
        """The variance of each term."""
        return np.zeros_like(self.weights) if self.known else exp(2 * self.log_spread) / self.weights

    @property
    def variance(self) -> float:
        """The square of the common spread."""
        return exp(2 * self.log_spread)

    def slopes(self, means: Vector, variances: Vector) -> Vector:
        """Return how the gradient by the terms changes with the logarithm of the spread; the weights change with it."""
        slopes: Vector = 2 * self._along(means, variances) * self.weights * means / self.variance
        return slopes

    def learn(self, means: Vector, variances: Vector, share: float) -> float:
        """Move weights and spread towards the values that the terms imply; return the longest step."""
        if self.known or not len(self.weights):
            return 0.0
        drawn, loose = self._parts(means, variances)
        along = self._along(means, variances)
        steepness = np.maximum(self._steepness(drawn, loose), _STEADY * (self.freedom + 1))
        change = (self.freedom * (1 - self.weights) + 1 - drawn - loose) / steepness
        change = np.clip(share * change, -_STRIDE, _STRIDE)
        score = float((drawn + loose).sum()) - len(self.weights)
        self.curvature = float(2 * along @ (1 - np.minimum(loose, 1)) ** 2)
        stride = 0.0
        if self.doubt:
            score -= (self.log_spread - self.believed) / self.doubt**2
            self.curvature += self.doubt**-2
            self._gain = min(max(self._gain * (_LESS if score * self._score < 0 else _MORE), 1 / _BOUND), _BOUND)
            self._score = score
            stride = min(max(self._gain * score / self.curvature, -_STRIDE), _STRIDE)
            least, most = (log(end / ELO_PER_NAT) for end in SPREADS)
            stride = min(max(self.log_spread + stride, least), most) - self.log_spread
            self.log_spread += stride
        self.weights = self.weights * np.exp(change)
        return max(abs(stride), float(np.abs(change).max()))

    def local(self, means: Vector, variances: Vector) -> tuple[Vector, Vector]:
        """Return the gradient by each term that its weight's logarithm causes, and the variance of that logarithm."""
        return self.weights * means / self.variance, 2 / self._steepness(*self._parts(means, variances))

    def _parts(self, means: Vector, variances: Vector) -> tuple[Vector, Vector]:
        """Return the squares of the means, and the variances, in units of the terms' own variances."""
        unit = self.weights / self.variance
        return unit * means**2, unit * variances

    def _steepness(self, drawn: Vector, loose: Vector) -> Vector:
        """Return twice the curvature of the evidence by the logarithms of the weights."""
        return np.maximum(self.freedom + 1 - 2 * drawn * loose - loose**2, _FLATTEST)

    def _along(self, means: Vector, variances: Vector) -> Vector:
        """Return how a term's own variance changes with the square of the common spread; its weight changes with it."""
        known = (1 - np.minimum(self._parts(means, variances)[1], 1)) ** 2
        free = self.freedom * self.weights
        along: Vector = free / (free + known)
        return along


class Spreads:
    """The spreads of a posterior during the fit."""

    def __init__(self, posterior: Posterior, prior: Prior) -> None:
        self._posterior = posterior
        self._prior = prior
        self.field = Family(prior.spread, prior.spread_doubt, prior.field_freedom, len(posterior.founders))
        self.steps = Family(prior.version_spread, prior.version_doubt, prior.version_freedom, len(posterior.before))
        self.pairs = Family(prior.pair_spread, prior.pair_doubt, _NORMAL, len(posterior.first))
        self.groups: Integers = np.zeros(len(posterior.founders), dtype=np.intp)
        self.between = Family(prior.spread, prior.spread_doubt, _NORMAL, 1)
        self.doubts: list[tuple[float, Vector]] = []

    @property
    def scales(self) -> Scales:
        """The variances of all terms."""
        between = self.between.variance
        return Scales(self.field.variances, self.groups, between, self.steps.variances, self.pairs.variances)

    def learn(self, x: Vector, bend: Bend, covariance: Covariance, share: float) -> float:
        """Move all spreads towards the values that a normal distribution implies; return the longest step, in nats."""
        self.doubts = []
        scales = self.scales
        return max(
            self._learn_field(x, covariance, share),
            self._learn_steps(x, covariance, share),
            self._learn_pairs(x, bend, scales, covariance, share),
        )

    def _learn_field(self, x: Vector, covariance: Covariance, share: float) -> float:
        posterior = self._posterior
        founders, size = posterior.founders, posterior.size
        if not len(founders):
            return 0.0
        field = FieldPrior(self.scales)
        ratings = x[founders]
        self.of_field = means, variances, _ = self._founders(x, field, covariance)
        pull = np.zeros(size + 2)
        slopes = self.field.slopes(means, variances)
        by_centres = np.bincount(self.groups, slopes, field.count) + 2 * field.held @ field.centres(ratings)
        pull[founders] = slopes - field.to_centres().T @ by_centres
        drift = covariance.times(pull)
        changed = 0.0
        if field.count > 1:
            changed = self._learn_between(field, ratings, covariance, share)
        changed = max(changed, self.field.learn(means, variances, share))
        if self.field.doubt:
            self.doubts.append((1 / self.field.curvature, drift))
        return changed

    def _founders(self, x: Vector, field: FieldPrior, covariance: Covariance) -> tuple[Vector, Vector, Matrix]:
        """Return the distances from the centres: means, variances; and the covariances with centres."""
        posterior = self._posterior
        founders, groups = posterior.founders, self.groups
        by = np.zeros((posterior.size + 2, field.count))
        by[founders] = field.to_centres().T
        with_centres = covariance.times(by)
        of_centres = by.T @ with_centres
        variances = covariance.variances[founders] - 2 * with_centres[founders, groups]
        variances = variances + (of_centres + field.loose).diagonal()[groups]
        return field.away(x[founders]), variances, with_centres

    def _learn_between(self, field: FieldPrior, ratings: Vector, covariance: Covariance, share: float) -> float:
        posterior = self._posterior
        by = np.zeros((posterior.size + 2, field.count))
        by[posterior.founders] = field.to_centres().T
        centres = field.centres(ratings)
        of_centres = by.T @ covariance.times(by) + field.loose
        pull = by @ (2 * field.held @ centres)
        drift = covariance.times(pull)
        expected = float(centres @ field.held @ centres + np.trace(field.held @ of_centres))
        loose = field.held @ of_centres
        score = expected - (field.count - 1)
        curvature = max(0.0, 2 * expected - float(pull @ drift) - 2 * float((loose * loose.T).sum()))
        if not self.between.doubt:
            return 0.0
        score -= (self.between.log_spread - self.between.believed) / self.between.doubt**2
        curvature += self.between.doubt**-2
        stride = min(max(share * score / curvature, -_STRIDE), _STRIDE)
        self.between.log_spread += stride
        self.doubts.append((1 / curvature, drift))
        return abs(stride)

    def _learn_steps(self, x: Vector, covariance: Covariance, share: float) -> float:
        posterior = self._posterior
        if not len(posterior.before):
            return 0.0
        means = x[posterior.after] - x[posterior.before]
        variances = covariance.differences(posterior.after, posterior.before)
        self.of_steps = means, variances
        pull = np.zeros(posterior.size + 2)
        slopes = self.steps.slopes(means, variances)
        np.add.at(pull, posterior.after, slopes)
        np.subtract.at(pull, posterior.before, slopes)
        drift = covariance.times(pull)
        changed = self.steps.learn(means, variances, share)
        if self.steps.doubt:
            self.doubts.append((1 / self.steps.curvature, drift))
        return changed

    def _learn_pairs(self, x: Vector, bend: Bend, scales: Scales, covariance: Covariance, share: float) -> float:
        posterior = self._posterior
        if self.pairs.known or not len(posterior.first):
            return 0.0
        size, first, second = posterior.size, posterior.first, posterior.second
        means = x[size + 2 :]
        effect = scales.pairs * bend.saturated
        column = covariance.with_advantage
        along = bend.informed**2 * covariance.apart + bend.by_advantage**2 * column[size]
        along += 2 * bend.informed * bend.by_advantage * (column[first] - column[second])
        variances = effect + effect**2 * along
        slopes = self.pairs.slopes(means, variances)
        pull = posterior.reduced(bend, scales, slopes)
        drift = covariance.times(pull)
        changed = self.pairs.learn(means, variances, share)
        if self.pairs.doubt:
            self.doubts.append((1 / self.pairs.curvature, drift))
        return changed

    def group(self, x: Vector) -> bool:
        """Split the field into groups, if that is much more likely than one field; return whether it was split."""
        self.groups = groups_of(x[self._posterior.founders], self._prior)
        return bool(self.groups.any())

    def doubt(self, x: Vector, covariance: Covariance) -> Doubt:
        """Return the uncertainty of the spreads: of the common ones, and of each term's own."""
        posterior = self._posterior
        size, founders = posterior.size, posterior.founders
        empty = np.zeros((size + 2, 0))
        columns = np.stack([drift for _, drift in self.doubts], axis=1) if self.doubts else empty
        variances = np.array([variance for variance, _ in self.doubts])
        centres, by_field, of_field = np.zeros((0, 0)), np.zeros(0), np.zeros(0)
        if len(founders):
            field = FieldPrior(self.scales)
            means, loose, _ = self._founders(x, field, covariance)
            centres = field.to_centres().T
            by_field, of_field = self.field.local(means, loose)
        by_steps, of_steps = self.steps.local(*self.of_steps) if len(posterior.before) else (np.zeros(0), np.zeros(0))

        def pulls(values: Matrix) -> Matrix:
            """Return the pull of terms, first those of the field, then steps, times values (columns)."""
            pulled = np.zeros((size + 2, values.shape[1]))
            if len(founders):
                own = by_field[:, np.newaxis] * values[: len(founders)]
                of_groups = np.zeros((centres.shape[1], values.shape[1]))
                np.add.at(of_groups, self.groups, own)
                pulled[founders] += own - centres @ of_groups
            steps = by_steps[:, np.newaxis] * values[len(founders) :]
            np.add.at(pulled, posterior.after, steps)
            np.subtract.at(pulled, posterior.before, steps)
            return pulled

        return Doubt(columns, variances, pulls, np.concatenate([of_field, of_steps]))


def groups_of(ratings: Vector, prior: Prior) -> Integers:
    """Return the group of each rating, from 0. The field is cut at its largest gaps if that is much more likely.

    This is one-dimensional clustering by the likelihood of normal groups with a common spread, whose centres are normal
    with the prior's spread. The prior of a partition is that of a Chinese restaurant process (Pitman 2006) with
    concentration 1.
    """
    order = np.argsort(ratings, kind="stable")
    groups = np.zeros(len(ratings), dtype=np.intp)
    if len(ratings) < 4:
        return groups
    values = ratings[order]
    gaps = np.diff(values)
    by_gap = np.argsort(-gaps, kind="stable")[:_CUTS]
    base = _likelihood(values, [], prior)
    best, found = base + _ODDS, []
    for count in range(1, len(by_gap) + 1):
        cuts = sorted((by_gap[:count] + 1).tolist())
        likelihood = _likelihood(values, cuts, prior)
        if likelihood > best:
            best, found = likelihood, cuts
    parted = np.zeros(len(ratings), dtype=np.intp)
    for cut in found:
        parted[cut:] += 1
    groups[order] = parted
    return groups


def _likelihood(values: Vector, cuts: list[int], prior: Prior) -> float:
    parts = np.split(values, cuts)
    if cuts and min(map(len, parts)) < 2:
        return -np.inf
    wide = prior.spread / ELO_PER_NAT
    free = len(values) - len(parts)
    inside = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
    variance = max(inside / free, (10 / ELO_PER_NAT) ** 2)
    result = -free / 2 * (log(2 * pi * variance) + 1)
    centres = np.array([part.mean() for part in parts])
    result -= (len(parts) - 1) / 2 * log(2 * pi * wide**2)
    result -= float(((centres - centres.mean()) ** 2).sum()) / (2 * wide**2)
    return result + sum(lgamma(len(part)) for part in parts) - lgamma(len(values))
