"""A board: cells with names, neighbours and coordinates. The other modules of this package build boards."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


class Tile(StrEnum):
    """The shape of a cell: a hexagon on a corner (rows), a hexagon on a side (files), or a square."""

    HEX_ROWS = "hex-rows"
    HEX_FILES = "hex-files"
    SQUARE = "square"


@dataclass(frozen=True, slots=True)
class Board:
    """Cells, numbered 0, 1, 2, … in the order of their names: row by row (or file by file), ordered by letter.

    names: the cells' names, `a1`, `a2`, …
    centres: (x, y) of each cell's centre, x to the right, y up; neighbouring centres are 1 apart (squares: sides of 1).
    directions: names of the directions, in the order in which the rules number them.
    neighbours: neighbours[cell][direction], a cell number, or -1 off the board.
    lines: the parts of a position's text between slashes, each a list of cell numbers in reading order.
    """

    title: str
    tile: Tile
    names: tuple[str, ...]
    centres: tuple[tuple[float, float], ...]
    directions: tuple[str, ...]
    neighbours: tuple[tuple[int, ...], ...]
    lines: tuple[tuple[int, ...], ...]
    index: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {name: number for number, name in enumerate(self.names)})

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.names)

    def adjacent(self, cell: int) -> tuple[int, ...]:
        """Return the neighbours of a cell, in the order of the directions."""
        return tuple(other for other in self.neighbours[cell] if other >= 0)


def rays(board: Board) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Return, for each cell and each direction, the cells that lie that way, from the nearest to the edge."""
    found = []
    for cell in range(board.size):
        ways = []
        for direction in range(len(board.directions)):
            way, at = list[int](), board.neighbours[cell][direction]
            while at >= 0:
                way.append(at)
                at = board.neighbours[at][direction]
            ways.append(tuple(way))
        found.append(tuple(ways))
    return tuple(found)


def letter(number: int) -> str:
    """Return the letter of a row or file: 0 is `a`."""
    return LETTERS[number]
