"""Connect Four: lines, full columns, set positions, and the comparison with the reference."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import Step
from arbiter.games.line import follow
from tests.games import reference_connect_four as reference
from tests.games.against import agree

GAME = registry.game("connect-four")


@pytest.mark.parametrize(
    ("moves", "outcome"),
    [
        ("a b a b a b a", "1 four_in_a_row"),
        ("a a b b c c d", "1 four_in_a_row"),
        ("a b b c c d c d d a d", "1 four_in_a_row"),
        ("g f f e e d e d d g d", "1 four_in_a_row"),
        ("g a a b b c c e d", "none"),
        ("a b a b a b c b", "2 four_in_a_row"),
    ],
)
def test_four_in_a_line_win(moves: str, outcome: str) -> None:
    assert str(follow(GAME, GAME.initial(), moves.split()).final.outcome or "none") == outcome


def test_a_line_does_not_go_on_in_the_next_column() -> None:
    full = follow(GAME, GAME.initial(), ["b", "a", "b", "b", "a", "a", "a", "b", "a", "b"]).final
    assert full.outcome is None


def test_a_full_column_takes_no_disc() -> None:
    position = follow(GAME, GAME.initial(), ["d"] * 6).final
    assert "d" not in GAME.moves(position)
    with pytest.raises(Refusal, match="column d is full"):
        GAME.play(position, "d")


def test_a_disc_is_shown_where_it_comes_to_lie() -> None:
    position = follow(GAME, GAME.initial(), ["d", "d"]).final
    assert GAME.steps(position, "d") == [Step("place", "", "d3", "D")]


def test_numbers_and_capitals_are_aliases() -> None:
    assert follow(GAME, GAME.initial(), ["4", "D"]).moves == ("d", "d")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("......./......./......./......./...D.../....... 2", "no empty cell below a disc"),
        ("......./......./......./......./......./...D... 1", "as many discs as turns were taken"),
        ("......./......./......./......./ddd..../DDDD... 1", "as many discs as turns were taken"),
        ("......./......./......./......./dddd.../DDDD... 1", "the game was over before"),
        ("......./......./......./......./...D... 2", "6 rows"),
        ("......./......./......./......./......./...X... 2", "one of"),
    ],
)
def test_positions_that_no_game_has_are_refused(text: str, why: str) -> None:
    with pytest.raises(Refusal, match=why) as caught:
        GAME.parse(text)
    assert caught.value.reason == Reason.POSITION_MALFORMED


def test_random_games_agree_with_the_reference() -> None:
    for seed in range(12):
        agree(GAME, reference.start(), seed)
