"""The covariance of the ratings of thousands of players, without a matrix of all of them.

The precision of the ratings is sparse: a row has an entry for each opponent. Advantage, draws, the centres of groups
and the shift of the whole scale touch every player, but they are few. So the precision is

    [S  B]          S: sparse, positive definite: games, version steps and the weights of first versions
    [Bᵀ A]          B: one column for each of the few; A: a small matrix

A product with the inverse takes products with S⁻¹ and one small inverse. S⁻¹ times a vector comes from the method of
conjugate gradients (Hestenes and Stiefel 1952), preconditioned by the diagonal. The prior holds every player, so this
converges in some dozens of steps for whatever schedule. A factorisation would not do: a schedule in which all meet all
at random fills it up.

The variances, the diagonal of S⁻¹, come from samples x = S⁻¹y with random y whose covariance is S (Papandreou and
Yuille, NIPS 2010), by the estimator of Sidén, Lindgren, Bolin and Villani, Journal of Computational and Graphical
Statistics 27 (2018): given all other players, a rating has the variance 1/S(i, i) and the mean x(i) − y(i)/S(i, i), so

    var r(i) = 1/S(i, i) + mean of (x(i) − y(i)/S(i, i))²

and likewise for the difference of two players, with their block of S. Only the second part has an error, of √(2/M) for
M samples. The samples are the same for everyone and for ever: signs from a bit generator with a fixed seed.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from arbiter.ratings.covariance import Doubt
from arbiter.ratings.model import Bend, Posterior
from arbiter.ratings.outcomes import Matrix, Vector
from arbiter.ratings.scales import FieldPrior, Integers, Scales

SEED: Final = 2026
ROUND: Final = 32  #: samples during the search; their errors average out over the players
SAMPLES: Final = 192  #: samples for the intervals
ERROR: Final = 0.05
"""The standard error of an interval's width is less than this share of it (with 192 samples, ½·√(2/192) = 5.1 % of
the part that is sampled); measured by tests/ratings/test_sparse.py."""

_EXACT: Final = 1e-6  # of the norm of the right side
_ROUGH: Final = 1e-4  # for samples, which begin near their last values
_STEPS: Final = 1_000
_ANCHORED: Final = 1e30  # precision of a given rating
_TINY: Final = 1e-300
_BLOCK: Final = 8_192  # pairs at once


class Sparse:
    """The precision of (r, h, ln ν) with products by its inverse, the covariance."""

    def __init__(self, posterior: Posterior, bend: Bend, scales: Scales) -> None:
        # Imported here: most records are small.
        from scipy.sparse import csr_array

        size, field = posterior.size, FieldPrior(scales)
        self.size = size
        self.free = posterior.free[:size]
        self.first = np.concatenate([posterior.first, posterior.before])
        self.second = np.concatenate([posterior.second, posterior.after])
        self.ties: Vector = np.concatenate([bend.informed * bend.saturated, 1 / scales.steps])
        self.founders, self.weights = posterior.founders, field.weights
        own: Vector = np.bincount(self.first, self.ties, size).astype(np.float64)
        own += np.bincount(self.second, self.ties, size)
        own[self.founders] += self.weights
        self.diagonal: Vector = np.where(self.free, own, _ANCHORED)
        tied = np.where(self.free[self.first] & self.free[self.second], self.ties, 0.0)
        everybody = np.arange(size)
        self.matrix: Any = csr_array(
            (
                np.concatenate([self.diagonal, -tied, -tied]),
                (
                    np.concatenate([everybody, self.first, self.second]),
                    np.concatenate([everybody, self.second, self.first]),
                ),
            ),
            shape=(size, size),
        )
        self._arrow(posterior, bend, field)

    def _arrow(self, posterior: Posterior, bend: Bend, field: FieldPrior) -> None:
        """Prepare the columns that touch every player."""
        few = 2 + field.count + 1
        columns, corner = np.zeros((self.size, few)), np.zeros((few, few))
        columns[:, :2] = posterior.border(bend)
        columns[self.founders, 2 + field.groups] = self.weights
        corner[:2, :2] = bend.corner
        corner[2:-1, 2:-1] = np.diag(field.total) + field.held
        columns[:, -1] = 1.0 if posterior.held else 0.0
        corner[-1, -1] = -1 / posterior.held if posterior.held else 1.0
        columns[~self.free] = 0
        self._columns = columns
        self._passed = self.solved(columns)
        self._inner: Matrix = np.linalg.inv(corner - columns.T @ self._passed).astype(np.float64)

    def solved(self, values: Matrix, start: Matrix | None = None, exact: float = _EXACT) -> Matrix:
        """Return S⁻¹ times columns, from a start, with an error of this share."""
        scale = 1 / self.diagonal[:, np.newaxis]
        x = np.zeros_like(values) if start is None else start.copy()
        rest = values - self.matrix @ x if start is not None else values.copy()
        goal = exact**2 * np.maximum(np.einsum("ij,ij->j", values * scale, values), _TINY)
        scaled = rest * scale
        along, norm = scaled.copy(), np.einsum("ij,ij->j", rest, scaled)
        for _ in range(_STEPS):
            if (norm <= goal).all():
                break
            product = self.matrix @ along
            step = norm / np.maximum(np.einsum("ij,ij->j", along, product), _TINY)
            x += step * along
            rest -= step * product
            np.multiply(rest, scale, out=scaled)
            norm, before = np.einsum("ij,ij->j", rest, scaled), norm
            along *= norm / np.maximum(before, _TINY)
            along += scaled
        return x

    def times(self, values: Matrix) -> Matrix:
        """Return the covariance times a vector or times columns."""
        columns = values.reshape(len(values), -1)
        of_ratings = np.where(self.free[:, np.newaxis], columns[: self.size], 0.0)
        passed = self.solved(of_ratings)
        few = -self._columns.T @ passed
        few[:2] += columns[self.size :]
        few = self._inner @ few
        product = np.concatenate([passed - self._passed @ few, few[:2]])
        return product.reshape(values.shape)

    def shared(self, first: Integers, second: Integers | None = None) -> Vector:
        """Return what the few columns add to the variances of ratings, or of differences of ratings."""
        passed = self._passed[first] if second is None else self._passed[first] - self._passed[second]
        added: Vector = np.einsum("ij,jk,ik->i", passed, self._inner, passed, optimize=True)
        return added

    @property
    def ends(self) -> Vector:
        """The variances of h and ln ν."""
        return self._inner.diagonal()[:2]


class Samples:
    """Samples from the normal distribution with precision S."""

    def __init__(self, system: Sparse, count: int, seed: int = SEED) -> None:
        from scipy.sparse import csr_array

        self._count = count
        self._bits = np.random.PCG64(seed)
        ties = len(system.first)
        rows, signs = np.concatenate([system.first, system.second]), np.repeat([1.0, -1.0], ties)
        self._ends: Any = csr_array((signs, (rows, np.tile(np.arange(ties), 2))), shape=(system.size, ties))
        self._of_ties, self._of_founders = self.signs(ties), self.signs(len(system.founders))
        self.x: Matrix | None = None

    def signs(self, rows: int) -> np.ndarray[tuple[int, int], np.dtype[np.int8]]:
        """Return random signs, ±1."""
        words = self._bits.random_raw(-(-rows * self._count // 64))
        bits = np.unpackbits(np.atleast_1d(words).astype("<u8").view(np.uint8))[: rows * self._count]
        return 2 * bits.astype(np.int8).reshape(rows, self._count) - 1

    def draw(self, system: Sparse) -> None:
        """Draw for a system: the same signs for each, so that similar systems have similar samples."""
        self.system = system
        self.y: Matrix = self._ends @ (np.sqrt(system.ties)[:, np.newaxis] * self._of_ties)
        self.y[system.founders] += np.sqrt(system.weights)[:, np.newaxis] * self._of_founders
        self.y[~system.free] = 0
        self.x = system.solved(self.y, self.x, _ROUGH)

    def variances(self) -> Vector:
        """Return the variances of the ratings, given the few."""
        assert self.x is not None
        single = 1 / self.system.diagonal
        rest = self.x - self.y * single[:, np.newaxis]
        variances: Vector = single + np.einsum("ij,ij->i", rest, rest) / self._count
        return variances

    def differences(self, first: Integers, second: Integers, tied: Vector) -> Vector:
        """Return the variances of differences of ratings, given the few; tied: the entries of −S."""
        assert self.x is not None
        one, two = self.system.diagonal[first], self.system.diagonal[second]
        determinant = one * two - tied**2
        by_one, by_two = (two - tied) / determinant, (tied - one) / determinant
        variances = by_one - by_two
        for start in range(0, len(first), _BLOCK):
            part = slice(start, start + _BLOCK)
            a, b = first[part], second[part]
            rest = self.x[a] - by_one[part, np.newaxis] * self.y[a]
            rest -= self.x[b] + by_two[part, np.newaxis] * self.y[b]
            variances[part] += np.einsum("ij,ij->i", rest, rest) / self._count
        return variances


class Sampled(Sparse):
    """A covariance whose variances come from samples."""

    def __init__(self, posterior: Posterior, bend: Bend, scales: Scales, before: Sampled | None) -> None:
        super().__init__(posterior, bend, scales)
        self._samples: Samples = before._samples if before is not None else Samples(self, ROUND)
        self._samples.draw(self)
        met = len(posterior.first)
        everybody = np.arange(self.size)
        of_ratings = np.where(self.free, self._samples.variances() + self.shared(everybody), 0.0)
        self.variances: Vector = np.concatenate([of_ratings, self.ends])
        self.apart = self._differences(self._samples, slice(met))
        self._of_steps = self._differences(self._samples, slice(met, None))
        unit = np.zeros(self.size + 2)
        unit[self.size] = 1
        self.with_advantage: Vector = self.times(unit)

    def _differences(self, samples: Samples, part: slice) -> Vector:
        first, second = self.first[part], self.second[part]
        tied = np.where(self.free[first] & self.free[second], self.ties[part], 0.0)
        return samples.differences(first, second, tied) + self.shared(first, second)

    def differences(self, first: Integers, second: Integers) -> Vector:
        """Return the variances of the steps of versions."""
        return self._of_steps

    def doubted(self, doubt: Doubt) -> Estimated:
        """Return this covariance with the uncertainty of the spreads."""
        return Estimated(self, doubt)


class Estimated:
    """Uncertainty from samples."""

    def __init__(self, system: Sampled, doubt: Doubt) -> None:
        self._system, self._doubt = system, doubt
        self._samples = Samples(system, SAMPLES, SEED + 1)
        self._samples.draw(system)
        signs = self._samples.signs(len(doubt.local))
        #: how the terms' own doubts move the ratings, by sample
        self._moved = system.times(doubt.pulls(np.sqrt(doubt.local)[:, np.newaxis] * signs))
        of_ratings = self._samples.variances() + system.shared(np.arange(system.size))
        plain = np.concatenate([np.where(system.free, of_ratings, 0.0), system.ends])
        self.variances: Vector = plain + self._added(doubt.columns, self._moved)
        self._plain = plain

    def _added(self, columns: Matrix, moved: Matrix) -> Vector:
        added: Vector = columns**2 @ self._doubt.variances + (moved**2).mean(axis=1)
        return added

    def around(self, players: Integers) -> Vector:
        """Return the variances of some players' ratings around the mean of these players' ratings."""
        mean = np.zeros(self._system.size + 2)
        mean[players] = 1 / len(players)
        with_mean = self._system.times(mean)
        columns, moved = self._doubt.columns[players], self._moved[players]
        variances = self._plain[players] - 2 * with_mean[players] + mean @ with_mean
        added = self._added(columns - columns.mean(axis=0), moved - moved.mean(axis=0))
        total: Vector = np.maximum(variances, 0) + added
        return total

    def differences(self, first: Integers, second: Integers) -> Vector:
        """Return the variances of the differences of the ratings of some players."""
        tied = -np.asarray(self._system.matrix[first, second]).ravel()
        variances = self._samples.differences(first, second, tied) + self._system.shared(first, second)
        columns, moved = (each[first] - each[second] for each in (self._doubt.columns, self._moved))
        return variances + self._added(columns, moved)
