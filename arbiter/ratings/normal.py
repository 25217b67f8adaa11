"""The normal distribution nearest to a posterior, with the spread of the field that goes with it, and the maximum.

Laplace's approximation, a normal distribution with the curvature at the maximum, is too narrow where results are nearly
certain: away from the maximum the posterior falls off more slowly on the side away from the other players. Three steps
correct that.

1. It takes the normal distribution nearest to the posterior (least Kullback–Leibler divergence from it).
   At its mean the *expected* gradient is 0, and its precision is the *expected* negative Hessian, both over that same
   distribution (Opper and Archambeau, Neural Computation 21 (2009); Challis and Barber, Journal of Machine Learning
   Research 14 (2013)). The expectations are over one u at a time, by Gauss–Hermite quadrature.
2. The spreads of the prior are learned: the distribution gives a lower bound of the evidence, which is largest where
   the expected squares of the terms agree with the spreads (`spreads`).
3. The uncertainty of the spreads adds to each variance (also in `spreads`).

In small records one more term of the covariance matters (`_correction`). Its cost is the square of the rows, and it
vanishes as the number of games grows.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from arbiter.ratings.covariance import Dense, Exact, Uncertainty
from arbiter.ratings.model import Bend, Posterior, Prior
from arbiter.ratings.outcomes import Matrix, Vector
from arbiter.ratings.scales import Scales
from arbiter.ratings.sparse import Sampled, Sparse
from arbiter.ratings.spreads import Spreads

SMALL: Final = 1_000  #: up to this many rows (pairs and seatings that met) a record is small

MATRIX: Final = 1_000  #: up to this many players the covariance is a matrix; beyond, variances come from samples

_STEPS: Final = 200  # Newton's method usually takes about ten
_NEAR: Final = 1e-6  # of gradient · step: a further gain would be below the rounding error
_DONE: Final = 1e-9  # of gradient · step, before the last step, which squares it: convergence is quadratic
_SHORTEST: Final = 1e-9
_ROUNDS: Final = 300  # rounds of the search for the nearest normal distribution; usually five to fifty
_STILL: Final = 2e-5  # nats: 0.004 Elo points; the remaining error is smaller
_STILL_SAMPLED: Final = 1e-3  # nats: 0.2 Elo points, where variances come from samples
_STILL_SPREADS: Final = 2e-4  # of the logarithms of spreads: a fiftieth of a per cent
_BEGUN: Final = 100.0  # of gradient · step: close enough to start from
_SHARES: Final = (20, 1.0), (60, 0.6), (_ROUNDS, 0.3)
"""Step sizes, each up to a round: where results are nearly certain, full steps would oscillate for long."""
_SETTLED: Final = 0.05  # nats: close enough to search for groups
_LEAP: Final = 3.0  # nats: the largest step of a parameter in a round
_TINY: Final = 1e-300


class Normal(NamedTuple):
    """The normal distribution nearest to a posterior, in nats.

    mean: of all parameters; uncertainty: of (r, h, ln ν), including the uncertainty of the spreads. scales: the fitted
    variances of the prior's terms.
    """

    mean: Vector
    uncertainty: Uncertainty
    scales: Scales


def maximum(posterior: Posterior, scales: Scales, start: Vector | None = None, done: float = _DONE) -> Vector:
    """Return the parameters, in nats, at the maximum of a posterior density: Newton's method with step halving.

    The density is strictly log-concave in the free parameters, so there is one maximum, and every Newton direction is
    uphill. A full step is taken once the expected gain, half of gradient · step, is below the rounding error.
    """
    x = posterior.start if start is None else start
    value = posterior.value(x, scales)
    known = scales.pairs > 0
    free = np.ix_(posterior.free, posterior.free)
    for _ in range(_STEPS):
        bend = posterior.bend(x, scales)
        direction = np.zeros(posterior.size + 2)
        if posterior.size <= MATRIX:
            precision = posterior.precision(bend, scales)[free]
            direction[posterior.free] = np.linalg.solve(precision, bend.gradient[posterior.free])
        else:
            direction = Sparse(posterior, bend, scales).times(bend.gradient)
        slope = float(bend.gradient @ direction)
        slope += float(np.sum((bend.saturated * bend.pull**2)[known] / scales.pairs[known]))
        direction = posterior.whole(bend, scales, direction)
        if slope < _NEAR:
            x = x + direction
        else:
            x, value = _climbed(posterior, scales, x, value, direction, slope)
        if slope < done:
            break
    return x


def _climbed(
    posterior: Posterior, scales: Scales, x: Vector, value: float, direction: Vector, slope: float
) -> tuple[Vector, float]:
    """Return the point and value after the longest halved step that reaches a good part of its expected gain."""
    step = 1.0
    while True:
        tried = x + step * direction
        tried_value = posterior.value(tried, scales)
        if tried_value >= value + 1e-4 * step * slope or step < _SHORTEST:
            return tried, tried_value
        step /= 2


def nearest_normal(posterior: Posterior, prior: Prior) -> Normal:
    """Return the normal distribution nearest to a posterior, fitted together with the spreads.

    Each round moves the mean by a Newton step of the expected gradient, then recomputes the precision and the widths of
    u, and updates the spreads. It starts from the maximum at the prior's spreads.
    """
    spreads = Spreads(posterior, prior)
    x = maximum(posterior, spreads.scales, done=_BEGUN)
    widths: Vector | None = None
    covariance: Dense | Sampled | None = None
    parted = False
    for number in range(_ROUNDS):
        share = next(share for until, share in _SHARES if number < until)
        scales = spreads.scales
        bend = posterior.bend(x, scales, widths)
        covariance = _covariance(posterior, bend, scales, covariance)
        step = covariance.times(bend.gradient)
        longest = float(np.abs(step).max(initial=0))
        # The pair effects are updated at once: their spread is learned from small differences between them and u.
        step = posterior.whole(bend, scales, step * min(share, _LEAP / max(longest, _LEAP)))
        longest = max(longest, float(np.abs(step).max(initial=0)))
        x = x + step
        wider = posterior.widths(bend, scales, covariance) - (0.0 if widths is None else widths)
        widths = wider if widths is None else widths + share * wider
        learned = spreads.learn(x, bend, covariance, share)
        change = max(longest, float(np.abs(wider).max(initial=0)), learned * _STILL / _STILL_SPREADS)
        if max(longest, learned) < _SETTLED and not parted:
            parted = True
            if spreads.group(x):
                continue
        if change < (_STILL if posterior.size <= MATRIX else _STILL_SAMPLED):
            break
    assert covariance is not None
    uncertainty = covariance.doubted(spreads.doubt(x, covariance))
    if isinstance(uncertainty, Exact) and isinstance(covariance, Dense) and widths is not None and len(widths) <= SMALL:
        uncertainty = Exact(uncertainty.matrix + _correction(posterior, x, covariance.matrix, widths))
    return Normal(x, uncertainty, scales)


def _covariance(posterior: Posterior, bend: Bend, scales: Scales, before: Dense | Sampled | None) -> Dense | Sampled:
    """Return the covariance at a point; before: in the last round."""
    if posterior.size <= MATRIX:
        return Dense(posterior.precision(bend, scales), posterior.free, (posterior.first, posterior.second))
    return Sampled(posterior, bend, scales, before if isinstance(before, Sampled) else None)


def _correction(posterior: Posterior, x: Vector, covariance: Matrix, widths: Vector) -> Matrix:
    """Return the second-order term of the third derivatives, which is added to the covariance C of a small record.

    The term is ½ C Aᵀ W K W A C: A has the rows' derivatives of u, W their expected third derivatives, and K the
    squares of the covariances of their u. It is only a correction, so it is limited to doubling a variance.
    """
    by = posterior.rows()
    rows = by @ covariance
    skews = posterior.third(x, widths)
    added = rows.T @ (skews[:, np.newaxis] * (rows @ by.T) ** 2 * skews) @ rows / 2
    largest = float((added.diagonal() / np.maximum(covariance.diagonal(), _TINY)).max())
    return added / max(largest, 1.0)
