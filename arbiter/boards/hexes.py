"""Boards of hexagons: with horizontal rows (corner at the bottom) or vertical files (side at the bottom)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import sqrt

from arbiter.boards.board import Board, Tile, letter

ROW_DIRECTIONS = (("E", 2, 0), ("NE", 1, 1), ("NW", -1, 1), ("W", -2, 0), ("SW", -1, -1), ("SE", 1, -1))
"""The six directions of a board with rows, as (name, ΔX, Δrow)."""

FILE_DIRECTIONS = (("N", 0, 2), ("NE", 1, 1), ("SE", 1, -1), ("S", 0, -2), ("SW", -1, -1), ("NW", -1, 1))
"""The six directions of a board with files, clockwise from straight up, as (name, Δfile, ΔY)."""

FILE_DIAGONALS = ((1, 3), (2, 0), (1, -3), (-1, -3), (-2, 0), (-1, 3))
"""Diagonal d, between directions d and d+1, as (Δfile, ΔY)."""


@cache
def hexagon_rows(side: int) -> Board:
    """Return the hexagon of a given side with horizontal rows, lettered from the bottom up."""
    middle = side - 1
    shape = [(2 * side - 1 - abs(middle - row), abs(middle - row)) for row in range(2 * side - 1)]
    return rows(f"hexagon of side {side}", shape)


@cache
def hexagon_files(side: int) -> Board:
    """Return the hexagon of a given side with vertical files lettered from the left, cells numbered from the bottom."""
    middle = side - 1
    places = [
        (file, 2 * k + abs(middle - file))
        for file in range(2 * side - 1)
        for k in range(2 * side - 1 - abs(middle - file))
    ]
    number = {place: cell for cell, place in enumerate(places)}
    lowest = {file: abs(middle - file) for file in range(2 * side - 1)}
    return Board(
        title=f"hexagon of side {side}",
        tile=Tile.HEX_FILES,
        names=tuple(f"{letter(file)}{(y - lowest[file]) // 2 + 1}" for file, y in places),
        centres=tuple((file * sqrt(3) / 2, y / 2) for file, y in places),
        directions=tuple(name for name, _, _ in FILE_DIRECTIONS),
        neighbours=tuple(
            tuple(number.get((file + dfile, y + dy), -1) for _, dfile, dy in FILE_DIRECTIONS) for file, y in places
        ),
        lines=tuple(
            tuple(reversed([number[place] for place in places if place[0] == file])) for file in range(2 * side - 1)
        ),
    )


def file_diagonals(board: Board) -> tuple[tuple[int, ...], ...]:
    """Return, for each cell of a board with files, the cell at the end of each of the six diagonals, or -1."""
    place = [(round(x * 2 / sqrt(3)), round(y * 2)) for x, y in board.centres]
    number = {at: cell for cell, at in enumerate(place)}
    return tuple(tuple(number.get((file + dfile, y + dy), -1) for dfile, dy in FILE_DIAGONALS) for file, y in place)


@cache
def rhombus(size: int) -> Board:
    """Return the rhombus of Hex: columns lettered from the left, rows numbered from the top, `a1` at the upper left.

    Each row lies half a cell to the right of the one above it. Cells are numbered column by column, from the top.
    """
    places = [(column, row) for column in range(size) for row in range(size)]
    number = {place: cell for cell, place in enumerate(places)}
    steps = ((1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1), (0, 1))  # E, NE, NW, W, SW, SE as (Δcolumn, Δrow)
    return Board(
        title=f"rhombus of {size}×{size} hexagons",
        tile=Tile.HEX_ROWS,
        names=tuple(f"{letter(column)}{row + 1}" for column, row in places),
        centres=tuple((column + row / 2, (size - 1 - row) * sqrt(3) / 2) for column, row in places),
        directions=tuple(name for name, _, _ in ROW_DIRECTIONS),
        neighbours=tuple(
            tuple(number.get((column + dcolumn, row + drow), -1) for dcolumn, drow in steps) for column, row in places
        ),
        lines=tuple(tuple(number[column, row] for column in range(size)) for row in range(size)),
    )


def rows(title: str, shape: Sequence[tuple[int, int]]) -> Board:
    """Return a board of horizontal rows, from the bottom up; `shape` gives each row's number of cells and its offset.

    Cell number k of a row lies at X = 2(k − 1) + offset.
    """
    places = [(offset + 2 * k, row) for row, (cells, offset) in enumerate(shape) for k in range(cells)]
    number = {place: cell for cell, place in enumerate(places)}
    return Board(
        title=title,
        tile=Tile.HEX_ROWS,
        names=tuple(f"{letter(row)}{k + 1}" for row, (cells, _) in enumerate(shape) for k in range(cells)),
        centres=tuple((x / 2, row * sqrt(3) / 2) for x, row in places),
        directions=tuple(name for name, _, _ in ROW_DIRECTIONS),
        neighbours=tuple(
            tuple(number.get((x + dx, row + drow), -1) for _, dx, drow in ROW_DIRECTIONS) for x, row in places
        ),
        lines=tuple(tuple(number[place] for place in places if place[1] == row) for row in reversed(range(len(shape)))),
    )
