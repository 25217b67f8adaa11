"""The games of a file, in each of its three forms."""

from __future__ import annotations

import pytest

from arbiter.matches.game_files import form_of, games_of
from arbiter.matches.notation import NotationError
from tests.matches.heap import games

TEXT = '[Game "heap(stones=4)"]\n[Player1 "a"]\n[Player2 "b"]\n\n1. 3 2. 1 0-1\n\n[Game "heap"]\n\n1. 9 *\n'


def test_the_end_of_the_name_says_the_form() -> None:
    assert [form_of(name) for name in ("a.pgn", "A.PGN", "b.sgf", "c.txt", "pgn")] == [
        "pgn",
        "pgn",
        "sgf",
        "text",
        "text",
    ]


def test_the_arbiters_own_text_may_hold_several_games() -> None:
    first, second = games_of(TEXT.splitlines(keepends=True), "text", games)
    played = first.play(0)
    assert (first.heading, played.variant, played.moves, played.result, played.ended) == (
        "a – b",
        "heap(stones=4)",
        ("3", "1"),
        "0-1",
        True,
    )
    assert (second.number, second.line) == (2, 7)
    with pytest.raises(NotationError, match="line 9: move 1: '9' is not a move"):
        second.play(0)


@pytest.mark.parametrize(
    ("form", "text", "heading", "variant", "moves"),
    [
        ("pgn", '[White "A"]\n[Black "B"]\n\n1. e4 e5 *\n', "A – B", "chess", ("e2e4", "e7e5")),
        ("sgf", "(;SZ[9]PB[A]PW[B]KM[7.5];B[ee])", "A – B", "go", ("e5",)),
    ],
)
def test_files_of_other_programs(form: str, text: str, heading: str, variant: str, moves: tuple[str, ...]) -> None:
    (game,) = games_of(text.splitlines(), form)  # type: ignore[arg-type]
    played = game.play(0)
    assert (game.heading, played.variant, played.moves) == (heading, variant, moves)
    assert game.play(1).moves == moves[:1]


def test_a_tag_that_comes_twice_is_named_when_the_game_is_played() -> None:
    (game,) = games_of(['[Game "heap"]\n', '[Date "1"]\n', '[Date "2"]\n', "*\n"], "text", games)
    with pytest.raises(NotationError, match="line 3: a second tag Date"):
        game.play(0)
