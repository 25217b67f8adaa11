"""Positions as text for a terminal: every cell, every piece, the coordinates, the last move."""

from __future__ import annotations

import re
from random import Random

import pytest

from arbiter.boards.board import Tile
from arbiter.drawing.text_drawing import draw, touched_cells
from arbiter.games import registry
from arbiter.games.contract import Step

VARIANTS = [*registry.classes(), "pods(size=3)"]
WITH_CELLS = [variant for variant in VARIANTS if registry.game(variant).board.size]


def test_a_board_with_rows() -> None:
    game = registry.game("pods(size=3)")
    position = game.parse(".p./..../..P../..../... 1 2")
    drawn = draw(game, position, [Step("place", "", "e2", "P")])
    assert drawn.splitlines()[2:7] == [
        "    e1  ·  [p]  ·  e3",
        "  d1  ·   ·   ·   ·  d4",
        "c1  ·   ·   P   ·   ·  c5",
        "  b1  ·   ·   ·   ·  b4",
        "    a1  ·   ·   ·  a3",
    ]
    assert drawn.startswith("pods(size=3) – Orca to move\n")
    ended = draw(game, position, caption="ann wins: time")
    assert ended.startswith("pods(size=3) – ann wins: time\n"), "a finished match has no player to move"
    assert drawn.endswith("\n")
    assert not drawn.endswith("\n\n")


def test_squares_show_heights_and_coordinates() -> None:
    game = registry.game("elevation")
    cells = "0,0,0,0,0,12d/0,0,0,0,0,0/0,0,0,0,0,0/0,0,0,0,0,0/0,0,0,0,0,0/3F,0,0,0,0,0 1 0"
    lines = draw(game, game.parse(cells), [Step("move", "b1", "a1", "F")]).splitlines()
    assert lines[2].split() == lines[9].split() == ["a", "b", "c", "d", "e", "f"]
    assert lines[3] == "6    0     0     0     0     0    12d  6"
    assert lines[8] == "1  [ 3F] [ 0 ]   0     0     0     0   1"


def test_lilies_stand_in_round_brackets() -> None:
    game = registry.game("hop-it")
    lines = draw(game, game.initial(), [Step("move", "a1", "b2", "T")]).splitlines()
    assert lines[2] == "  g1 ( )  f   f   f   f  ( ) g6"
    assert lines[8] == "  a1 { }  F   F   F   F  ( ) a6"
    assert lines[7] == "b1 ( ) [T]  T   T   T   T  ( ) b7"


def test_facings_are_arrows_and_faces_numbers() -> None:
    game = registry.game("pondlife")
    drawn = draw(game, game.initial())
    assert drawn.count("T↑") == 8
    assert drawn.count("t↓") == 8
    nest = next(move for move in game.moves(game.initial()) if move.endswith("=F3"))
    after = draw(game, game.play(game.initial(), nest))
    assert after.count("F3") == 1
    assert "F↓" not in after


def test_territory_and_groups_have_signs() -> None:
    pods = registry.game("pods(size=4)")
    drawn = draw(pods, pods.parse("..../...../....../......p/....../PP.../P.P. 2 9"))
    assert drawn.splitlines()[-1] == "+ is territory of Orca"
    assert drawn.count("+") == 2
    circle = registry.game("circle-of-life")
    drawn = draw(circle, circle.parse("...../....../......./......../SS......./......../......./....../....s 1 0 0"))
    assert (drawn.count("S2"), drawn.count("s1")) == (2, 1)


def test_what_may_be_captured_next_has_a_sign_that_is_explained() -> None:
    hop = registry.game("hop-it")
    drawn = draw(hop, hop.parse("_...._/_....._/_...._/_....._/_...._/_...f._/FFf.._ 1 0"))
    assert "a1 (F?)   F     f!" in drawn
    assert drawn.splitlines()[-2:] == [
        "!: a frog that can be hopped over now",
        "?: a frog on a lily: it moves now or leaves",
    ]
    assert "!" not in draw(hop, hop.initial())


@pytest.mark.parametrize("variant", WITH_CELLS)
def test_every_piece_and_coordinate_is_drawn(variant: str) -> None:
    game, random = registry.game(variant), Random(5)
    position = game.initial()
    for _ in range(25):
        moves = game.moves(position)
        if not moves:
            break
        move = random.choice(moves)
        steps, position = game.steps(position, move), game.play(position, move)
    drawn = draw(game, position, steps)
    board = drawn.split("\n\n")[1]
    names, ends = game.board.names, [cell for line in game.board.lines for cell in (line[0], line[-1])]
    margins = [names[cell] for cell in ends]
    if game.board.tile is Tile.SQUARE:
        margins = [text for name in names for text in (name[0], name[1]) if name[0] == "a" or name[1] == "1"]
        margins = 2 * sorted({*margins})
    for text in margins:
        assert len(re.findall(rf"(?<![\w]){text}(?!\w)", board)) >= margins.count(text), text
    for owner in (1, 2):
        for letter in game.facts.letters or ():
            shown = letter.lower() if owner == 2 else letter
            pieces = sum(piece.letter.upper() == letter and piece.owner == owner for piece in game.pieces(position))
            assert board.count(shown) == pieces + "".join(margins).count(shown), shown
    brackets = len(re.findall(r"[\[{]", board))
    assert brackets == len(touched_cells(steps))


@pytest.mark.parametrize("variant", VARIANTS)
def test_colour_adds_nothing_but_colour(variant: str) -> None:
    game = registry.game(variant)
    steps = game.steps(game.initial(), game.moves(game.initial())[0])
    plain, colour = draw(game, game.initial(), steps), draw(game, game.initial(), steps, colour=True)
    assert "\x1b" not in plain
    assert ("\x1b[7m" in colour) == bool(touched_cells(steps))
    assert [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", colour).splitlines()] == plain.splitlines()
