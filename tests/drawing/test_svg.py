"""Positions as SVG: well-formed, one group for each cell, text for screen readers, the last move marked."""

from __future__ import annotations

from math import hypot
from random import Random
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from arbiter.drawing.shapes import element, label, number, words
from arbiter.drawing.skeleton import UNIT
from arbiter.drawing.svg import svg
from arbiter.drawing.symbols import RADIUS, size_of, symbols
from arbiter.games import registry
from arbiter.games.contract import AnyGame, Look, Step

NS = "{http://www.w3.org/2000/svg}"
BOLD_DIGIT, CAPITAL = (
    0.696,
    0.729,
)  #: width of a digit and height of a capital in font sizes: DejaVu Sans Bold, a wide font
VARIANTS = [*registry.classes(), "pods(size=3)", "pods(size=10)", "pondlife(eel=true)"]
EACH = [pytest.param(name, marks=pytest.mark.long if name.startswith("openspiel-") else ()) for name in VARIANTS]
"""All of these; games of a plug-in, which one adapter draws, are not in `make quick`."""


def busy(game: AnyGame, plies: int, seed: int = 2) -> tuple[Any, list[Step]]:
    """Return the position after some random moves, and the steps of the last move."""
    random, position, steps = Random(seed), game.initial(), []
    for _ in range(plies):
        moves = game.moves(position)
        if not moves:
            break
        move = random.choice(moves)
        steps, position = list(game.steps(position, move)), game.play(position, move)
    return position, steps


def cells(root: Xml.Element) -> dict[str, Xml.Element]:
    return {group.attrib["data-cell"]: group for group in root.iter(f"{NS}g") if "data-cell" in group.attrib}


def title(group: Xml.Element) -> str:
    return group.findtext(f"{NS}title") or ""


def layer(root: Xml.Element, name: str) -> Xml.Element:
    found = root.find(f".//{NS}g[@class='{name}']")
    assert found is not None
    return found


@pytest.mark.parametrize("variant", EACH)
@pytest.mark.parametrize("plies", [0, 30, 150])
def test_each_cell_is_one_group_that_names_its_piece(variant: str, plies: int) -> None:
    game = registry.game(variant)
    position, steps = busy(game, plies)
    groups = cells(Xml.fromstring(svg(game, position, steps)))
    assert list(groups) == list(game.board.names)
    for name, piece in zip(game.board.names, game.pieces(position), strict=True):
        words_of_cell = title(groups[name])
        assert words_of_cell.startswith(f"{name}: ")
        assert (not piece.letter) == (
            "empty" in words_of_cell or words_of_cell in (f"{name}: {piece.mark}", f"{name}: height {piece.height}")
        )
        if piece.letter:
            assert game.facts.seat_name(piece.owner) in words_of_cell
        if piece.height >= 0:
            assert f"height {piece.height}" in words_of_cell
        assert (piece.mark in words_of_cell) or not piece.mark


@pytest.mark.parametrize("variant", EACH)
def test_the_last_move_is_outlined_and_its_arrows_are_below_the_pieces(variant: str) -> None:
    game = registry.game(variant)
    position, steps = busy(game, 31)
    root = Xml.fromstring(svg(game, position, steps))
    touched = {name for step in steps for name in (step.source, step.target) if name}
    on_pieces = [ring for ring in layer(root, "over").iter() if ring.get("class") == "fresh"]
    assert len(layer(root, "last")) == (0 if on_pieces else len(touched)), "it is marked on its cells or on a piece"
    ways = [step for step in steps if step.source and step.target and step.source != step.target]
    if game.facts.look is Look.CHEQUERED and len(ways) == 1:
        ways = []  # two marked squares say it, as on every chessboard
    assert len(layer(root, "ways").findall(f"{NS}polygon[@class='head']")) == len(ways)
    order = [group.get("class") for group in root.iter(f"{NS}g")]
    assert order.index("ways") < order.index("names") < order.index("pieces")
    still = Xml.fromstring(svg(game, position))
    assert not len(layer(still, "last"))
    assert not len(layer(still, "ways"))


@pytest.mark.parametrize("variant", EACH)
def test_it_needs_no_other_file_and_has_text_for_screen_readers(variant: str) -> None:
    game = registry.game(variant)
    position, steps = busy(game, 20)
    drawn = svg(game, position, steps)
    root = Xml.fromstring(drawn)
    assert root.attrib["role"] == "img"
    assert root.findtext(f"{NS}title", "").startswith(game.facts.name)
    assert game.variant in root.findtext(f"{NS}desc", "")
    left, top, width, height = (float(word) for word in root.attrib["viewBox"].split())
    assert (left, top) == (0, 0)
    for group in cells(root).values():
        for point in group.find(f"{NS}polygon").attrib["points"].split():  # type: ignore[union-attr]
            x, y = (float(word) for word in point.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height
    for outside in ("href", "url(", "@import", "<script"):
        assert outside not in drawn
    assert svg(game, position, steps) == drawn


def test_facings_point_to_the_neighbours() -> None:
    game = registry.game("pondlife")
    groups = cells(Xml.fromstring(svg(game, game.initial())))
    assert title(groups["a1"]) == "a1: Yellow tadpole, facing N"
    assert title(groups["a5"]) == "a5: Blue tadpole, facing S"
    known = symbols(game)
    assert tip(known["p1-0"].drawn)[1] < -20  # up: y grows downwards
    assert tip(known["p2-3"].drawn)[1] > 20


def tip(drop: str) -> tuple[float, float]:
    """Return the point of a beak, the last one of its path."""
    x, _, y = Xml.fromstring(drop).attrib["d"].removesuffix("Z").rpartition("L")[2].partition(" ")
    return float(x), float(y)


def test_an_ended_game_says_who_won() -> None:
    game = registry.game("circle-of-life(target=1)")
    position = game.parse("...../....../......./......../ssss...../......../......./....../..... 1 0 0")
    ended = game.play(position, "e5")
    root = Xml.fromstring(svg(game, ended))
    assert root.findtext(f"{NS}title") == "Circle of Life: seat 1 wins: target eaten"


def test_all_texts_are_escaped() -> None:
    written = element("a", words("<&>\0"), note='"<&>')
    assert Xml.fromstring(written).text == "<&>\\x00"
    assert Xml.fromstring(written).attrib["note"] == '"<&>'
    assert "<script>" not in label("<script>", (0, 0), 10, "x")


@pytest.mark.parametrize(("value", "text"), [(1.0, "1"), (-0.01, "0"), (10.0, "10"), (2.25, "2.2"), (-1.5, "-1.5")])
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text


def test_heights_of_two_digits_fit_their_tile() -> None:
    known = symbols(registry.game("elevation"))
    for symbol in (known["height"], known["height-deep"]):
        half = 2 * BOLD_DIGIT * size_of(symbol, "12") / 2
        x, y = symbol.text_at
        assert x - half > -UNIT / 2 + 1, "the left edge is inside the line around the tile"
        assert hypot(x + half, y + size_of(symbol, "12") * CAPITAL / 2) > RADIUS, "the corner is outside a piece"


def test_numbers_beside_the_board_use_singular_and_plural() -> None:
    drawn = svg(registry.game("pondlife"), registry.game("pondlife").initial())
    texts = [text.text for text in Xml.fromstring(drawn).iter(f"{NS}text")]
    assert {"eggs: 7", "frogs to hatch: 3", "snakes to hatch: 1"} <= set(texts)
