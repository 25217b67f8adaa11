"""Breakthrough: captures, ends, refusals, and the comparison with the reference."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.line import follow
from tests.games import reference_breakthrough as reference
from tests.games.against import agree

GAME = registry.game("breakthrough")
EMPTY = "........"


def board(**ranks: str) -> str:
    return "/".join(ranks.get(f"r{rank}", EMPTY) for rank in range(8, 0, -1))


def test_a_piece_goes_straight_only_to_an_empty_cell_and_captures_only_diagonally() -> None:
    position = GAME.parse(f"{board(r4='...P....', r5='..pp....')} 1")
    assert GAME.moves(position) == ["d4-c5", "d4-e5"]
    assert GAME.material(GAME.play(position, "d4-c5")) == (1, 1)


def test_the_far_rank_wins_and_so_does_the_last_capture() -> None:
    assert str(GAME.play(GAME.parse(f"{board(r7='P.......', r2='p.......')} 1"), "a7-b8").outcome) == "1 far_rank"
    assert str(GAME.play(GAME.parse(f"{board(r7='P.......', r2='p.......')} 2"), "a2-a1").outcome) == "2 far_rank"
    assert str(GAME.play(GAME.parse(f"{board(r3='P.......', r4='.p......')} 1"), "a3-b4").outcome) == "1 no_pieces"


@pytest.mark.parametrize(
    ("move", "why"),
    [
        ("a7-a6", "White has no piece on a7"),
        ("a2-a4", "the piece on a2 can't go to a4"),
        ("a1-a2", "the piece on a1 can't go to a2"),
        ("a2-b2", "the piece on a2 can't go to b2"),
    ],
)
def test_illegal_moves(move: str, why: str) -> None:
    with pytest.raises(Refusal, match=why) as caught:
        GAME.play(GAME.initial(), move)
    assert caught.value.reason == Reason.MOVE_ILLEGAL


def test_aliases() -> None:
    assert follow(GAME, GAME.initial(), ["a2a3", "b7xb6"]).moves == ("a2-a3", "b7-b6")


@pytest.mark.parametrize(("rank", "turn"), [("r8", 1), ("r1", 2)])
def test_a_seat_that_has_won_before_is_refused(rank: str, turn: int) -> None:
    sign = "P......." if turn == 1 else "p......."
    with pytest.raises(Refusal, match="the game was over before"):
        GAME.parse(f"{board(**{rank: sign, 'r4': 'pP......'})} {turn}")
    with pytest.raises(Refusal, match="at least one piece"):
        GAME.parse(f"{board()} 1")


def test_random_games_agree_with_the_reference() -> None:
    for seed in range(8):
        agree(GAME, reference.start(), seed)
