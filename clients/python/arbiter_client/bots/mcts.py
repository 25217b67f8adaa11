"""A bot that searches: Monte-Carlo tree search within the clock, with the arbiter's own engines.

The parts are in `arbiter_client.search`: the tree, the evaluation of positions (with weights for the five games; for
other games by pieces), and the time for each move. Needs `game-arbiter-client[engines]`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Any, Final

import arbiter_client as arb
from arbiter.games.contract import AnyGame
from arbiter_client import cli
from arbiter_client.dice import Dice
from arbiter_client.engines import standing
from arbiter_client.search.evaluation import WEIGHTS, Evaluation, Weights
from arbiter_client.search.tree import Tree

MOST_THOUGHT_S: Final = 1.0
LONGEST_LINE: Final = 8  #: moves of the expected line in the comment on its move
MOST_PLAYED: Final = 200_000  #: moves played in the tree for one turn, which limits its memory

_MEMORY: Final = "arbiter_client.bots.mcts"


class MctsBot(arb.Bot):
    """Searches as long as its clock allows, and keeps the tree for its next turn.

    `most_thought_s` is the time limit for one move, `now_s` the clock, `most_played` the limit of moves that are played
    in the tree for one turn. With a seed, and a clock that does not advance, the bot always makes the same choices.
    """

    name = "mcts"
    version = "1"

    def __init__(
        self,
        seed: int | None = None,
        most_thought_s: float = MOST_THOUGHT_S,
        most_played: int = MOST_PLAYED,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._dice = Dice(seed)
        self._most_thought_s = most_thought_s
        self._most_played = most_played
        self._now_s = now_s

    def choose(self, turn: arb.Turn) -> arb.Choice:
        """Return the best move found in time, or claim a draw that is better than that."""
        until_s = self._now_s() + self._thought_s(turn)
        game, position = standing(turn)
        search: Search | None = turn.match.memory.get(_MEMORY)
        if search is None:
            search = turn.match.memory[_MEMORY] = Search(game, self._dice.of(turn.match))
        move = search.move(
            turn.match.moves,
            position,
            lambda played: played >= self._most_played or self._now_s() >= until_s or turn.match.over,
        )
        if turn.draw_claim and search.worth < 0:
            return arb.ClaimDraw()
        return arb.Move(
            move, evaluation=round(500 + 500 * search.worth), line=search.tree.main_line(move, LONGEST_LINE)
        )

    def _thought_s(self, turn: arb.Turn) -> float:
        """Return the time for a turn in seconds: by the clock, if there is one."""
        think_ms = turn.think_time_ms(matches=self.playing or 1)
        return self._most_thought_s if think_ms is None else min(self._most_thought_s, think_ms / 1000)


class Search:
    """The search of one match: its tree follows the moves of the match.

    `weights`: for the evaluation; None: those of the game, or one point a piece.
    """

    def __init__(self, game: AnyGame, dice: Random, weights: Weights | None = None) -> None:
        if weights is None:
            plain = Weights(pieces=dict.fromkeys(game.facts.letters or (), 1.0))
            weights = WEIGHTS.get(game.facts.id, plain)
        self.tree = Tree(game, Evaluation(game, weights), game.initial(), dice)
        self._line: tuple[str, ...] = ()

    @property
    def worth(self) -> float:
        """The value of the last searched position for the seat to move, from -1 (lost) to 1 (won)."""
        return self.tree.worth

    def move(self, line: tuple[str, ...], position: Any, stop: Callable[[int], bool]) -> str:
        """Return the move to play in the position after a line of moves from the start.

        `stop` is called before every move that is played in the tree, with the number of moves played so far.
        """
        tree = self.tree
        known = len(self._line)
        tree.advance(line[known:] if line[:known] == self._line else (), position)
        self._line = line
        before = tree.played
        tree.search(lambda: stop(tree.played - before))
        return tree.best_move()


if __name__ == "__main__":
    cli.main(MctsBot, __doc__)
