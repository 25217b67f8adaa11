"""Boards and pieces that look like their game: chequered squares, chess pieces, stones on lines, the sides of Hex."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

import pytest

from arbiter.drawing.looks import STARS, tile_of
from arbiter.drawing.piece_shapes import SHAPES
from arbiter.drawing.svg import svg
from arbiter.drawing.symbols import symbols
from arbiter.games import registry

NS = "{http://www.w3.org/2000/svg}"


def drawn(variant: str, text: str = "") -> Xml.Element:
    game = registry.game(variant)
    return Xml.fromstring(svg(game, game.start(text)))


def of_class(root: Xml.Element, name: str) -> list[Xml.Element]:
    return [element for element in root.iter() if element.attrib.get("class") == name]


def test_the_lower_left_square_is_dark() -> None:
    game = registry.game("chess")
    assert [tile_of(game, game.board.index[name]) for name in ("a1", "b1", "h1", "h8")] == [
        "tile-dark",
        "tile",
        "tile",
        "tile-dark",
    ]
    assert len(of_class(drawn("chess"), "dark")) == 32
    assert len(of_class(drawn("checkers"), "dark")) == 32


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_every_piece_with_a_shape_has_a_symbol_for_each_seat_and_no_letter(name: str) -> None:
    game = registry.game(name)
    assert set(SHAPES[name]) == set(game.facts.letters or {})
    assert {f"{letter}{owner}" for letter in SHAPES[name] for owner in (1, 2)} <= set(symbols(game))
    assert not of_class(drawn(name), "letter on-white")
    bodies = {shape.body for shape in SHAPES[name].values()} | {shape.details for shape in SHAPES[name].values()}
    assert len(bodies - {""}) >= len(SHAPES[name])


@pytest.mark.parametrize(("size", "stars"), [(9, 5), (13, 5), (19, 9)])
def test_stones_stand_on_lines_with_star_points(size: int, stars: int) -> None:
    root = drawn(f"go(size={size})")
    assert len(of_class(root, "star")) == stars
    (lines,) = of_class(root, "line")
    assert lines.attrib["d"].count("V") == lines.attrib["d"].count("H") == size
    assert size in STARS


def test_the_sides_of_hex_have_the_colours_of_the_seats() -> None:
    root = drawn("hex")
    assert len(of_class(root, "side-red")) == len(of_class(root, "side-navy")) == 2


def test_a_closed_cell_of_amazons_is_crossed_out() -> None:
    game = registry.game("amazons")
    after = game.play(game.initial(), "d1-d7/g7")
    root = Xml.fromstring(svg(game, after))
    assert len(of_class(root, "shut")) == 1


def test_every_row_and_file_is_named_at_the_edge() -> None:
    root = drawn("checkers")
    assert sorted(element.text or "" for element in of_class(root, "name")) == sorted([*"12345678", *"abcdefgh"])
