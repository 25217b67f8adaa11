"""The normal distribution nearest to a posterior, with the spread of the field that goes with it, and the maximum.

Laplace's approximation, a normal distribution with the curvature at the maximum, is too narrow where games are foregone
conclusions: away from the maximum the posterior falls off more slowly on the side away from the other players. Three
steps mend that.

1. Of all normal distributions the one is taken that is nearest to the posterior (least Kullback–Leibler divergence from
   it): its mean and precision are those at which the *expected* gradient is 0 and the *expected* negative Hessian is the
   precision, both over that same distribution (Opper and Archambeau, Neural Computation 21 (2009); Challis and Barber,
   Journal of Machine Learning Research 14 (2013)). The expectations are over one u at a time, by Gauss and Hermite.
2. The spread σ of the field is not given but learned: the lower bound of the evidence that the distribution gives is at
   its maximum where the expected sum of squares of the first versions' ratings around their mean is σ² times their
   number less 1; the prior on σ is log-normal.
3. That σ is not known exactly adds to each variance the variance of ln σ times the square of how far the number moves
   with ln σ (Kass and Steffey, Journal of the American Statistical Association 84 (1989)). Here are both factors.

In small records one more term of the covariance counts (`_corrected`); it costs the square of the rows, and vanishes as
games become more.
"""  # noqa: E501 - prose

from __future__ import annotations

from math import exp, log
from typing import Final, NamedTuple

import numpy as np

from arbiter.ratings.model import ELO_PER_NAT, SPREADS, Bend, Posterior, Prior
from arbiter.ratings.outcomes import Matrix, Vector

SMALL: Final = 1_000  #: rows (pairs and seatings that met), up to which a record is a small one

_STEPS: Final = 200  # Newton takes about ten
_NEAR: Final = 1e-6  # of gradient · step: the next gain could not be told from rounding
_DONE: Final = 1e-9  # of gradient · step, before the last step, which squares it: convergence is quadratic
_SHORTEST: Final = 1e-9
_ROUNDS: Final = 300  # of the search for the nearest normal distribution; five to fifty are usual
_STILL: Final = 2e-5  # nats: 0.004 Elo points, and the error that is left is a part of it
_BEGUN: Final = 100.0  # of gradient · step: near enough to begin from
_SHARES: Final = (12, 1.0), (60, 0.6), (_ROUNDS, 0.3)
"""Shares of a step, up to a round: where games are foregone conclusions, whole steps swing for long."""
_STRIDE: Final = 0.5  # the largest step of ln σ in a round
_LEAP: Final = 3.0  # nats: the largest step of a parameter in a round
_TINY: Final = 1e-300


class Normal(NamedTuple):
    """The normal distribution nearest to a posterior, in nats.

    mean: of all parameters; covariance: of (r, h, ln ν). spread: σ, in nats; doubt: the variance of ln σ; drift: the
    derivatives of the mean of (r, h, ln ν) by ln σ.
    """

    mean: Vector
    covariance: Matrix
    spread: float
    doubt: float
    drift: Vector


def maximum(posterior: Posterior, spread: float, start: Vector | None = None, done: float = _DONE) -> Vector:
    """Return the parameters, in nats, at the maximum of a posterior density: Newton's method with halved steps.

    The density is strictly log-concave in the free parameters, so there is one maximum and every Newton direction
    climbs. A full step is taken once the expected gain, half of gradient · step, is too small to be told from rounding.
    """
    x = posterior.start if start is None else start
    value = posterior.value(x, spread)
    for _ in range(_STEPS):
        bend = posterior.bend(x, spread)
        direction = np.zeros(posterior.size + 2)
        direction[posterior.free] = np.linalg.solve(_free_precision(posterior, bend), bend.gradient[posterior.free])
        slope = float(bend.gradient @ direction)
        if posterior.tau2:
            slope += float(bend.saturated @ bend.pull**2) / posterior.tau2
        direction = posterior.whole(bend, direction)
        if slope < _NEAR:
            x = x + direction
        else:
            x, value = _climbed(posterior, spread, x, value, direction, slope)
        if slope < done:
            break
    return x


