"""Scripted games: legal moves computed in advance, so that players cost very little."""

from __future__ import annotations

from random import Random
from typing import Final

from arbiter.games import registry

GAME: Final = "circle-of-life(target=60)"  #: the variant: its rules end a game after 60 moves at the earliest
SCRIPTS: Final = 12  #: number of its games that players know
SEED: Final = 2026
DRAWN: Final = 60  #: games drawn; the longest ones are used


def scripts(variant: str, count: int) -> list[list[str]]:
    """Return `count` long random games of a variant, each to its end."""
    random, game = Random(SEED), registry.game(variant)
    drawn = []
    for _ in range(max(DRAWN, count)):
        position, moves = game.initial(), []
        while legal := game.moves(position):
            moves.append(legal[int(random.random() * len(legal))])
            position = game.play(position, moves[-1])
        drawn.append(moves)
    return sorted(drawn, key=len, reverse=True)[:count]
