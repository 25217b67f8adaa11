"""Counts of the sequences of moves."""

from __future__ import annotations

import pytest

from arbiter.games import registry
from arbiter.games.perft import perft


@pytest.mark.parametrize(
    ("variant", "counts"),
    [
        ("circle-of-life", [61, 3660]),
        ("elevation", [1150]),
        ("hop-it", [30, 900]),
        ("pods(size=3)", [18, 306, 1254]),
        ("pondlife", [32, 964]),
    ],
)
def test_counts_of_the_rules(variant: str, counts: list[int]) -> None:
    game = registry.game(variant)
    assert [perft(game, game.initial(), depth) for depth in range(1, len(counts) + 1)] == counts


def test_no_move_is_one_sequence() -> None:
    game = registry.game("circle-of-life")
    assert perft(game, game.initial(), 0) == 1


def test_an_ended_sequence_counts_only_at_the_depth_where_it_ends() -> None:
    game = registry.game("circle-of-life(target=4)")
    position = game.parse("...../....../......./......../ssss...../......../......./....../..... 1 0 0")
    winning = [move for move in game.moves(position) if game.play(position, move).outcome]
    going_on = [move for move in game.moves(position) if move not in winning]
    assert winning
    assert perft(game, position, 1) == len(winning) + len(going_on)
    assert perft(game, position, 2) == sum(len(game.moves(game.play(position, move))) for move in going_on)
    assert perft(game, game.play(position, winning[0]), 0) == 1
    assert perft(game, game.play(position, winning[0]), 1) == 0
