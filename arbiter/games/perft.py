"""Perft: counts sequences of moves, so that two implementations of the rules can be compared without shared code."""

from __future__ import annotations

from arbiter.games.contract import Game, P


def perft(game: Game[P], position: P, depth: int) -> int:
    """Return the number of sequences of `depth` moves from a position, by move text.

    A sequence that ends the game earlier counts only at the depth where it ends. The last move of each sequence is
    counted from the list of legal moves and not played.
    """
    if depth == 0:
        return 1
    moves = game.moves(position)
    if depth == 1:
        return len(moves)
    return sum(perft(game, game.play(position, move), depth - 1) for move in moves)
