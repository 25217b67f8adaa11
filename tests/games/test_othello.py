"""Othello: passes, ends, refusals, and the comparison with the reference."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import Step
from tests.games import reference_othello as reference
from tests.games.against import agree

GAME = registry.game("othello")
MUST_PASS = "......../......../......../......../......../......../......../Dd.....D 2"


def test_a_disc_turns_over_what_it_flanks_in_every_direction() -> None:
    after = GAME.play(GAME.initial(), "d3")
    assert GAME.text(after) == "......../......../......../...Dd.../...DD.../...D..../......../........ 2"
    assert GAME.moves(after) == ["c3", "c5", "e3"]


def test_a_player_without_a_move_must_pass_and_one_with_a_move_must_not() -> None:
    position = GAME.parse(MUST_PASS)
    assert GAME.moves(position) == ["pass"]
    assert GAME.steps(position, "pass") == [Step("pass", "", "")]
    assert GAME.moves(GAME.play(position, "pass")) == ["c1"]
    with pytest.raises(Refusal, match="a disc can be placed, such as c4"):
        GAME.play(GAME.initial(), "pass")


@pytest.mark.parametrize(
    ("row", "outcome"), [("DDd.....", "none"), ("DDDd", "none"), ("DDD", "1 most_discs"), ("dd", "2 most_discs")]
)
def test_the_game_ends_when_neither_can_move(row: str, outcome: str) -> None:
    text = "/".join(["........"] * 7 + [row.ljust(8, ".")])
    assert str(GAME.parse(f"{text} 1").outcome or "none") == outcome


def test_a_full_board_of_equal_halves_is_a_draw() -> None:
    assert str(GAME.parse("/".join(["DDDDdddd"] * 8) + " 1").outcome) == "draw equal_discs"


@pytest.mark.parametrize(
    ("move", "why"), [("d5", "d5 is taken"), ("a1", "it would turn no disc"), ("c3", "it would turn no disc")]
)
def test_illegal_moves(move: str, why: str) -> None:
    with pytest.raises(Refusal, match=why) as caught:
        GAME.play(GAME.initial(), move)
    assert caught.value.reason == Reason.MOVE_ILLEGAL


def test_random_games_agree_with_the_reference() -> None:
    for seed in range(6):
        agree(GAME, reference.start(), seed)
