"""Hex: sides, swap, set positions, and the comparison with the reference."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import Step
from arbiter.games.line import follow
from tests.games.against import agree
from tests.games.reference_hex import Reference
from tests.refusals import refusing

GAME = registry.game("hex(size=3)")


def test_red_joins_top_and_bottom_and_blue_left_and_right() -> None:
    assert str(follow(GAME, GAME.initial(), ["b1", "a1", "b2", "a2", "b3"]).final.outcome) == "1 connected"
    assert str(follow(GAME, GAME.initial(), ["a1", "a2", "b1", "b2", "c1", "c2"]).final.outcome) == "2 connected"
    assert follow(GAME, GAME.initial(), ["a1", "a2", "b1", "b2", "c1"]).final.outcome is None


def test_a_row_lies_half_a_cell_to_the_right_of_the_one_above() -> None:
    board = GAME.board
    near = {board.names[cell] for cell in board.adjacent(board.index["b2"])}
    assert near == {"a2", "c2", "b1", "c1", "b3", "a3"}


def test_the_second_player_may_take_over_the_first_stone_mirrored() -> None:
    first = GAME.play(GAME.initial(), "a3")
    assert GAME.moves(first)[-1] == "swap"
    assert GAME.steps(first, "swap") == [Step("swap", "", "c1", "s")]
    after = GAME.play(first, "swap")
    assert GAME.text(after) == "..s/.../... 1"
    assert "swap" not in GAME.moves(after)
    assert GAME.text(GAME.parse("..s/.../... 1")) == "..s/.../... 1"
    assert follow(GAME, GAME.initial(), ["a3", "swap-pieces"]).moves == ("a3", "swap")


def test_there_is_no_swap_later_nor_without_the_parameter() -> None:
    later = follow(GAME, GAME.initial(), ["a3", "b1", "b2"]).final
    with pytest.raises(Refusal, match="only the second player's first move may swap") as caught:
        GAME.play(later, "swap")
    assert caught.value.reason == Reason.MOVE_ILLEGAL
    plain = registry.game("hex(size=3,swap=false)")
    with refusing(Reason.MOVE_MALFORMED):
        plain.play(plain.play(plain.initial(), "a1"), "swap")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("S../S../S.. 1", "as many stones as turns were taken"),
        ("S.s/S.s/S.s 1", "the game was over before"),
        ("SS./.../... 2", "as many stones as turns were taken"),
        ("S../.../.. 2", "3 cells"),
    ],
)
def test_positions_that_no_game_has_are_refused(text: str, why: str) -> None:
    with pytest.raises(Refusal, match=why):
        GAME.parse(text)


@pytest.mark.parametrize(("size", "swap"), [(2, True), (3, True), (5, False), (11, True)])
def test_random_games_agree_with_the_reference(size: int, swap: bool) -> None:
    game = registry.game(f"hex(size={size},swap={str(swap).lower()})")
    for seed in range(6 if size < 11 else 1):
        agree(game, Reference(size, swap, {}, 1), seed, every=1 if size < 11 else 10)
