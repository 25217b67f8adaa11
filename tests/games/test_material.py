"""The material count of each game."""

from __future__ import annotations

import pytest

from arbiter.games.registry import BUNDLED, game


@pytest.mark.parametrize(
    ("name", "material"),
    [("circle-of-life", (0, 0)), ("hop-it", (9, 9)), ("elevation", (6, 6)), ("pondlife", (17, 17))],
)
def test_at_the_start(name: str, material: tuple[int, int]) -> None:
    rules = game(name)
    assert rules.facts.material
    assert rules.material(rules.initial()) == material


def test_a_capture_counts() -> None:
    rules = game("elevation")
    text = rules.text(rules.initial())
    assert rules.material(rules.parse(text.replace("3F", "3", 1))) in ((5, 6), (6, 5))


def test_a_hatched_piece_is_not_material_won() -> None:
    rules = game("pondlife")
    position = rules.initial()
    hatching = [move for move in rules.moves(position) if "=F" in move]
    assert hatching
    assert {rules.material(rules.play(position, move)) for move in hatching} == {rules.material(position)}


def test_games_without_a_material_count() -> None:
    rules = game("pods")
    assert {name for name in BUNDLED if not game(name).facts.material} == {
        "pods",
        "othello",
        "connect-four",
        "hex",
        "go",
        "amazons",
    }
    with pytest.raises(NotImplementedError):
        rules.material(rules.initial())
