"""The symbols that drawings of a game's positions are put together from, each drawn once around its centre.

A symbol has an id, its drawing as SVG, and the place of the text that may come with it. All symbols of a game are known
without a position, whatever pieces it has: a letter is a text, not a symbol.

| id | what it is |
| --- | --- |
| `tile`, `tile-dark` | an empty cell |
| `h0` … `h12` | the ground of a cell with so many tiles, and bricks to count; `height`: its number |
| `land1`, `land2` | a cell of a seat's territory |
| `mark` | a cell with a property, such as a lily |
| `from`, `to` | a cell that the last move left, or reached |
| `K1`, `P2` | a piece with a shape of its own: its letter and its seat |
| `p0` … `p2`, `p1-3` | a piece of nobody or of a seat; one that faces direction 3 |
| `taken`, `changed` | where the last move took a piece off the board, or made another piece of one |
| `threat` | a piece that may be lost with the next move, with a sign |
| `target` | a cell that a piece may go to |
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from arbiter.boards.board import Board, Tile
from arbiter.drawing.looks import TILES
from arbiter.drawing.palette import SHADES, is_deep, seat_classes
from arbiter.drawing.piece_shapes import SHAPES
from arbiter.drawing.shapes import Point, around, drop, element, label, number, polygon
from arbiter.drawing.skeleton import UNIT, angle, tile
from arbiter.games.contract import AnyGame, Look

RADIUS: Final = 0.305 * UNIT  #: of a piece
RADII: Final = {Look.POINTS: 0.465 * UNIT, Look.SIDES: 0.38 * UNIT}  #: of a piece, where it is another
BRICK: Final = 0.072 * UNIT  #: pixels from one brick to the next
LETTER: Final = 0.38 * UNIT  #: font sizes: of a letter, and of a text of more characters
LONGER: Final = 0.3 * UNIT


class Symbol(NamedTuple):
    """A symbol around (0, 0): `drawn` is SVG. Its text, if it has one, has a class, a centre and a font size."""

    drawn: str
    text_class: str = ""
    text_at: Point = (0.0, 0.0)
    text_size: float = LETTER


class Placed(NamedTuple):
    """A symbol on some cells, with the same text on each ('' for none)."""

    symbol: str
    text: str
    cells: tuple[int, ...]


def symbols(game: AnyGame) -> dict[str, Symbol]:
    """Return the symbols of a game by id."""
    found = _symbols(game.board, seat_classes(game.facts), game.facts.look)
    return found | _shaped(game.facts.id, seat_classes(game.facts)) if game.facts.id in SHAPES else found


@lru_cache(maxsize=64)
def _shaped(game: str, seats: tuple[str, str, str]) -> dict[str, Symbol]:
    """Return the symbols of pieces that have a shape of their own: `K1` is a king of seat 1."""
    return {
        f"{letter}{owner}": Symbol(
            element("path", class_="piece", d=shape.body, fill="none", stroke_width=5.0)
            + element("path", class_=seats[owner], d=shape.body)
            + (element("path", class_=f"on-{seats[owner]}", d=shape.details) if shape.details else "")
        )
        for letter, shape in SHAPES[game].items()
        for owner in (1, 2)
    }


@lru_cache(maxsize=64)
def _symbols(board: Board, seats: tuple[str, str, str], look: Look) -> dict[str, Symbol]:
    corners = tile(board.tile)
    radius = RADII.get(look, RADIUS)
    found = {
        "tile": Symbol(polygon(corners, class_=TILES.get(look, "tile"))),
        "tile-dark": Symbol(polygon(corners, class_="dark")),
        "mark": Symbol(_leaf()),
        "mark-arrow": Symbol(element("path", class_="shut", d=_cross(0.3 * UNIT))),
        "from": Symbol(polygon(tile(board.tile, scale=0.92), class_="from")),
        "to": Symbol(polygon(tile(board.tile, scale=0.92), class_="to")),
        "land1": Symbol(_land(board.tile, 1)),
        "land2": Symbol(_land(board.tile, 2)),
        "taken": Symbol(element("path", class_="taken", d=_cross(0.16 * UNIT))),
        "changed": Symbol(element("circle", class_="changed", r=RADIUS + 6)),
        "threat": Symbol(
            element("circle", class_="threat", cx=0.3 * UNIT, cy=-0.28 * UNIT, r=0.13 * UNIT),
            "warning",
            (0.3 * UNIT, -0.28 * UNIT),
            0.2 * UNIT,
        ),
        "target": Symbol(element("circle", class_="target", r=0.12 * UNIT)),
        "height": Symbol("", "height", (-0.32 * UNIT, -0.35 * UNIT), 0.23 * UNIT),
        "height-deep": Symbol("", "height deep", (-0.32 * UNIT, -0.35 * UNIT), 0.23 * UNIT),
    }
    for height in range(SHADES + 1):
        found[f"h{height}"] = Symbol(polygon(corners, class_=f"tile h{height}") + "".join(_bricks(height)))
    for owner, ink in enumerate(seats):
        halo = element("circle", class_="piece", r=radius + 3, fill="none", stroke_width=3.0)
        disc = element("circle", class_=ink, r=radius)
        if look is Look.POINTS:
            halo = ""  # stones touch
        found[f"p{owner}"] = Symbol(halo + disc, f"letter on-{ink}")
        for direction in range(len(board.directions)):
            body = drop((0.0, 0.0), RADIUS, 0.49 * UNIT, angle(board, direction), class_=ink)
            found[f"p{owner}-{direction}"] = Symbol(body, f"letter on-{ink}")
    return found


def placed(symbol: Symbol, text: str, at: Point) -> str:
    """Return a symbol with its text as SVG at a point, whole: without references to other elements."""
    x, y = at
    moved = element("g", symbol.drawn, transform=f"translate({number(x)} {number(y)})") if symbol.drawn else ""
    return moved + lettered(symbol, text, at)


def lettered(symbol: Symbol, text: str, at: Point) -> str:
    """Return the text of a symbol at a point, or ''."""
    if not text:
        return ""
    (x, y), (dx, dy) = at, symbol.text_at
    return label(text, (x + dx, y + dy), size_of(symbol, text), symbol.text_class)


def size_of(symbol: Symbol, text: str) -> float:
    """Return the font size of a symbol's text: a longer one is smaller."""
    return symbol.text_size if len(text) == 1 else min(symbol.text_size, LONGER * 2 / len(text))


