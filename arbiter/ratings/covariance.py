"""The parts of the covariance of ratings, advantage and draws that a fit needs, under a normal distribution."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from arbiter.ratings.outcomes import Matrix, Vector
from arbiter.ratings.scales import Integers


class Covariance(Protocol):
    """Covariance of (r, h, ln ν), in nats².

    variances: of each parameter; apart: of r(a) − r(b), for each pair that has met; with_advantage: the column of h.
    """

    @property
    def variances(self) -> Vector:
        """The variances of (r, h, ln ν)."""

    @property
    def apart(self) -> Vector:
        """The variances of the differences of the ratings of pairs that have met."""

    @property
    def with_advantage(self) -> Vector:
        """The covariances with h."""

    def times(self, values: Matrix) -> Matrix:
        """Return the covariance times a vector or times columns."""

    def differences(self, first: Integers, second: Integers) -> Vector:
        """Return the variances of the differences of the ratings of some players."""


class Dense:
    """A covariance as a matrix: exact, at a cost of the cube of the number of players."""

    def __init__(self, precision: Matrix, free: np.ndarray[tuple[int], np.dtype[np.bool_]], pairs: Pairs) -> None:
        if free.all():
            self.matrix: Matrix = np.linalg.inv(precision).astype(np.float64)
        else:
            self.matrix = np.zeros_like(precision)
            self.matrix[np.ix_(free, free)] = np.linalg.inv(precision[np.ix_(free, free)])
        self.variances: Vector = self.matrix.diagonal()
        self.apart = self.differences(*pairs)
        self.with_advantage: Vector = self.matrix[-2]

    def times(self, values: Matrix) -> Matrix:
        """Return the covariance times a vector or times columns."""
        product: Matrix = self.matrix @ values
        return product

    def differences(self, first: Integers, second: Integers) -> Vector:
        """Return the variances of the differences of the ratings of some players."""
        variance: Vector = self.variances[first] + self.variances[second] - 2 * self.matrix[first, second]
        return variance


Pairs = tuple[Integers, Integers]
"""Players by number: the first of each pair, and the second."""
