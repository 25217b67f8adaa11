"""Random numbers for bots: a generator for each match, so that simultaneous matches do not affect each other."""

from __future__ import annotations

import itertools
import random
from typing import Final

from arbiter_client.values.play import LiveMatch

_MEMORY: Final = "arbiter_client.dice"


class Dice:
    """Generators of random numbers. With a seed, the n-th match of every run gets the same one."""

    def __init__(self, seed: int | None) -> None:
        self._seed = seed
        self._numbers = itertools.count(1)

    def of(self, match: LiveMatch) -> random.Random:
        """Return the generator of a match."""
        if _MEMORY not in match.memory:
            number = next(self._numbers)
            seed = None if self._seed is None else f"{self._seed}/{number}"
            match.memory[_MEMORY] = random.Random(seed)
        dice: random.Random = match.memory[_MEMORY]
        return dice
