"""The normal distribution nearest to a posterior, with the spread of the field that goes with it, and the maximum.

Laplace's approximation, a normal distribution with the curvature at the maximum, is too narrow where games are foregone
conclusions: away from the maximum the posterior falls off more slowly on the side away from the other players. Three
steps mend that.

1. Of all normal distributions the one is taken that is nearest to the posterior (least Kullback–Leibler divergence from
   it): its mean and precision are those at which the *expected* gradient is 0 and the *expected* negative Hessian is the
   precision, both over that same distribution (Opper and Archambeau, Neural Computation 21 (2009); Challis and Barber,
   Journal of Machine Learning Research 14 (2013)). The expectations are over one u at a time, by Gauss and Hermite.
2. The spreads of the prior are not given but learned: the lower bound of the evidence that the distribution gives is at
   its maximum where the expected squares of the terms are what the spreads say (`spreads`).
3. That they are not known exactly adds to each variance (there, too).

In small records one more term of the covariance counts (`_corrected`); it costs the square of the rows, and vanishes as
games become more.
"""  # noqa: E501 - prose

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from arbiter.ratings.covariance import Dense
from arbiter.ratings.model import Posterior, Prior
from arbiter.ratings.outcomes import Matrix, Vector
from arbiter.ratings.scales import Scales
from arbiter.ratings.spreads import Spreads

SMALL: Final = 1_000  #: rows (pairs and seatings that met), up to which a record is a small one

_STEPS: Final = 200  # Newton takes about ten
_NEAR: Final = 1e-6  # of gradient · step: the next gain could not be told from rounding
_DONE: Final = 1e-9  # of gradient · step, before the last step, which squares it: convergence is quadratic
_SHORTEST: Final = 1e-9
_ROUNDS: Final = 300  # of the search for the nearest normal distribution; five to fifty are usual
_STILL: Final = 2e-5  # nats: 0.004 Elo points, and the error that is left is a part of it
_STILL_SPREADS: Final = 2e-4  # of the logarithms of spreads: a fiftieth of a per cent
_BEGUN: Final = 100.0  # of gradient · step: near enough to begin from
_SHARES: Final = (20, 1.0), (60, 0.6), (_ROUNDS, 0.3)
"""Shares of a step, up to a round: where games are foregone conclusions, whole steps swing for long."""
_SETTLED: Final = 0.05  # nats: near enough to look for groups
_LEAP: Final = 3.0  # nats: the largest step of a parameter in a round
_TINY: Final = 1e-300


class Normal(NamedTuple):
    """The normal distribution nearest to a posterior, in nats.

    mean: of all parameters; covariance: of (r, h, ln ν), what is not known of the spreads included. scales: the
    variances that the terms of the prior were found to have.
    """

    mean: Vector
    covariance: Matrix
    scales: Scales


def maximum(posterior: Posterior, scales: Scales, start: Vector | None = None, done: float = _DONE) -> Vector:
    """Return the parameters, in nats, at the maximum of a posterior density: Newton's method with halved steps.

    The density is strictly log-concave in the free parameters, so there is one maximum and every Newton direction
    climbs. A full step is taken once the expected gain, half of gradient · step, is too small to be told from rounding.
    """
    x = posterior.start if start is None else start
    value = posterior.value(x, scales)
    known = scales.pairs > 0
    free = np.ix_(posterior.free, posterior.free)
    for _ in range(_STEPS):
        bend = posterior.bend(x, scales)
        direction = np.zeros(posterior.size + 2)
        precision = posterior.precision(bend, scales)[free]
        direction[posterior.free] = np.linalg.solve(precision, bend.gradient[posterior.free])
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
    """Return the point of the longest halved step that gains a good part of what it promises, and the value there."""
    step = 1.0
    while True:
        tried = x + step * direction
        tried_value = posterior.value(tried, scales)
        if tried_value >= value + 1e-4 * step * slope or step < _SHORTEST:
            return tried, tried_value
        step /= 2


def nearest_normal(posterior: Posterior, prior: Prior) -> Normal:
    """Return the normal distribution nearest to a posterior, and the spreads, found together.

    Each round moves the mean by a Newton step of the expected gradient, then takes the precision and the widths of u
    anew, and moves the spreads. It starts from the maximum at the prior's spreads.
    """
    spreads = Spreads(posterior, prior)
    x = maximum(posterior, spreads.scales, done=_BEGUN)
    widths: Vector | None = None
    parted = False
    for number in range(_ROUNDS):
        share = next(share for until, share in _SHARES if number < until)
        scales = spreads.scales
        bend = posterior.bend(x, scales, widths)
        covariance = Dense(posterior.precision(bend, scales), posterior.free, (posterior.first, posterior.second))
        step = covariance.times(bend.gradient)
        longest = float(np.abs(step).max(initial=0))
        # The pair effects follow at once: their spread is learned from small differences of what they and it say.
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
        if change < _STILL:
            break
    doubt = spreads.doubt(x, covariance)
    matrix = covariance.matrix
    if widths is not None and len(widths) <= SMALL:
        matrix = _corrected(posterior, x, matrix, widths)
    return Normal(x, matrix + (doubt.columns * doubt.variances) @ doubt.columns.T, scales)


def _corrected(posterior: Posterior, x: Vector, covariance: Matrix, widths: Vector) -> Matrix:
    """Return the covariance C with the second-order term of the third derivatives, which is not small in small records.

    It is ½ C Aᵀ W K W A C: A has the rows' derivatives of u, W their expected third derivatives, and K the squares of
    the covariances of their u. It is a correction, and no more of it is taken than doubles a variance.
    """
    by = posterior.rows()
    rows = by @ covariance
    skews = posterior.third(x, widths)
    added = rows.T @ (skews[:, np.newaxis] * (rows @ by.T) ** 2 * skews) @ rows / 2
    largest = float((added.diagonal() / np.maximum(covariance.diagonal(), _TINY)).max())
    return covariance + added / max(largest, 1.0)
