"""What a board looks like beside its cells: chequered squares, a board of points, the sides of Hex, felt, a rack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from arbiter.drawing.palette import seat_classes
from arbiter.drawing.shapes import element, number
from arbiter.drawing.skeleton import UNIT, Skeleton, tile
from arbiter.games.contract import AnyGame, Look

TILES: Final = {
    Look.POINTS: "wood",
    Look.CHEQUERED: "pale",
    Look.FELT: "felt",
    Look.RACK: "rack",
}  #: the class of the symbol `tile`, where it is another

HOLE: Final = 0.41 * UNIT  #: radius of a hole in a rack

STAR: Final = 5.0  #: radius of a star point, on a larger board in proportion
STARS: Final = {9: (2, 4, 6), 13: (3, 6, 9), 19: (3, 9, 15)}
"""By the number of lines of a board of points: the lines on which its star points lie, from 0."""


def tile_of(game: AnyGame, cell: int) -> str:
    """Return the symbol of an empty cell."""
    if game.facts.look is Look.CHEQUERED:
        x, y = game.board.centres[cell]
        return "tile" if round(x + y) % 2 else "tile-dark"
    return "tile"


def tile_class(game: AnyGame, cell: int) -> str:
    """Return the class of an empty cell: its colour."""
    if game.facts.look is Look.CHEQUERED:
        return "pale" if tile_of(game, cell) == "tile" else "dark"
    return TILES.get(game.facts.look, "tile")


def under(game: AnyGame, shape: Skeleton) -> Iterator[str]:
    """Yield what lies under the cells: the light squares of a board of which only the dark ones are cells."""
    if game.facts.look is Look.CHEQUERED:
        xs, ys = [x for x, _ in shape.centres], [y for _, y in shape.centres]
        half = UNIT / 2
        yield element(
            "rect",
            class_="pale",
            x=min(xs) - half,
            y=min(ys) - half,
            width=max(xs) - min(xs) + UNIT,
            height=max(ys) - min(ys) + UNIT,
        )


def over(game: AnyGame, shape: Skeleton) -> Iterator[str]:
    """Yield what lies on the cells, under everything that stands there: lines, star points, coloured sides, holes."""
    if game.facts.look is Look.POINTS:
        yield from _lines(game, shape)
    if game.facts.look is Look.SIDES:
        yield from _sides(game, shape)
    if game.facts.look is Look.RACK:
        yield from (element("circle", class_="paper", cx=x, cy=y, r=HOLE) for x, y in shape.centres)


def _lines(game: AnyGame, shape: Skeleton) -> Iterator[str]:
    xs, ys = sorted({x for x, _ in shape.centres}), sorted({y for _, y in shape.centres})
    upright = "".join(f"M{number(x)} {number(ys[0])}V{number(ys[-1])}" for x in xs)
    level = "".join(f"M{number(xs[0])} {number(y)}H{number(xs[-1])}" for y in ys)
    yield element("path", class_="line", d=upright + level)
    stars = STARS.get(len(xs), ())
    middle = {(stars[1], stars[1])} if stars else set()
    corners = {(a, b) for a in stars[::2] for b in stars[::2]}
    every = {(a, b) for a in stars for b in stars} if len(xs) == 19 else corners | middle
    for column, row in sorted(every):
        yield element("circle", class_="star", cx=xs[column], cy=ys[row], r=STAR * max(1.0, len(xs) / 10))


def _sides(game: AnyGame, shape: Skeleton) -> Iterator[str]:
    """Yield the sides of the rhombus: above and below of seat 1, left and right of seat 2."""
    inks = seat_classes(game.facts)
    corners = tile(game.board.tile)  # from the top, anticlockwise: top, upper left, lower left, bottom, …
    size = round(len(shape.centres) ** 0.5)
    columns = range(size)
    edges = {
        1: [
            [_at(shape, column * size, corners[which]) for column in columns for which in (1, 0, 5)],
            [_at(shape, column * size + size - 1, corners[which]) for column in columns for which in (2, 3, 4)],
        ],
        2: [
            [_at(shape, row, corners[which]) for row in columns for which in (1, 2, 3)],
            [_at(shape, (size - 1) * size + row, corners[which]) for row in columns for which in (0, 5, 4)],
        ],
    }
    for seat, lines in edges.items():
        for points in lines:
            path = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
            yield element("path", class_=f"side-{inks[seat]}", d=path)


def _at(shape: Skeleton, cell: int, corner: tuple[float, float]) -> tuple[float, float]:
    x, y = shape.centres[cell]
    return x + corner[0], y + corner[1]
