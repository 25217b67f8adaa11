"""Scripted games: legal moves computed in advance, so that players cost very little."""

from __future__ import annotations

from random import Random
from typing import Final

from arbiter.games import registry

GAME: Final = "circle-of-life(target=60)"  #: the variant: its rules end a game after 60 moves at the earliest
SCRIPTS: Final = 12  #: number of its games that players know
SEED: Final = 2026
DRAWN: Final = 60  #: games drawn; the longest ones are used


def scripts(variant: str, count: int, drawn: int = DRAWN) -> list[list[str]]:
    """Return the `count` longest of some random games of a variant, each to its end."""
    random, game = Random(SEED), registry.game(variant)
    found = []
    for _ in range(max(drawn, count)):
        position, moves = game.initial(), []
        while legal := game.moves(position):
            moves.append(legal[int(random.random() * len(legal))])
            position = game.play(position, moves[-1])
        found.append(moves)
    return sorted(found, key=len, reverse=True)[:count]
