"""Openings: moves that are played, by nobody, before the clocks of a match start.

They stand in the event that makes the match. They count as plies, and the rules look back on them like on all others;
but no clock is charged for them, no session of moves counts them, and no request is behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from arbiter.errors import argument_invalid
from arbiter.games.contract import AnyGame
from arbiter.games.line import follow

MOST_OPENING_MOVES: Final = 100


def played(game: AnyGame, opening: Sequence[str]) -> tuple[Any, bytes]:
    """Return the position after an opening, and the seat of each of its moves.

    Raises Refusal MOVE_MALFORMED or MOVE_ILLEGAL with the fact `ply`, the number of its moves before the bad one;
    ARGUMENT_INVALID for an opening of more than MOST_OPENING_MOVES moves, or one that ends the game.
    """
    if len(opening) > MOST_OPENING_MOVES:
        raise argument_invalid(f"{len(opening)} moves", "opening", f"at most {MOST_OPENING_MOVES} moves")
    line = follow(game, game.initial(), opening)
    if line.final.outcome is not None:
        raise argument_invalid(" ".join(opening), "opening", "moves that do not end the game")
    return line.final, bytes(position.turn for position in line.positions[:-1])
