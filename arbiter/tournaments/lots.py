"""Random numbers that anyone can reproduce: from SHA-256 of a seed and a counter."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Lots:
    """A stream of random numbers, the same for the same seed.

    Number n is the first eight bytes, big-endian, of SHA-256("SEED/n"), n from 0. A value at or above the largest
    multiple of the wanted size is skipped, so that all numbers are equally likely.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0

    def below(self, size: int) -> int:
        """Return a number from 0 to size − 1; size is at least 1."""
        most = (1 << 64) - (1 << 64) % size
        while True:
            drawn = hashlib.sha256(f"{self._seed}/{self._count}".encode()).digest()
            self._count += 1
            number = int.from_bytes(drawn[:8], "big")
            if number < most:
                return number % size

    def one_of(self, items: Sequence[T]) -> T:
        """Return a random item."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order (Fisher–Yates shuffle)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order
