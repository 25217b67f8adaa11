"""Boards as arrays: the rows of cells of each game, what stands on them, and the array of both."""

from __future__ import annotations

from typing import Any, Final

from arbiter.games import registry
from arbiter.wire.game_messages import contents
from tests.generators.transcripts import Dice

VARIANTS: Final = ("circle-of-life", "elevation(tiles=1)", "hop-it", "pods(size=3)", "pondlife")
PLIES: Final = 12  #: drawn by lot before the position


def vectors() -> list[dict[str, Any]]:
    """Return the content of board_arrays.json."""
    return [_case(variant) for variant in VARIANTS]


def _case(variant: str) -> dict[str, Any]:
    game = registry.game(variant)
    position, dice = game.initial(), Dice(f"{variant}: board")
    for _ in range(PLIES):
        legal = sorted(game.moves(position))
        if not legal:
            break
        position = game.play(position, legal[dice.below(len(legal))])
    names = game.board.names
    content = {cell.cell: cell for cell in contents(game, position)}
    lines = [[names[cell] for cell in line] for line in game.board.lines]
    return {
        "name": variant,
        "lines": lines,
        "contents": [{"cell": each.cell, "owner": each.owner, "piece": each.piece} for each in content.values()],
        "array": [[f"{content[c].owner}{content[c].piece}" if c in content else None for c in row] for row in lines],
    }
