"""The smallest bot: it plays the first legal move.

Start it twice, and let the two meet:

python first_move.py --name alice
python first_move.py --name bob
arbiter match create pods alice bob --time 1m+1s
"""

import arbiter_client as arb
from arbiter_client import cli


class FirstMove(arb.Bot):
    """Plays the first legal move."""

    name = "first-move"
    version = "1"
    extras = arb.Extras(legal_moves_up_to=500)

    def choose(self, turn: arb.Turn) -> str:
        """Return the first legal move."""
        return self.legal_moves(turn)[0].text

    def ended(self, finished: arb.FinishedMatch) -> None:
        """Say how a match went."""
        print(f"{finished.game} against {finished.opponent}: {finished.score} ({finished.result.reason})")


if __name__ == "__main__":
    cli.main(FirstMove())
