"""A player for Connect Four that teaches itself: about a minute of games against itself, then matches on a server.

It learns what each line of four cells is worth by what is in it: temporal differences of the positions after moves, in
small tables (Sutton, 1988; n-tuple networks). The tables are stored in a file, with which the next run begins.

    python connect_four.py --name NAME --enter-tournaments

Needs `game-arbiter-client[engines]`, which brings NumPy.
"""

from __future__ import annotations

from pathlib import Path

import arbiter_client as arb
import numpy as np
from arbiter_client import cli
from arbiter_client.engines import Environment, Standing, standing

GAME = "connect-four"
FILE = Path("connect-four.npy")
GAMES = 30_000  # against itself
RATE = 0.01  # of learning, for each of the 69 lines
CURIOSITY = 0.1  # how often it tries another move

PLACES = {(file, rank) for file in range(7) for rank in range(6)}
# All lines of four cells, as rows of cell numbers. Cells are numbered file by file: a1, a2, …
LINES = np.array(
    [
        [(file + n * df) * 6 + rank + n * dr for n in range(4)]
        for file, rank in sorted(PLACES)
        for df, dr in ((0, 1), (1, 0), (1, 1), (1, -1))
        if (file + 3 * df, rank + 3 * dr) in PLACES
    ]
)
DIGITS = 3 ** np.arange(4)  # a line's content is a number: empty 0, own 1, the other's 2
NUMBERS = np.arange(len(LINES))


class Tables:
    """What the content of each line is worth to the player who has just moved, from -1 to 1 in all."""

    def __init__(self, weights: np.ndarray) -> None:
        """Take the weights, of shape (69 lines, 81 contents)."""
        self.weights = weights

    def values(self, contents: np.ndarray) -> np.ndarray:
        """Return the values of positions, of shape (positions,), by the contents of their lines: (positions, 69)."""
        values: np.ndarray = np.tanh(self.weights[NUMBERS, contents].sum(axis=1))
        return values

    def learn(self, contents: np.ndarray, value: float, better: float) -> None:
        """Move the value of a position, by its lines, towards a better one."""
        self.weights[NUMBERS, contents] += RATE * (better - value) * (1 - value * value)


def contents(cells: np.ndarray, moves: tuple[str, ...]) -> np.ndarray:
    """Return the contents of all lines after each move, as an array of shape (moves, 69).

    cells: the board before, as the mover sees it (`Standing.cells`).
    """
    owners = cells[:, 0]
    boards = np.repeat(owners[None, :], len(moves), axis=0)
    for number, move in enumerate(moves):
        file = "abcdefg".index(move) * 6
        boards[number, file + np.count_nonzero(owners[file : file + 6])] = 1
    return boards[:, LINES] @ DIGITS


def taught(games: int, seed: int | None = 1) -> Tables:
    """Return tables after this many games of a player against itself."""
    dice = np.random.default_rng(seed)
    tables = Tables(np.zeros((len(LINES), 3**4)))
    env = Environment(GAME)
    for _ in range(games):
        env.reset()
        last = None  # the position after the move before, and its value to the player who made it
        end = None
        while end is None:
            moves = env.legal_moves
            lines = contents(env.cells(), moves)
            values = tables.values(lines)
            choice = int(values.argmax())
            best = -values[choice]  # to the other player
            if dice.random() < CURIOSITY:
                choice = int(dice.integers(len(moves)))
            end = env.step(moves[choice])
            if last is not None:
                tables.learn(*last, -1.0 if end and end.winner else best)
            last = lines[choice], float(values[choice])
            if end is not None:
                tables.learn(*last, 1.0 if end.winner else 0.0)
    return tables


class Learner(arb.Bot):
    """Plays Connect Four as it has taught itself."""

    name = "learner"
    version = "1"
    games = (GAME,)

    def __init__(self, tables: Tables) -> None:
        """Take what was learned."""
        self.tables = tables

    def choose(self, turn: arb.Turn) -> arb.Move:
        """Return the move after which the position is worth most."""
        game, position = standing(turn)
        moves = tuple(game.moves(position))
        values = self.tables.values(contents(Standing(game, position).cells(turn.seat), moves))
        best = int(values.argmax())
        return arb.Move(moves[best], evaluation=round(500 + 500 * float(values[best])))


def learner(seed: int | None) -> Learner:
    """Plays Connect Four as it has taught itself."""
    if not FILE.exists():
        print(f"playing {GAMES:,} games against itself: about a minute …", flush=True)
        np.save(FILE, taught(GAMES, seed).weights)
    return Learner(Tables(np.load(FILE)))


if __name__ == "__main__":
    cli.main(learner)
