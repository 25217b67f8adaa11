"""A bot that plays any legal move: the first opponent of every other bot."""

from __future__ import annotations

import arbiter_client as arb
from arbiter_client import cli
from arbiter_client.dice import Dice


class RandomBot(arb.Bot):
    """Chooses among the legal moves at random, with equal probability. With a seed, the same in every run."""

    name = "random"
    version = "1"
    extras = arb.Extras(legal_moves_up_to=500)

    def __init__(self, seed: int | None = None) -> None:
        self._dice = Dice(seed)

    def choose(self, turn: arb.Turn) -> str:
        """Return a legal move."""
        return self._dice.of(turn.match).choice(self.legal_moves(turn)).text


if __name__ == "__main__":
    cli.main(RandomBot, __doc__)
