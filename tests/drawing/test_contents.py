"""Positions as lists of pieces and regions: complete, small, and with the effects of the last move."""

from __future__ import annotations

import json
from math import dist, sqrt
from random import Random
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from arbiter.drawing.contents import Contents, as_json, contents, letter
from arbiter.drawing.palette import DARK, INKS, LIGHT, SHADES, Palette, css, seat_classes
from arbiter.drawing.skeleton import UNIT, skeleton
from arbiter.drawing.symbols import Placed, symbols
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.games.line import follow
from tests.drawing.test_svg import EACH

MOST_BYTES = 2_000  #: of the contents of a position: every viewer gets them with each move


def shown_after(game: AnyGame, text: str, move: str) -> Contents:
    before = game.parse(text)
    return contents(game, game.play(before, move), game.steps(before, move), before)


def cells_of(game: AnyGame, layer: tuple[Placed, ...], symbol: str) -> set[str]:
    return {game.board.names[cell] for item in layer if item.symbol == symbol for cell in item.cells}


def line(game: AnyGame, seed: int, plies: int) -> list[tuple[Any, str, Any]]:
    """Yield (position, move, position after it) of random play."""
    random, position = Random(seed), game.initial()
    found: list[tuple[Any, str, Any]] = []
    while len(found) < plies and (moves := game.moves(position)):
        move = random.choice(moves)
        after = game.play(position, move)
        found.append((position, move, after))
        position = after
    return found


@pytest.mark.parametrize("variant", [*EACH, "elevation(tiles=20)"])
def test_every_piece_occurs_once_and_every_symbol_is_known(variant: str) -> None:
    game, known = registry.game(variant), symbols(registry.game(variant))
    for before, move, position in line(game, 3, 60):
        shown = contents(game, position, game.steps(before, move), before)
        standing = {cell: text for item in shown.pieces for cell, text in ((cell, item.text) for cell in item.cells)}
        pieces = game.pieces(position)
        assert set(standing) == {cell for cell, piece in enumerate(pieces) if piece.letter}
        groups = [region for region in game.regions(position) if region.kind == "group"]
        signs = {cell: region.sign for region in groups for cell in region.cells if region.sign}
        assert all(text == signs.get(cell, letter(game, pieces[cell])) for cell, text in standing.items())
        for layer in (shown.ground, shown.last, shown.signs, shown.pieces, shown.over):
            assert {item.symbol for item in layer} <= set(known)
            assert all(0 <= cell < game.board.size for item in layer for cell in item.cells)


@pytest.mark.parametrize("variant", [each for each in EACH if each.values != ("pods(size=10)",)])
def test_contents_are_small(variant: str) -> None:
    game = registry.game(variant)
    for before, move, position in line(game, 5, 100):
        shown = as_json(contents(game, position, game.steps(before, move), before))
        assert len(json.dumps(shown, separators=(",", ":"))) <= MOST_BYTES


def test_territory_is_a_region_of_its_seat() -> None:
    game = registry.game("pods(size=5)")
    for _, _, position in line(game, 1, 80):
        shown = contents(game, position)
        held = [len(cells_of(game, shown.ground, f"land{seat}")) for seat in (1, 2)]
        counted = [count for words, count in game.counters(position).items() if words.startswith("territory")]
        assert held == (counted or [0, 0])


def test_what_is_threatened_has_a_sign() -> None:
    game = registry.game("hop-it")
    position = game.parse("_...._/_....._/_...._/_....._/_...._/_...f._/FFf.._ 1 0")
    shown = contents(game, position)
    marked = {item.text: cells_of(game, (item,), "threat") for item in shown.over}
    assert marked == {"!": {"a3"}, "?": {"a1"}}


def test_a_king_in_check_has_a_sign() -> None:
    game = registry.game("chess")
    for moves, sign in (
        ("e2e4 e7e5 d1h5 b8c6 h5f7", {"+": {"e8"}}),
        ("f2f3 e7e5 g2g4 d8h4", {"#": {"e1"}}),
        ("e2e4", {}),
    ):
        shown = contents(game, follow(game, game.initial(), moves.split()).final)
        assert {item.text: cells_of(game, (item,), "threat") for item in shown.over} == sign


def test_critters_have_links_and_the_number_of_their_species() -> None:
    game = registry.game("circle-of-life")
    position = game.parse("...../....../......./......../ssss...../......../......./....../S...S 1 0 0")
    shown = contents(game, position)
    assert {item.text: len(item.cells) for item in shown.pieces} == {"1": 2, "12": 4}
    assert len(shown.links) == 3
    assert {link.owner for link in shown.links} == {2}


def test_what_was_eaten_is_marked() -> None:
    game = registry.game("circle-of-life")
    shown = shown_after(game, "...../....../......./......../s.S....../......../......./....../..... 2 0 0", "e2")
    assert cells_of(game, shown.over, "taken") == {"e3"}
    assert cells_of(game, shown.last, "to") == {"e2"}


