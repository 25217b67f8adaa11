"""The symbols that drawings of a game's positions are put together from, each drawn once around its centre.

A symbol has an id, its drawing as SVG, and the place of the text that may come with it. All symbols of a game are known
without a position, whatever pieces it has. The letter of a piece without a shape is a text, not a symbol.

| id | what it is |
| --- | --- |
| `tile`, `tile-dark` | an empty cell |
| `h0` … `h12` | the ground of a cell with this many tiles, and bricks to count; `height`: its number |
| `land1`, `land2` | a cell of a seat's territory |
| `fresh` | the piece on a cell that the last move reached, where pieces cover their cells |
| `mark` | a cell with a property, such as a lily |
| `from`, `to` | a cell that the last move left, or reached |
| `K.1`, `F3.2`, `T.1.3` | a piece with a shape of its own: the name of the shape, the seat, and where it faces |
| `p0` … `p2`, `p1-3` | a piece of nobody or of a seat; one that faces direction 3 |
| `taken`, `changed` | where the last move took a piece off the board, or made another piece of one |
| `threat` | a piece that may be lost with the next move, with a sign |
| `target` | a cell that a piece may go to |
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import cos, degrees, sin
from typing import Final, NamedTuple

from arbiter.boards.board import Board, Tile
from arbiter.drawing.caption import cased
from arbiter.drawing.looks import TILES
from arbiter.drawing.palette import SHADES, is_deep, seat_classes
from arbiter.drawing.piece_shapes import SHAPES, owners, shape_name
from arbiter.drawing.shapes import Point, drop, element, label, number, polygon
from arbiter.drawing.skeleton import UNIT, angle, tile
from arbiter.games.contract import AnyGame, Look, Piece

RADIUS: Final = 0.305 * UNIT  #: of a piece
RADII: Final = {
    Look.POINTS: 0.465 * UNIT,
    Look.SIDES: 0.38 * UNIT,
    Look.FELT: 0.4 * UNIT,
    Look.RACK: 0.39 * UNIT,
}  #: of a piece, where it is another
BRICK: Final = 0.072 * UNIT  #: pixels from one brick to the next
LETTER: Final = 0.38 * UNIT  #: font sizes: of a letter, and of a text of more characters
LONGER: Final = 0.3 * UNIT
HALO: Final = 6.5  #: width of the line in the colour of the paper that is half covered by a shape


class Symbol(NamedTuple):
    """A symbol around (0, 0): `drawn` is SVG. Its text, if it has one, has a class, a centre and a font size.

    `letters` draws a piece that has a shape as a disc with its letter instead.
    """

    drawn: str
    text_class: str = ""
    text_at: Point = (0.0, 0.0)
    text_size: float = LETTER
    letters: str = ""


class Placed(NamedTuple):
    """A symbol on some cells, with the same text on each ('' for none)."""

    symbol: str
    text: str
    cells: tuple[int, ...]


def symbols(game: AnyGame, letters: bool = False) -> dict[str, Symbol]:
    """Return the symbols of a game by id. `letters`: pieces that have a shape are discs with letters instead."""
    facts = game.facts
    found = _symbols(game.board, seat_classes(facts), facts.look)
    if facts.id not in SHAPES:
        return found
    shaped = {
        ".".join([name, str(owner), *([str(facing)] if shape.turns else [])]): _shaped(game, name, owner, facing)
        for name, shape in SHAPES[facts.id].items()
        for owner in owners(name)
        for facing in (range(len(game.board.directions)) if shape.turns else (-1,))
    }
    if letters:
        shaped = {name: symbol._replace(drawn=symbol.letters) for name, symbol in shaped.items()}
    return found | shaped


def legend(game: AnyGame) -> Iterator[tuple[str, str]]:
    """Yield the symbols of the pieces whose shapes are known from no other game, each with its meaning in words."""
    kinds = game.facts.letters or {}
    if game.facts.look is not Look.PLAIN or len(kinds) < 2:
        return
    for name, shape in SHAPES.get(game.facts.id, {}).items():
        letter, face = name[0], name[1:]
        if letter in game.facts.faces or shape_name(game, Piece(1, letter)) == name:
            words = f"{kinds[letter]}, face {face}" if letter in game.facts.faces else kinds[letter]
            yield f"{name}.1.0" if shape.turns else f"{name}.1", words


@lru_cache(maxsize=1024)
def _shaped(game: AnyGame, name: str, owner: int, facing: int) -> Symbol:
    """Return the symbol of a piece that has a shape, as it stands on a board and as a disc with its letter."""
    ink, shape = seat_classes(game.facts)[owner], SHAPES[game.facts.id][name]
    drawn = (
        element("path", class_="piece", d=shape.body, fill="none", stroke_width=HALO, stroke_linejoin="round")
        + element("path", class_=f"{ink} shape", d=shape.body)
        + (element("path", class_=f"on-{ink}", d=shape.details) if shape.details else "")
    )
    if facing >= 0:
        turn = 90 - degrees(angle(game.board, facing))
        drawn = element("g", drawn, transform=f"rotate({number(turn)})") if round(turn) else drawn
    disc = _symbols(game.board, seat_classes(game.facts), game.facts.look)[
        f"p{owner}-{facing}" if facing >= 0 else f"p{owner}"
    ]
    text = written(game, name[0], owner) + (name[1:] if name[0] in game.facts.faces else "")
    return Symbol(drawn, letters=disc.drawn + lettered(disc, text, (0.0, 0.0)))


def written(game: AnyGame, letter: str, owner: int) -> str:
    """Return a piece's letter as it stands on a disc, or '' in a game whose pieces are all alike."""
    alike = len(game.facts.letters or ()) == 1 and letter.upper() not in game.facts.faces
    return "" if alike else cased(letter, owner)


@lru_cache(maxsize=64)
def _symbols(board: Board, seats: tuple[str, str, str], look: Look) -> dict[str, Symbol]:
    corners = tile(board.tile)
    radius = RADII.get(look, RADIUS)
    found = {
        "tile": Symbol(polygon(corners, class_=TILES.get(look, "tile"))),
        "tile-dark": Symbol(polygon(corners, class_="dark")),
        "mark": Symbol(_leaf()),
        "mark-arrow": Symbol(element("path", class_="shut", d=_cross(0.3 * UNIT))),
        "from": Symbol(polygon(corners, class_="from")),
        "to": Symbol(polygon(corners, class_="to")),
        "fresh": Symbol(
            element("circle", class_="piece", r=0.45 * radius, fill="none", stroke_width=10.0)
            + element("circle", class_="fresh", r=0.45 * radius)
        ),
        "land1": Symbol(_land(board.tile, 1)),
        "land2": Symbol(_land(board.tile, 2)),
        "taken": Symbol(element("path", class_="taken", d=_cross(0.16 * UNIT))),
        "changed": Symbol(element("circle", class_="changed", r=min(radius + 6, 0.45 * UNIT))),
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
        halo = element("circle", class_="piece", r=radius + 2, fill="none", stroke_width=2.0)
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
    """Return a lily: a round leaf, large enough to be visible around a piece, with a notch where the cell's name is."""
    r, half = 0.44 * UNIT, 0.36
    x, y = number(r * sin(half)), number(r * cos(half))
    return element("path", class_="mark", d=f"M0 0L-{x} {y}A{number(r)} {number(r)} 0 1 1 {x} {y}Z")


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
