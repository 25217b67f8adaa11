"""Openings: first moves that are given at the creation of a match and that the players do not play.

They are in the `created` event. They count as plies and for the rules about repetition. They cost no time, do not count
in the sessions of a time control, and have no requests.
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
