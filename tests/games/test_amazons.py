"""Amazons: arrows, ends, refusals, and the comparison with the reference."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import Step
from arbiter.games.line import follow
from tests.games import reference_amazons as reference
from tests.games.against import agree

GAME = registry.game("amazons")
EMPTY = ".........."


def test_an_arrow_may_stay_on_the_cell_that_the_amazon_left() -> None:
    after = GAME.play(GAME.initial(), "d1-d7/d1")
    assert GAME.text(after).split(" ")[0].split("/")[-1] == "...x..A..."
    assert GAME.steps(GAME.initial(), "d1-d7/d1") == [Step("move", "d1", "d7"), Step("shoot", "d7", "d1")]
    assert GAME.pieces(after)[GAME.board.index["d1"]].mark == "arrow"


def test_a_player_who_cannot_move_loses() -> None:
    rows = [EMPTY] * 7 + ["a.........", "xxx.......", "A.x......."]
    position = GAME.parse(f"{'/'.join(rows)} 1")
    assert GAME.moves(position) == ["a1-b1/a1"]
    after = GAME.parse(f"{'/'.join([*rows[:8], 'xxx.......', 'xAx.......'])} 1")
    assert str(after.outcome) == "2 no_moves"


@pytest.mark.parametrize(
    ("move", "why"),
    [
        ("d10-d9/d8", "White has no amazon on d10"),
        ("d1-e3/e4", "the amazon on d1 does not reach e3"),
        ("d1-d7/e9", "an arrow from d7 does not reach e9"),
        ("d1-j1/i1", "the amazon on d1 does not reach j1"),
    ],
)
def test_illegal_moves(move: str, why: str) -> None:
    with pytest.raises(Refusal, match=why) as caught:
        GAME.play(GAME.initial(), move)
    assert caught.value.reason == Reason.MOVE_ILLEGAL


def test_aliases() -> None:
    assert follow(GAME, GAME.initial(), ["D1-D7/G7", "g10-g8(h8)"]).moves == ("d1-d7/g7", "g10-g8/h8")


def test_random_games_agree_with_the_reference() -> None:
    agree(GAME, reference.start(), 1, every=15)
    agree(GAME, reference.start(), 2, every=15)
