"""Random games on an engine and on a reference at once: text, moves and outcome must agree at every ply."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from arbiter.games.contract import AnyGame


class Reference(Protocol):
    """A slow second implementation of a position."""

    def moves(self) -> set[str]: ...

    def play(self, move: str) -> Any: ...

    def text(self) -> str: ...

    def outcome(self) -> str: ...


def agree(
    game: AnyGame,
    reference: Reference,
    seed: int,
    plies: int = 1_000,
    every: int = 1,
    choose: Callable[[list[str], Random], str] | None = None,
) -> None:
    """Play a random game of at most so many plies; compare the moves at every so many of them.

    `choose` picks a move of a sorted list; the default is that each is as likely as another.
    """
    random, position, other = Random(seed), game.parse(reference.text()), reference
    for ply in range(plies):
        where = f"{game.variant} | {game.text(position)}"
        assert game.text(position) == other.text(), where
        assert str(position.outcome or "none") == other.outcome(), where
        moves = sorted(game.moves(position))
        if ply % every == 0:
            assert set(moves) == other.moves(), where
        if not moves:
            return
        move = choose(moves, random) if choose else random.choice(moves)
        position, other = game.play(position, move), other.play(move)