def _climbed(
    posterior: Posterior, spread: float, x: Vector, value: float, direction: Vector, slope: float
) -> tuple[Vector, float]:
    """Return the point of the longest halved step that gains a good part of what it promises, and the value there."""
    step = 1.0
    while True:
        tried = x + step * direction
        tried_value = posterior.value(tried, spread)
        if tried_value >= value + 1e-4 * step * slope or step < _SHORTEST:
            return tried, tried_value
        step /= 2


def nearest_normal(posterior: Posterior, prior: Prior) -> Normal:
    """Return the normal distribution nearest to a posterior, and the spread of the field, found together.

    Each round moves the mean by a Newton step of the expected gradient, then takes the precision and the widths of u
    anew, and moves ln σ by a Newton step. It starts from the maximum at the prior's spread.
    """
    believed = log(prior.spread / ELO_PER_NAT)
    log_spread = believed
    x = maximum(posterior, exp(log_spread), done=_BEGUN)
    widths: Vector | None = None
    least, most = (log(end / ELO_PER_NAT) for end in SPREADS)
    for number in range(_ROUNDS):
        share = next(share for until, share in _SHARES if number < until)
        spread = exp(log_spread)
        bend = posterior.bend(x, spread, widths)
        covariance = _covariance(posterior, bend)
        step = posterior.whole(bend, covariance @ bend.gradient)
        longest = float(np.abs(step).max(initial=0))
        x = x + step * min(share, _LEAP / max(longest, _LEAP))
        wider = posterior.widths(bend, covariance) - (0.0 if widths is None else widths)
        widths = wider if widths is None else widths + share * wider
        score, curvature, drift = _of_spread(posterior, x, covariance, spread)
        stride = 0.0
        if prior.spread_doubt:
            score -= (log_spread - believed) / prior.spread_doubt**2
            curvature += prior.spread_doubt**-2
            stride = min(max(share * score / curvature, -_STRIDE), _STRIDE)
            stride = min(max(log_spread + stride, least), most) - log_spread
            log_spread += stride
        change = max(longest, float(np.abs(wider).max(initial=0)), abs(stride))
        if change < _STILL:
            break
    doubt = 1 / curvature if prior.spread_doubt else 0.0
    if widths is not None and len(widths) <= SMALL:
        covariance = _corrected(posterior, x, covariance, widths)
    return Normal(x, covariance, exp(log_spread), doubt, drift)


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


def _of_spread(posterior: Posterior, x: Vector, covariance: Matrix, spread: float) -> tuple[float, float, Vector]:
    """Return the derivative of the log evidence by ln σ, its negative second derivative, and the mean's by ln σ.

    The first is exact for the normal approximation; the second takes the expected Hessian of the likelihood as given,
    and is never taken as negative.
    """
    size = posterior.size
    ratings, of_ratings = x[:size], covariance[:size, :size]
    pull = np.concatenate([2 * posterior.spread_out(ratings) / spread**2, np.zeros(2)])
    drift: Vector = covariance @ pull
    spreading = posterior.spread_out(of_ratings) / spread**2
    expected = posterior.scatter(ratings) / spread**2 + float(np.trace(spreading))
    moved = float(pull @ drift) + 2 * float((spreading * spreading.T).sum())
    return expected - max(0, posterior.founders - 1), max(2 * expected - moved, 0.0), drift


def _covariance(posterior: Posterior, bend: Bend) -> Matrix:
    if posterior.free.all():
        return np.linalg.inv(bend.precision).astype(np.float64)
    covariance = np.zeros_like(bend.precision)
    covariance[np.ix_(posterior.free, posterior.free)] = np.linalg.inv(_free_precision(posterior, bend))
    return covariance


def _free_precision(posterior: Posterior, bend: Bend) -> Matrix:
    precision: Matrix = bend.precision[np.ix_(posterior.free, posterior.free)]
    return precision
