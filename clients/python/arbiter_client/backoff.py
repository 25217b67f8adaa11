"""Pauses between attempts: exponential, with jitter, so that many clients do not reconnect at the same time."""

from __future__ import annotations

import random
from collections.abc import Callable


class Backoff:
    """Pauses in seconds that double from `first_s` up to `most_s`, each shortened by a random part of at most a half.

    `chance` returns a number from 0 to 1.
    """

    def __init__(self, first_s: float = 0.1, most_s: float = 5.0, chance: Callable[[], float] = random.random) -> None:
        self.first_s = first_s
        self.most_s = most_s
        self._chance = chance
        self._tries = 0

    def next_s(self, at_least_s: float = 0.0) -> float:
        """Return the next pause, plus `at_least_s`, the pause that the server has asked all its clients for."""
        whole = min(self.most_s, self.first_s * (1 << min(self._tries, 30)))
        self._tries += 1
        return at_least_s + whole * (1 - self._chance() / 2)

    def reset(self) -> None:
        """Start again from the first pause, after a success."""
        self._tries = 0
