"""What all positions on a board share, drawn once: the tiles, and the coordinates.

Lengths are pixels with y down; neighbouring centres are UNIT apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import atan2, pi, sqrt
from typing import Final

from arbiter.boards.board import Board, Tile
from arbiter.drawing.shapes import Point, around, label

UNIT: Final = 72.0  #: pixels between neighbouring centres
EDGE: Final = 6.0  #: pixels around the board
RIM: Final = 22.0  #: pixels of the margins with the coordinates of a board of squares
WIDE: Final = 9.0  #: units between the first and the last file: on a wider board, margins and coordinates are wider too
NAME_SIZE: Final = 0.15 * UNIT

NAME_SPOTS: Final = {
    Tile.HEX_ROWS: ((0.0, 0.435), "middle"),
    Tile.HEX_FILES: ((-0.45, 0.0), "middle"),
}
"""Where in a tile its name stands, from the centre, in units with y down: in a corner that no piece reaches."""

COMPASS: Final = {"E": 0, "NE": 1, "N": 2, "NW": 3, "W": 4, "SW": 5, "S": 6, "SE": 7}
"""The directions that boards name, in eighths of a turn from east, anticlockwise."""


class Skeleton:
    """The geometry of a board's drawing: its size, and the centre of each cell."""

    def __init__(self, board: Board) -> None:
        xs, ys = [x for x, _ in board.centres] or [0.0], [y for _, y in board.centres] or [0.0]
        self.board = board
        self._larger = max(1.0, (max(xs) - min(xs)) / WIDE)  # a wide board is drawn smaller: its names stay readable
        self._is_rhombus = board.tile is Tile.HEX_ROWS and _has_numbered_rows(board)
        self._rim = RIM * self._larger if board.tile is Tile.SQUARE or self._is_rhombus else 0.0
        above, below = (self._rim, 0.0) if self._is_rhombus else (0.0, self._rim)
        left, top = EDGE + self._rim + 0.58 * UNIT, EDGE + above + 0.58 * UNIT
        self.width = (max(xs) - min(xs)) * UNIT + left + EDGE + 0.58 * UNIT
        self.height = (max(ys) - min(ys)) * UNIT + top + EDGE + 0.58 * UNIT + below
        self.centres: tuple[Point, ...] = tuple(
            (left + (x - min(xs)) * UNIT, top + (max(ys) - y) * UNIT) for x, y in board.centres
        )

    def coordinates(self) -> Iterator[str]:
        """Yield the texts by which cells are found: each cell's name in it, or those of rows and files at the edges."""
        board = self.board
        if not self._rim:
            (dx, dy), anchor = NAME_SPOTS[board.tile]
            for name, (x, y) in zip(board.names, self.centres, strict=True):
                yield label(name, (x + dx * UNIT, y + dy * UNIT), NAME_SIZE, "name", anchor)
            return
        cells = list(zip(board.names, self.centres, strict=True))
        if not cells:
            return
        left, top = min(x for x, _ in self.centres), min(y for _, y in self.centres)
        size, away = 0.2 * UNIT * self._larger, UNIT / 2 + (0.7 if self._is_rhombus else 0.6) * self._rim
        if self._is_rhombus:
            firsts = {y: (x, name[1:]) for name, (x, y) in sorted(cells, key=lambda cell: -cell[1][0])}
            files, level = {x: name[:1] for name, (x, y) in cells if y == top}, top - away
        else:
            firsts = {y: (left, name[1:]) for name, (_, y) in cells}
            files, level = {x: name[:1] for name, (x, _) in cells}, max(y for _, y in self.centres) + away
        for y, (x, name) in firsts.items():
            yield label(name, (x - away, y), size, "name")
        for x, name in files.items():
            yield label(name, (x, level), size, "name")


def _has_numbered_rows(board: Board) -> bool:
    """Say whether the cells of a row have the same number, as in Hex: then rows and files can be named at the edges."""
    rows: dict[float, set[str]] = {}
    for name, (_, y) in zip(board.names, board.centres, strict=True):
        rows.setdefault(y, set()).add(name[1:])
    return all(len(numbers) == 1 for numbers in rows.values())


@lru_cache(maxsize=64)
def skeleton(board: Board) -> Skeleton:
    """Return the skeleton of a board."""
    return Skeleton(board)


def tile(kind: Tile, at: Point = (0.0, 0.0), scale: float = 1.0) -> list[Point]:
    """Return the corners of a tile around a point."""
    if kind is Tile.SQUARE:
        return around(at, scale * UNIT / sqrt(2), 4, pi / 4)
    return around(at, scale * UNIT / sqrt(3), 6, pi / 2 if kind is Tile.HEX_ROWS else 0.0)


def angle(board: Board, direction: int) -> float:
    """Return the angle of a direction in radians, anticlockwise from east, by the positions of neighbouring cells.

    Where no cell has a neighbour in that direction, as on a board of one row, the direction's name gives the angle.
    """
    pairs = ((cell, row[direction]) for cell, row in enumerate(board.neighbours) if row[direction] >= 0)
    cell, other = next(pairs, (-1, -1))
    if other < 0:
        return COMPASS.get(board.directions[direction], 0) * pi / 4
    (x, y), (to_x, to_y) = board.centres[cell], board.centres[other]
    return atan2(to_y - y, to_x - x)
