"""Anderson's acceleration of an iteration to a fixed point.

Source: Anderson, Journal of the ACM 12 (1965), in the form of Walker and Ni, SIAM Journal on Numerical Analysis 49
(2011). An iteration takes a state z to g(z). From the last states, the combination of the values g(z) is taken whose
residual g(z) − z would be least if g were linear. Near the solution that takes a few rounds where plain rounds each
remove the same share of the error.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np

from arbiter.ratings.outcomes import Vector

DEPTH: Final = 5  #: differences of states that are combined

_RIDGE: Final = 1e-10  # of the mean square of the differences of residuals: keeps the small system solvable
_TINY: Final = 1e-300


class Acceleration:
    """The last rounds of an iteration."""

    def __init__(self, longest: float) -> None:
        """Begin without rounds. longest: the largest change that a combination makes to a number of the state."""
        self._longest = longest
        self.forget()

    def forget(self) -> None:
        """Forget all rounds, because the iteration has changed or is far from its end."""
        self._last: tuple[Vector, Vector] | None = None
        self._steps: deque[tuple[Vector, Vector]] = deque(maxlen=DEPTH)  # of residuals and of values

    def next(self, state: Vector, value: Vector) -> Vector:
        """Return the state from which the next round should begin, after a round from `state` to `value`."""
        residual = value - state
        if self._last is not None:
            self._steps.append((residual - self._last[0], value - self._last[1]))
        self._last = residual, value
        if not self._steps:
            return value
        residuals = np.stack([step for step, _ in self._steps])
        products = residuals @ residuals.T
        products[np.diag_indices(len(products))] += max(_RIDGE * np.trace(products), _TINY)
        change = np.zeros_like(value)
        for share, (_, step) in zip(np.linalg.solve(products, residuals @ residual), self._steps, strict=True):
            change -= share * step
        if not np.abs(change).max() <= self._longest:
            self.forget()
            return value
        return value + change
