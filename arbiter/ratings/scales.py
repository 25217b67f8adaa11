"""The variances of a posterior's terms, one by one: of first versions, version steps and pair effects.

A term of the prior is a number that is normal around 0: a first version's distance from the centre of its group, the
step from a version to the next, the effect of a pair. Given all variances, the first versions of a group are normal
around a centre. If there is one group, nothing is assumed about its centre; the centres of several groups are normal
around a common mean, about which nothing is assumed. The centres are integrated out, so that

    −2 ln density = Σ (r(i) − c(i))²/v(i) + Σ (c(k) − mean)²/B      at the centres c that minimise it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arbiter.ratings.outcomes import Matrix, Vector

Integers = npt.NDArray[np.intp]


class Scales(NamedTuple):
    """Variances of the terms of the prior, in nats².

    founders: of each first version, in the posterior's order; groups: the group of each, from 0; between: B, of the
    centres of groups; steps: of each step of a version; pairs: of the effect of each pair.
    """

    founders: Vector
    groups: Integers
    between: float
    steps: Vector
    pairs: Vector


class FieldPrior:
    """The prior of the first versions' ratings, given its scales."""

    def __init__(self, scales: Scales) -> None:
        self.groups = scales.groups
        self.weights: Vector = 1 / scales.founders
        count = int(self.groups.max(initial=0)) + 1
        self.count = count
        #: the precision of the centres around their mean
        self.held: Matrix = (np.eye(count) - 1 / count) / scales.between if count > 1 else np.zeros((1, 1))
        #: the sum of the weights of each group
        self.total: Vector = np.bincount(self.groups, self.weights, count).astype(np.float64)
        #: the covariance of the centres, given the ratings
        self.loose: Matrix = np.zeros((1, 1))
        if len(self.groups):
            self.loose = np.linalg.inv(np.diag(self.total) + self.held).astype(np.float64)

    def summed(self, values: Matrix) -> Matrix:
        """Return the sums by group of values (by row) times weights."""
        total = np.zeros((self.count, *values.shape[1:]))
        np.add.at(total, self.groups, (values.T * self.weights).T)
        return total

    def centres(self, ratings: Matrix) -> Matrix:
        """Return the most probable centres, given ratings (a vector, or columns)."""
        return self.loose @ self.summed(ratings)

    def away(self, ratings: Matrix) -> Matrix:
        """Return the ratings' distances from the most probable centres of their groups."""
        distances: Matrix = ratings - self.centres(ratings)[self.groups]
        return distances

    def times(self, ratings: Matrix) -> Matrix:
        """Return the precision times ratings (a vector, or columns)."""
        product: Matrix = (self.away(ratings).T * self.weights).T
        return product

    def to_centres(self) -> Matrix:
        """Return the derivatives of the most probable centres by the ratings, one row for each centre."""
        by = np.zeros((self.count, len(self.groups)))
        by[self.groups, np.arange(len(self.groups))] = self.weights
        return self.loose @ by
