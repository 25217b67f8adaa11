"""A bot that looks one move ahead with the arbiter's own engines, by rules of thumb that hold for all games.

It wins if it can, and avoids moves after which the opponent wins at once. Otherwise it prefers positions in which it
has more pieces than the opponent, and the opponent has few moves. Needs `game-arbiter-client[engines]`.
"""

from __future__ import annotations

import math
import time
from random import Random
from typing import Any, Final

import arbiter_client as arb
from arbiter.games.contract import AnyGame
from arbiter_client import cli
from arbiter_client.dice import Dice
from arbiter_client.engines import standing

MOST_THOUGHT_S: Final = 0.2
SHARE_OF_CLOCK: Final = 1 / 25  #: of the time left, for one move
REPLY_WEIGHT: Final = 0.2  #: the weight of the opponent's mobility relative to one piece
LOSS: Final = -1000.0


class GreedyBot(arb.Bot):
    """One move ahead, by outcomes, pieces and the opponent's mobility; as many moves as its clock allows."""

    name = "greedy"
    version = "1"

    def __init__(self, seed: int | None = None) -> None:
        self._dice = Dice(seed)

    def choose(self, turn: arb.Turn) -> str:
        """Return the best move found in time."""
        game, position = standing(turn)
        left_ms = turn.time_left_ms
        thought_s = MOST_THOUGHT_S if left_ms is None else min(MOST_THOUGHT_S, left_ms / 1000 * SHARE_OF_CLOCK)
        return best_move(game, position, self._dice.of(turn.match), time.monotonic() + thought_s)


def best_move(game: AnyGame, position: Any, dice: Random, until_s: float) -> str:
    """Return the best move of a position for the seat to move, as far as time allows.

    `until_s` is an instant of the monotonic clock. In the first half of the time the moves are tried in random order.
    In the second half the opponent's answers to the best of them are tried.
    """
    seat = position.turn
    start_s = time.monotonic()
    moves = list(game.moves(position))
    dice.shuffle(moves)
    candidates: list[tuple[float, str, Any]] = []
    for move in moves:
        after = game.play(position, move)
        worth = value(game, after, seat)
        if worth == math.inf:
            return move
        candidates.append((worth, move, after))
        if time.monotonic() > (start_s + until_s) / 2:
            break
    candidates.sort(key=lambda candidate: candidate[0], reverse=True)
    best, best_worth = candidates[0][1], -math.inf
    for worth, move, after in candidates:
        if worth <= best_worth:
            break  # the opponent's answers can only lower the value of a move
        answered = worth + worst_answer(game, after, seat, until_s)
        if answered > best_worth:
            best, best_worth = move, answered
        if time.monotonic() > until_s:
            break
    return best


def value(game: AnyGame, position: Any, seat: int) -> float:
    """Return the value of a position for a seat: infinity for a win, or own pieces minus the opponent's."""
    outcome = position.outcome
    if outcome is not None:
        return {seat: math.inf, 0: 0.0}.get(outcome.winner, LOSS)
    return float(sum(1 if piece.owner == seat else -1 for piece in game.pieces(position) if piece.owner))


def worst_answer(game: AnyGame, position: Any, seat: int, until_s: float) -> float:
    """Return by how much the opponent's answers lower the value of a position: by much if one of them wins at once."""
    if position.outcome is not None or position.turn == seat:
        return 0.0
    answers = game.moves(position)
    for move in answers:
        outcome = game.play(position, move).outcome
        if outcome is not None and outcome.winner == position.turn:
            return LOSS
        if time.monotonic() > until_s:
            break
    return -REPLY_WEIGHT * math.log1p(len(answers))


if __name__ == "__main__":
    cli.main(GreedyBot, __doc__)
