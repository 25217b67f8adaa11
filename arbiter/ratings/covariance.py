"""The parts of the covariance of ratings, advantage and draws that a fit needs, under a normal distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from arbiter.ratings.outcomes import Matrix, Vector
from arbiter.ratings.scales import Integers

Pairs = tuple[Integers, Integers]
"""Players by number: the first of each pair, and the second."""


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


class Doubt(NamedTuple):
    """The uncertainty of the spreads.

    columns: how the mean of (r, h, ln ν) moves with each common spread, a column each; variances: of their logarithms.
    pulls: from values by term (rows) to their pull on (r, h, ln ν); local: the variance of each term's own logarithm.
    """

    columns: Matrix
    variances: Vector
    pulls: Callable[[Matrix], Matrix]
    local: Vector


class Uncertainty(Protocol):
    """What a fit answers from: variances of the ratings, with all that adds to them."""

    @property
    def variances(self) -> Vector:
        """The variances of (r, h, ln ν)."""

    def around(self, players: Integers) -> Vector:
        """Return the variances of some players' ratings around the mean of these players' ratings."""

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
        return _differences(self.matrix, first, second)

    def doubted(self, doubt: Doubt) -> Exact:
        """Return this covariance with the uncertainty of the spreads."""
        local = self.times(doubt.pulls(np.eye(len(doubt.local))))
        added = (doubt.columns * doubt.variances) @ doubt.columns.T + (local * doubt.local) @ local.T
        return Exact(self.matrix + added)


class Exact:
    """Uncertainty as a matrix."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.variances: Vector = matrix.diagonal()

    def around(self, players: Integers) -> Vector:
        """Return the variances of some players' ratings around the mean of these players' ratings."""
        part = self.matrix[np.ix_(players, players)]
        variances: Vector = part.diagonal() - 2 * part.mean(axis=0) + part.mean()
        return variances

    def differences(self, first: Integers, second: Integers) -> Vector:
        """Return the variances of the differences of the ratings of some players."""
        return _differences(self.matrix, first, second)


def _differences(matrix: Matrix, first: Integers, second: Integers) -> Vector:
    diagonal = matrix.diagonal()
    variance: Vector = diagonal[first] + diagonal[second] - 2 * matrix[first, second]
    return variance
