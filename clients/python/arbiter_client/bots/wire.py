"""A bot without rules of its own: it asks the server for the legal moves and for their results."""

from __future__ import annotations

import arbiter_client as arb
from arbiter_client import cli
from arbiter_client.dice import Dice


class WireBot(arb.Bot):
    """Tries a few legal moves through `PlayMoves`: plays one that wins, and none that loses if there is another."""

    name = "wire"
    version = "1"

    def __init__(self, seed: int | None = None) -> None:
        self._dice = Dice(seed)

    def choose(self, turn: arb.Turn) -> str:
        """Return the best of at most a dozen legal moves: one for each second on the clock."""
        moves = [move.text for move in self.legal_moves(turn)]
        left_ms = turn.time_left_ms
        looks = 12 if left_ms is None else max(1, min(12, int(left_ms / 1000)))
        sample = self._dice.of(turn.match).sample(moves, min(len(moves), looks))
        if len(sample) == 1:
            return sample[0]
        return max(sample, key=lambda move: self.worth(turn, move))

    def worth(self, turn: arb.Turn, move: str) -> int:
        """Return 1 for a move that wins at once, -1 for one that loses at once, else 0."""
        played = self.blocking.play_moves(turn.line.then(move), from_ply=turn.ply + 1)
        if played.outcome is None or played.outcome.winner == 0:
            return 0
        return 1 if played.outcome.winner == turn.seat else -1


if __name__ == "__main__":
    cli.main(WireBot, __doc__)
