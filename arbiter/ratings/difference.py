"""What pairs of games say about two bots: how much better one is, with intervals that are valid for few pairs too.

A's pairs come from a distribution over the outcomes 0, ½, 1, 1½ and 2 points with five unknown shares. After n(i)
pairs of each outcome the shares are Dirichlet(n(i) + b(i)), and A's expected score is Σ a(i) p(i), where

    b = ½, ½, ½, ½, ½   for the difference and the likelihood of superiority: Jeffreys' prior (Gelman and others,
                        "Bayesian Data Analysis", 2013, section 3.4)
    b = 1, 0, 0, 0, 0   for the lower end of the interval, and its mirror image for the upper one: one pair more that
                        was lost, or won (the imprecise Dirichlet model with s = 1, Walley, Journal of the Royal
                        Statistical Society B 58 (1996))

Where all pairs end 2 : 0 or 0 : 2, these are the exact ends of Clopper and Pearson (Biometrika 26 (1934)). A Dirichlet
vector is one of independent gamma variables divided by their sum, so that

    P(Σ a(i) p(i) ≤ s) = P(Σ (a(i) − s) G(i) ≤ 0)        G(i) ~ Gamma(n(i) + b(i))

and that is computed by the inversion of the characteristic function φ(u) = Π (1 − i u (a(i) − s))^−(n(i) + b(i))
(Gil-Pelaez, Biometrika 38 (1951)):  ½ − 1/π ∫ Im φ(u) / u du over u > 0. Nothing is taken as normal.

The results are valid for a number of pairs that was fixed beforehand. Somebody who looks after every pair, and stops as
soon as the interval excludes the truth, will find such a moment: see LOOKED. `arbiter.ratings.evidence` has an interval
for repeated looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Final

import numpy as np
import numpy.typing as npt

from arbiter.ratings.outcomes import Matrix, Vector
from arbiter.ratings.pairs import LARGEST_ELO, SCORES, Difference, Pairs, elo, moments

JEFFREYS: Final = (0.5, 0.5, 0.5, 0.5, 0.5)
LOST: Final = (1.0, 0.0, 0.0, 0.0, 0.0)  #: one additional pair that was lost
WON: Final = LOST[::-1]  #: one additional pair that was won

LOOKED: Final = {10: 0.01, 100: 0.12, 1_000: 0.29}
"""The share of intervals that exclude the truth at any of this many looks, one look after each pair.

Measured in 200 trials of two equal bots; verified by tests/ratings/test_difference.py.
"""

_STEP: Final = 0.05  # of the integral, in nats of u
_POINTS: Final = np.exp(np.arange(-12, 10, _STEP))  # in units of the width of the characteristic function
_FAR: Final = 12.0  # standard deviations
_HALVINGS: Final = 30  # of an interval of scores


def difference(pairs: Pairs) -> Difference:
    """Return what pairs say about two bots: score, Elo difference (at most ±1,200) with its interval, superiority."""
    if not pairs.total:
        return Difference(0.5, 0.0, -LARGEST_ELO, LARGEST_ELO, 0.5)
    shapes = np.array(pairs) + np.array(JEFFREYS)
    value = elo(float(shapes @ np.array(SCORES) / shapes.sum()))
    counts = np.array([pairs])
    low, high = (elo(_quantile(counts, prior, end)) for prior, end in ((LOST, 0.025), (WON, 0.975)))
    superiority = 1 - float(below(counts, 0.5, JEFFREYS)[0])
    return Difference(moments(pairs).mean, value, min(low, value), max(high, value), superiority)


def excluded(pairs: npt.NDArray[np.int64], score: float) -> npt.NDArray[np.bool_]:
    """For each row of counts of pairs, return whether the interval excludes an expected score of A."""
    return (below(pairs, score, LOST) < 0.025) | (below(pairs, score, WON) > 0.975)


def below(pairs: npt.NDArray[np.int64], score: float, prior: Sequence[float]) -> Vector:
    """Return by row of counts the probability that A's expected score is at most `score`, given a prior."""
    shapes = pairs + np.array(prior)
    away = np.array(SCORES) - score
    width = 1 / np.sqrt(np.maximum(shapes @ away**2, 1e-300))
    u: Matrix = width[:, np.newaxis] * _POINTS
    logs, angles = np.zeros(u.shape), np.zeros(u.shape)
    for distance, shape in zip(away, shapes.T, strict=True):
        if distance and shape.any():
            logs -= shape[:, np.newaxis] * np.log1p((distance * u) ** 2) / 2
            angles += shape[:, np.newaxis] * np.arctan(distance * u)
    # du / u = d ln u, and the points are evenly spaced in ln u: the trapezoidal rule is exact to many digits here.
    total: Vector = (np.exp(logs) * np.sin(angles)).sum(axis=1) * _STEP
    # Far from the mean the integrand swings between two points. There the probability is below exp(−_FAR² / 2).
    deviations = (shapes @ away) * width
    found: Vector = np.clip(0.5 - total / pi, 0, 1)
    return np.where(deviations > _FAR, 0.0, np.where(deviations < -_FAR, 1.0, found))


def _quantile(counts: npt.NDArray[np.int64], prior: Sequence[float], probability: float) -> float:
    """Return the quantile of A's expected score for a probability; 0 or 1 if no other value is possible."""
    reached = np.flatnonzero(counts[0] + np.array(prior))
    if len(reached) == 1:
        return float(SCORES[reached[0]])
    low, high = SCORES[reached[0]], SCORES[reached[-1]]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(counts, middle, prior)[0] < probability else (low, middle)
    return (low + high) / 2
