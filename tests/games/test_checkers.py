"""Checkers: captures, crowning, draws, numbers, and the comparison with the reference."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.line import follow
from tests.games import reference_checkers as reference
from tests.games.against import agree

GAME = registry.game("checkers")


def position(cells: dict[str, str], turn: int, quiet: int = 0) -> str:
    pieces = {reference.place(cell): sign for cell, sign in cells.items()}
    return reference.Reference(pieces, turn, quiet).text()


def test_a_capture_must_be_made_and_goes_on() -> None:
    start = GAME.parse(position({"c7": "M", "d6": "m", "d4": "m", "h8": "M"}, 1))
    assert GAME.moves(start) == ["c7xe5xc3"]
    for move, why in (("h8-g7", "a capture is possible"), ("c7xe5", "the capture goes on: c7xe5xc3")):
        with pytest.raises(Refusal, match=why) as caught:
            GAME.play(start, move)
        assert caught.value.reason == Reason.MOVE_ILLEGAL
    assert GAME.material(GAME.play(start, "c7xe5xc3")) == (2, 0)


def test_a_man_that_is_crowned_stops() -> None:
    start = GAME.parse(position({"c3": "M", "b2": "m", "d2": "m", "h2": "m"}, 1))
    assert set(GAME.moves(start)) == {"c3xa1", "c3xe1"}
    after = GAME.play(start, "c3xe1")
    assert GAME.pieces(after)[GAME.board.index["e1"]].letter == "K"
    assert GAME.notation(start, "c3xe1") == "22x31"


def test_a_king_goes_round() -> None:
    start = GAME.parse(position({"c3": "K", "d4": "m", "d6": "m", "b6": "m", "b4": "m"}, 1))
    assert "c3xe5xc7xa5xc3" in GAME.moves(start)
    assert str(GAME.play(start, "c3xe5xc7xa5xc3").outcome) == "1 no_moves"


def test_forty_moves_and_repetition_are_draws() -> None:
    quiet = GAME.parse(position({"a1": "K", "h8": "k"}, 1, 79))
    assert str(GAME.play(quiet, "a1-b2").outcome) == "draw forty_moves"
    line = follow(GAME, GAME.parse(position({"a1": "K", "h8": "k"}, 1)), ["a1-b2", "h8-g7", "b2-a1", "g7-h8"] * 2)
    assert str(line.final.outcome) == "draw repetition"


def test_numbers_and_capitals_are_aliases() -> None:
    assert follow(GAME, GAME.initial(), ["11-15", "22-18", "15x22"]).moves == ("f6-e5", "c3-d4", "e5xc3")
    assert GAME.canonical("33-1") == "33-1"
    assert GAME.notation(GAME.initial(), "f6-e5") == "11-15"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (position({"a1": "M"}, 1), "no man on the rank"),
        (position({"h8": "m"}, 2), "no man on the rank"),
        (position({"a1": "K"}, 1, 81), "from 0 to 80"),
        ("/".join(["KKKK"] * 4 + ["...."] * 4) + " 1 0", "at most 12"),
    ],
)
def test_positions_that_no_game_has_are_refused(text: str, why: str) -> None:
    with pytest.raises(Refusal, match=why):
        GAME.parse(text)


def test_random_games_agree_with_the_reference() -> None:
    for seed in range(3):
        agree(GAME, reference.start(), seed, 150)
    kings = reference.from_text(position({"a1": "K", "c1": "K", "d4": "m", "h8": "k", "f8": "k"}, 2))
    agree(GAME, kings, 4, 150)
