"""Boards and pieces that look like their game: chequered squares, chess pieces, stones on lines, the sides of Hex."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

import pytest
from resvg_py import svg_to_bytes

from arbiter.boards.board import Tile
from arbiter.drawing.animal_shapes import PONDLIFE
from arbiter.drawing.contents import GroupLink
from arbiter.drawing.looks import STARS, tile_of
from arbiter.drawing.palette import LIGHT, css, seat_classes
from arbiter.drawing.piece_shapes import SHAPES, owners, shape_name
from arbiter.drawing.shapes import element
from arbiter.drawing.skeleton import NAME_SIZE, NAME_SPOTS, UNIT, skeleton
from arbiter.drawing.svg import links, svg
from arbiter.drawing.symbols import legend, size_of, symbols
from arbiter.games import registry
from arbiter.games.contract import Piece
from tests.drawing.test_svg import BOLD_DIGIT

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
    game, known = registry.game(name), symbols(registry.game(name))
    assert {shape[0] for shape in SHAPES[name]} == set(game.facts.letters or {})
    for shape, drawn_as in SHAPES[name].items():
        for owner in owners(shape):
            ways = [f".{facing}" for facing in range(len(game.board.directions))] if drawn_as.turns else [""]
            drawings = {known[f"{shape}.{owner}{way}"].drawn for way in ways}
            assert len(drawings) == len(ways), "each facing has a drawing of its own"
    assert not [element for element in drawn(name).iter() if element.attrib.get("class", "").startswith("letter")]
    pairs = {(shape.body, shape.details) for shape in SHAPES[name].values()}
    assert len(pairs) == len(SHAPES[name]), "no two kinds look alike"


def test_a_shape_says_what_its_piece_may_do() -> None:
    game = registry.game("pondlife")
    assert [shape_name(game, Piece(1, "F", face)) for face in (3, 4)] == ["F3", "F4"]
    assert [PONDLIFE[name].details.count("Z") - PONDLIFE["T"].details.count("Z") for name in ("F3", "F4")] == [4, 6]
    three = registry.game("pondlife(eel=true,lines=3)")
    assert [shape_name(which, Piece(2, letter, 0)) for which in (game, three) for letter in "DE"] == [
        "D2", "E2", "D3", "E3"
    ]  # fmt: skip
    assert shape_name(registry.game("pods"), Piece(2, "P")) == "P-2"


def test_the_legend_has_a_picture_of_each_kind() -> None:
    for variant in ("pondlife(lines=3)", "hop-it", "elevation"):
        game = registry.game(variant)
        found = dict(legend(game))
        assert set(found) <= set(symbols(game))
        assert {words.partition(",")[0] for words in found.values()} == set((game.facts.letters or {}).values())
    assert not list(legend(registry.game("chess")))
    root = drawn("pondlife")
    assert "newt" in [element.text for element in root.iter(f"{NS}text")]
    assert [element for element in root.iter() if "scale(0.3)" in element.attrib.get("transform", "")]


def test_letters_in_place_of_shapes() -> None:
    game = registry.game("pondlife")
    root = Xml.fromstring(svg(game, game.initial(), letters=True))
    texts = [element.text for element in root.iter(f"{NS}text") if "letter" in element.attrib.get("class", "")]
    assert sorted(texts, key=str) == sorted([*"TTTTTTTTN", *"ttttttttn"])
    assert not [element for element in root.iter() if "shape" in element.attrib.get("class", "")]
    assert {"N", "nest", "W", "newt"} <= {element.text for element in root.iter(f"{NS}text")}


@pytest.mark.parametrize("variant", ["pondlife", "pondlife(lines=3)", "hop-it", "pods", "elevation", "circle-of-life"])
def test_no_name_of_a_cell_and_no_height_is_under_a_piece(variant: str) -> None:
    game, known = registry.game(variant), symbols(registry.game(variant))
    if game.board.tile is Tile.SQUARE:
        (x, y), half, high = known["height"].text_at, BOLD_DIGIT * size_of(known["height"], "12"), 6.0
    else:
        x, y = (UNIT * part for part in NAME_SPOTS[game.board.tile][0])
        half, high = 0.63 * NAME_SIZE, 0.365 * NAME_SIZE
    for name, symbol in known.items():
        if re.fullmatch(r"[A-Z][0-9-]*[.].*" if game.board.tile is Tile.SQUARE else r"[A-Z][0-9-]*[.].*|p[12]", name):
            assert _is_beside(symbol.drawn, x, y, half, high), name
    assert not _is_beside(known["p1"].drawn, 0.0, 0.0, half, high), "the comparison finds what is covered"


@pytest.mark.parametrize("variant", ["circle-of-life", "hop-it"])
def test_no_name_of_a_cell_is_on_a_bar_or_on_the_edge_of_a_leaf_or_of_the_last_move(variant: str) -> None:
    game = registry.game(variant)
    shape, (x, y) = skeleton(game.board), (UNIT * part for part in NAME_SPOTS[game.board.tile][0])
    half, high, cell = 0.63 * NAME_SIZE, 0.365 * NAME_SIZE, game.board.index["d4"]
    for name in ("to", "mark"):
        assert _is_beside(symbols(game)[name].drawn, x, y, half, high)
    for other in game.board.adjacent(cell):
        bar = "".join(links(shape, seat_classes(game.facts), [GroupLink(1, cell, other)]))
        for cx, cy in (shape.centres[cell], shape.centres[other]):
            assert _is_beside(element("g", bar, transform=f"translate({-cx} {-cy})"), x, y, half, high)


def _is_beside(drawn: str, x: float, y: float, half: float, high: float) -> bool:
    """Return whether what is drawn lies beside a rectangle around (x, y): it looks the same with it on top."""
    over = element("rect", x=x - half, y=y - high, width=2 * half, height=2 * high, fill="#808080")
    ground = element("rect", x=-40.0, y=-40.0, width=80.0, height=80.0, fill="#808080")
    view = f"{x - half - 1} {y - high - 1} {2 * half + 2} {2 * high + 2}"  # all that the rectangle can change
    pictures = [
        bytes(
            svg_to_bytes(
                svg_string=element("svg", element("style", css(LIGHT)), ground, each, xmlns=NS[1:-1], viewBox=view),
                width=round(4 * (2 * half + 2)),
            )
        )
        for each in (drawn, drawn + over)
    ]
    return pictures[0] == pictures[1]


@pytest.mark.parametrize(("size", "stars"), [(9, 5), (13, 5), (19, 9)])
def test_stones_stand_on_lines_with_star_points(size: int, stars: int) -> None:
    root = drawn(f"go(size={size})")
    assert len(of_class(root, "star")) == stars
    (lines,) = of_class(root, "line")
    assert lines.attrib["d"].count("V") == lines.attrib["d"].count("H") == size
    assert size in STARS


def test_discs_lie_on_felt_and_in_a_rack_with_holes_and_the_last_one_has_a_ring() -> None:
    assert len(of_class(drawn("othello"), "felt")) == 64
    assert len(of_class(drawn("connect-four"), "rack")) == len(of_class(drawn("connect-four"), "paper")) - 1 == 42
    game = registry.game("connect-four")
    after = game.play(game.initial(), "d")
    root = Xml.fromstring(svg(game, after, game.steps(game.initial(), "d"), game.initial()))
    assert len(of_class(root, "fresh")) == 1


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
