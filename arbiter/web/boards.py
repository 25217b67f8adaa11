"""Boards on pages: inline SVG, the symbols that all boards of a page share, and positions as JSON.

A page contains the symbols of each game once, as hidden elements with ids. The boards refer to them, and so does the
script when it shows the next position. This module has no styles: it uses the classes of `arbiter.drawing.palette`, and
their rules are in the style sheet of the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from markupsafe import Markup

from arbiter.drawing.caption import counts, sentence, state
from arbiter.drawing.contents import Contents, MoveArrow, as_json, contents, drawn_signs
from arbiter.drawing.looks import over, tile_of, under
from arbiter.drawing.palette import DARK, LIGHT, css, seat_classes
from arbiter.drawing.piece_shapes import SHAPES
from arbiter.drawing.shapes import element, number, words
from arbiter.drawing.skeleton import UNIT, Skeleton, skeleton
from arbiter.drawing.svg import links
from arbiter.drawing.symbols import Placed, legend, lettered, symbols
from arbiter.games.contract import AnyGame, Step


class Shown(NamedTuple):
    """A position as pages show it: its contents, the seat to move in words, and the numbers beside the board.

    numbers: by seat and of nobody, as (what, count). signs: the meaning of the texts on pieces.
    """

    contents: Contents
    said: str
    numbers: tuple[Sequence[tuple[str, int]], Sequence[tuple[str, int]], Sequence[tuple[str, int]]]
    signs: Sequence[tuple[str, str]]

    def json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"board": as_json(self.contents), "said": self.said, "numbers": self.numbers, "signs": self.signs}


def shown(game: AnyGame, position: Any, steps: Sequence[Step] | None = None, before: Any = None) -> Shown:
    """Return a position for a page, with the steps of the move that led to it from the position `before`."""
    found = counts(game, position)
    first, second = found.of_seats
    numbers = tuple(first.items()), tuple(second.items()), tuple(found.others.items())
    return Shown(
        contents(game, position, steps, before),
        sentence(state(game, position)),
        numbers,
        tuple(drawn_signs(game, position)),
    )


def board(game: AnyGame, position: Shown, described: str) -> Markup:
    """Return a board with a position as an element of a page; `described` is its description in words."""
    shape = skeleton(game.board)
    return Markup(
        element(
            "svg",
            _skeleton(game),
            *_layers(game, shape, position.contents),
            class_="board",
            viewBox=f"0 0 {number(shape.width)} {number(shape.height)}",
            role="img",
            aria_label=f"{described}: {position.said}",
            data_game=game.facts.id,
            data_inks=" ".join(seat_classes(game.facts)),
        )
    )


def figure(game: AnyGame, position: Shown, described: str) -> Markup:
    """Return a small board with a position. The page also needs `ground_of` the game, once for all its small boards."""
    shape = skeleton(game.board)
    return Markup(
        element(
            "svg",
            element("use", href=f"#{game.facts.id}-ground"),
            *(layer for layer in _layers(game, shape, position.contents, named=False)),
            class_="board",
            viewBox=f"0 0 {number(shape.width)} {number(shape.height)}",
            role="img",
            aria_label=f"{described}: {position.said}",
        )
    )


def ground_of(game: AnyGame) -> Markup:
    """Return the empty board of a game as a hidden element, which the small boards of a page use."""
    ground = element("g", _skeleton(game), *skeleton(game.board).coordinates(), id=f"{game.facts.id}-ground")
    return Markup(element("svg", element("defs", ground), class_="board symbols", aria_hidden="true"))


def sprite(games: Iterable[AnyGame]) -> Markup:
    """Return the symbols of some games as a hidden element; the boards of these games refer to them."""
    each = {game.facts.id: game for game in games}
    return Markup("".join(_symbols(game) for _, game in sorted(each.items())))


def meanings(game: AnyGame) -> Markup:
    """Return what the shapes of a game's pieces mean, as the entries of a list; '' for pieces that explain themselves.

    The page also needs the symbols of the game.
    """
    half = UNIT / 2
    box = f"{number(-half)} {number(-half)} {number(UNIT)} {number(UNIT)}"
    return Markup(
        "".join(
            element(
                "div",
                element(
                    "dt",
                    element("svg", element("use", href=f"#{game.facts.id}-{name}"), viewBox=box, aria_hidden="true"),
                ),
                element("dd", words(meaning)),
            )
            for name, meaning in legend(game)
        )
    )


def has_shapes(game: AnyGame) -> bool:
    """Say whether the pieces of a game have shapes, in place of which a reader may choose letters."""
    return game.facts.id in SHAPES


def style_sheet() -> str:
    """Return the rules of boards' classes, for light and for dark screens."""
    return f"{css(LIGHT)}\n@media(prefers-color-scheme:dark){{\n{css(DARK)}\n}}\n"


@lru_cache(maxsize=64)
def _symbols(game: AnyGame) -> str:
    parts = []
    for name, symbol in symbols(game).items():
        (x, y), text = symbol.text_at, symbol.text_class
        place = {"data_x": x, "data_y": y, "data_size": symbol.text_size} if text else {}
        drawn = symbol.drawn
        if symbol.letters:  # the reader's setting chooses between the two: see `page.css`
            drawn = element("g", drawn, class_="of-shape") + element("g", symbol.letters, class_="of-letters")
        parts.append(element("g", drawn, id=f"{game.facts.id}-{name}", data_text=text, **place))
    return element("svg", element("defs", *parts), class_="board symbols", aria_hidden="true", width=0.0, height=0.0)


@lru_cache(maxsize=64)
def _skeleton(game: AnyGame) -> str:
    shape = skeleton(game.board)
    tiles = (
        element("use", href=f"#{game.facts.id}-{tile_of(game, cell)}", x=x, y=y, data_cell=name)
        for cell, (name, (x, y)) in enumerate(zip(game.board.names, shape.centres, strict=True))
    )
    below, above = "".join(under(game, shape)), "".join(over(game, shape))
    lines = element("g", above, class_="lines", pointer_events="none") if above else ""
    return below + element("g", *tiles, class_="tiles") + lines


def _layers(game: AnyGame, shape: Skeleton, placed: Contents, named: bool = True) -> Iterator[str]:
    yield _layer("ground", _items(game, shape, placed.ground))
    yield _layer("last", _items(game, shape, placed.last))
    yield _layer("ways", (part for way in placed.ways for part in _arrow(way)))
    if named:
        yield _layer("names", shape.coordinates())
    yield _layer("signs", _items(game, shape, placed.signs))
    yield _layer("links", links(shape, seat_classes(game.facts), placed.links))
    yield _layer("pieces", _items(game, shape, placed.pieces))
    yield _layer("over", _items(game, shape, placed.over))


def _layer(name: str, parts: Iterable[str]) -> str:
    return element("g", "", *parts, class_=name)


def _arrow(way: MoveArrow) -> tuple[str, str]:
    return element("path", class_=way.kind, d=way.shaft), element("polygon", class_="head", points=way.head)


def _items(game: AnyGame, shape: Skeleton, items: Iterable[Placed]) -> Iterator[str]:
    known = symbols(game)
    for name, text, cells in items:
        use = element("use", href=f"#{game.facts.id}-{name}")
        letters = lettered(known[name], text, (0.0, 0.0))
        for cell in cells:
            x, y = shape.centres[cell]
            place = f"translate({number(x)} {number(y)})"
            yield element("g", use, letters, transform=place, data_at=str(cell))