@pytest.mark.long
def test_what_was_hopped_over_is_marked() -> None:
    game = registry.game("hop-it")
    seen = set()
    for seed in range(8):
        for before, move, position in line(game, seed, 60):
            shown = contents(game, position, game.steps(before, move), before)
            lost = sum(map(bool, (piece.letter for piece in game.pieces(before)))) - sum(
                map(bool, (piece.letter for piece in game.pieces(position)))
            )
            assert len(cells_of(game, shown.over, "taken")) == lost
            seen |= {item.symbol for item in shown.over}
            if "x" in move:
                assert shown.moves[0] == (game.board.index[move[:2]], game.board.index[move[3:5]])
    assert seen - {"threat"} == {"taken", "changed"}


def test_targets_are_marked() -> None:
    game = registry.game("pondlife")
    shown = contents(game, game.initial(), targets=["e5", "e4"])
    assert cells_of(game, shown.over, "target") == {"e4", "e5"}


def test_letters_are_drawn_only_where_pieces_differ() -> None:
    for variant, texts in (("pods", {""}), ("hop-it", {""}), ("circle-of-life", set("123456789") | {"10", "11", "12"})):
        game = registry.game(variant)
        _, _, position = line(game, 2, 12)[-1]
        assert {item.text for item in contents(game, position).pieces} <= texts


def test_seats_have_the_colours_of_their_names() -> None:
    inks = {name: seat_classes(registry.game(name).facts)[1:] for name in registry.classes()}
    assert inks["hop-it"] == ("white", "black")
    assert inks["pondlife"] == inks["pods"] == inks["elevation"] == ("gold", "navy")
    assert {ink for pair in inks.values() for ink in pair} <= set(INKS)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG 2 defines it."""
    channels = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_have_enough_contrast(palette: Palette) -> None:
    assert contrast(palette.text, palette.paper) >= 7
    assert contrast(palette.quiet, palette.paper) >= 4.5
    assert contrast(palette.accent, palette.tile) >= 3
    for ink in INKS.values():
        assert contrast(ink.fill, ink.text) >= 4.5


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_pieces_have_enough_contrast_with_the_board(palette: Palette) -> None:
    rules = dict(rule.removesuffix("}").split("{") for rule in css(palette).splitlines())
    for name in INKS:
        fill, edge = (part.partition(":")[2] for part in rules[f".{name}"].split(";")[:2])
        assert max(contrast(fill, palette.tile), contrast(edge, palette.tile)) >= 3, name


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_names_of_cells_have_enough_contrast_with_what_they_stand_on(palette: Palette) -> None:
    rules = dict(rule.removesuffix("}").split("{") for rule in css(palette).splitlines())
    fill, opacity = (part.partition(":")[2] for part in rules[".name"].split(";"))
    for ground in (palette.paper, palette.tile, *palette.territory):
        assert contrast(mixed(fill, ground, float(opacity)), ground) >= 3, ground


def mixed(colour: str, ground: str, opacity: float) -> str:
    """Return a colour as it looks on a ground."""
    pairs = [(int(colour[n : n + 2], 16), int(ground[n : n + 2], 16)) for n in (1, 3, 5)]
    return "#" + "".join(f"{round(opacity * over + (1 - opacity) * under):02x}" for over, under in pairs)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_all_heights_have_different_shades(palette: Palette) -> None:
    rules = dict(rule.removesuffix("}").split("{") for rule in css(palette).splitlines())
    shades = [luminance(rules[f".h{n}"].removeprefix("fill:")) for n in range(SHADES + 1)]
    assert shades in (sorted(shades), sorted(shades, reverse=True))
    assert len(set(shades)) == SHADES + 1 == 13


@pytest.mark.parametrize("variant", EACH)
def test_the_skeleton_has_the_whole_board(variant: str) -> None:
    board = registry.game(variant).board
    shape = skeleton(board)
    assert skeleton(board) is shape
    assert len(shape.centres) == board.size
    assert all(0 < x < shape.width and 0 < y < shape.height for x, y in shape.centres)
    for name in map(Xml.fromstring, shape.coordinates()):
        x, y, half = (float(name.attrib[each]) for each in ("x", "y", "font-size"))
        assert half / 2 < x < shape.width - half / 2
        assert half / 2 < y < shape.height - half / 2


@pytest.mark.parametrize("variant", ["chess", "amazons", "go", "go(size=13)", "go(size=19)", "hex"])
def test_names_at_the_edges_can_be_read_on_a_board_of_any_size(variant: str) -> None:
    shape = skeleton(registry.game(variant).board)
    sizes = {float(Xml.fromstring(name).attrib["font-size"]) for name in shape.coordinates()}
    assert min(sizes) / shape.width > 0.018
    assert len(sizes) == 1


def test_rows_and_files_of_hex_are_named_beside_the_board() -> None:
    game = registry.game("hex(size=3)")
    shape = skeleton(game.board)
    at = {
        name.text: (float(name.attrib["x"]), float(name.attrib["y"]))
        for name in map(Xml.fromstring, shape.coordinates())
    }
    for name, (x, y) in at.items():
        assert all(dist((x, y), centre) > UNIT / sqrt(3) for centre in shape.centres)
        cells = [game.board.index[f"a{name}" if name and name.isdigit() else f"{name}1"]]
        assert min(range(9), key=lambda cell: dist((x, y), shape.centres[cell])) in cells
    assert {*at} == {*"abc123"}
