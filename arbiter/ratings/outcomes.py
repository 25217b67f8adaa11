"""Expected outcomes of games, given u: the difference of the ratings of seat 1 and seat 2 plus all other effects.

`arbiter.ratings.model` describes the model and its sources: the probabilities of a win of seat 1, a draw and a win of
seat 2 are proportional to exp(u/2), ν = exp(κ) and exp(−u/2). This module computes their normalising constant, the
moments of a game's outcome, and the means of these over a normal distribution of u, by Gauss–Hermite quadrature.
"""

from __future__ import annotations

from math import exp, pi, sqrt
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

_LARGEST: Final = 700.0  # nats: a double cannot hold the exponential of more
_FAR: Final = 300.0  # nats: a game with this u is certain, to the last digit of a double
_NARROW: Final = 0.5  # nats: up to here three Gauss–Hermite points are enough


def _hermite(points: int) -> tuple[Vector, Vector]:
    """Return nodes and weights for means over a standard normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    return nodes, weights / sqrt(2 * pi)


_FEW: Final = _hermite(3)
_MANY: Final = _hermite(9)


class Means(NamedTuple):
    """Expected outcomes of a game, by row.

    The means of seat 1's score minus a half, and of draws, and their second central moments.
    """

    score: Vector
    draw: Vector
    score_score: Vector
    score_draw: Vector
    draw_draw: Vector


def averaged(u: Vector, widths: Vector, kappa: float) -> Means:
    """Return the expected outcomes of games as means over u, which is normal around its value with these deviations."""
    wide = widths >= _NARROW
    if not wide.any():
        return _averaged(u, widths, kappa, *_FEW)
    result = Means(*np.empty((len(Means._fields), len(u))))
    for rows, nodes in ((~wide, _FEW), (wide, _MANY)):
        for total, part in zip(result, _averaged(u[rows], widths[rows], kappa, *nodes), strict=True):
            total[rows] = part
    return result


def _averaged(u: Vector, widths: Vector, kappa: float, nodes: Vector, weights: Vector) -> Means:
    """Return the expected outcomes of games as means over u normal around its value, node by node.

    At a node the three weights are proportional to t², νt and 1, where t = exp(u/2) is a product: one exponential of
    u, and one of the width for each node. Beyond ±_FAR nats of u nothing changes, so t² never overflows.
    """
    total = Means(*np.zeros((len(Means._fields), len(u))))
    middle, nu = np.exp(np.clip(u, -_FAR, _FAR) / 2), exp(min(kappa, _FAR))
    for node, weight in zip(nodes, weights, strict=True):
        t = middle * np.exp(np.minimum(widths, _FAR / 10) * (node / 2)) if node else middle
        won, drawn = t * t, nu * t
        share = 1 / (won + drawn + 1)
        draw = drawn * share
        score = (won - 1) * share / 2
        total.score[:] += weight * score
        total.draw[:] += weight * draw
        total.score_score[:] += weight * ((won + 1) * share / 4 - score * score)
        total.score_draw[:] -= weight * (draw * score)
        total.draw_draw[:] += weight * (draw * (1 - draw))
    return total


def skews(u: Vector, kappa: float, widths: Vector) -> Vector:
    """Return the third derivatives of `log_norm` by u, as means over u normal around its value."""
    nodes, weights = _MANY
    of = outcomes(u + nodes[:, np.newaxis] * widths, kappa)
    # The third central moment of a score of ±½ or 0, whose third power is on average a quarter of its mean.
    third: Vector = weights @ (of.score * (0.25 - 3 * of.score_score - of.score**2))
    return third


def log_norm(u: Vector, kappa: float) -> Vector:
    """Return the logarithm of the sum of the three weights of each game."""
    half = np.abs(u) / 2
    other = np.exp(-half)
    norm: Vector = half + np.log1p(other * (other + exp(min(kappa, _LARGEST))))
    return norm


def outcomes(u: Vector, kappa: float) -> Means:
    """Return the expected outcomes of games with these u.

    All three weights are divided by the larger of the two wins, so that nothing overflows and one exponential is
    enough.
    """
    other = np.exp(np.abs(u) / -2)
    drawn = exp(min(kappa, _LARGEST)) * other
    lost = other * other
    norm = 1 + drawn + lost
    draw = drawn / norm
    score = np.copysign((1 - lost) / (2 * norm), u)
    square = (1 + lost) / (4 * norm)
    return Means(score, draw, square - score * score, -draw * score, draw * (1 - draw))