def _leaf() -> str:
    """Return a lily: a round leaf with a notch, large enough to be visible around a piece."""
    r = 0.44 * UNIT
    corners = around((0.0, 0.0), r, 24, 0.785)
    (ax, ay), (bx, by) = corners[0], corners[2]
    path = f"M0 0L{number(bx)} {number(by)}A{number(r)} {number(r)} 0 1 0 {number(ax)} {number(ay)}Z"
    return element("path", class_="mark", d=path)


def _land(kind: Tile, seat: int) -> str:
    """Return a cell of a territory: tinted, and hatched upwards for seat 1, downwards for seat 2."""
    lean = -1 if seat == 1 else 1
    lines = [
        element("line", class_="hatch", x1=x - 11, y1=-11 * lean, x2=x + 11, y2=11 * lean) for x in (-16.0, 0.0, 16.0)
    ]
    return polygon(tile(kind, scale=0.94), class_=f"land{seat}") + "".join(lines)


def _cross(half: float) -> str:
    a = number(half)
    return f"M-{a} -{a}L{a} {a}M-{a} {a}L{a} -{a}"


def _bricks(height: int) -> Iterator[str]:
    """Yield the tiles of a stack seen from the side, at the right edge of its cell."""
    deep = " deep" if is_deep(height) else ""
    for n in range(height):
        y = 0.45 * UNIT - (n + 1) * BRICK
        yield element(
            "rect", class_=f"brick{deep}", x=0.335 * UNIT, y=y, width=0.125 * UNIT, height=BRICK - 1.3, rx=1.0
        )
