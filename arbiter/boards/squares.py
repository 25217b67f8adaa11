"""Boards of squares: files lettered from the left, ranks numbered from the bottom."""

from __future__ import annotations

from functools import cache

from arbiter.boards.board import LETTERS, Board, Tile

DIRECTIONS = (
    ("N", 0, 1), ("NE", 1, 1), ("E", 1, 0), ("SE", 1, -1), ("S", 0, -1), ("SW", -1, -1), ("W", -1, 0), ("NW", -1, 1),
)  # fmt: skip
"""The eight directions, clockwise from straight up, as (name, Δfile, Δrank)."""


@cache
def squares(files: int, ranks: int, letters: str = LETTERS) -> Board:
    """Return a rectangle of squares. Cells are numbered file by file, as their names sort: `a1`, `a2`, …, `b1`.

    `letters` are those of the files, from the left.
    """
    places = [(file, rank) for file in range(files) for rank in range(ranks)]
    number = {place: cell for cell, place in enumerate(places)}
    return Board(
        title=f"{files}×{ranks} squares",
        tile=Tile.SQUARE,
        names=tuple(f"{letters[file]}{rank + 1}" for file, rank in places),
        centres=tuple((float(file), float(rank)) for file, rank in places),
        directions=tuple(name for name, _, _ in DIRECTIONS),
        neighbours=tuple(
            tuple(number.get((file + df, rank + dr), -1) for _, df, dr in DIRECTIONS) for file, rank in places
        ),
        lines=tuple(tuple(number[file, rank] for file in range(files)) for rank in reversed(range(ranks))),
    )


@cache
def dark_squares(size: int) -> Board:
    """Return the dark squares of a board, of which `a1` is one. Neighbours are those on the diagonals, NE first."""
    places = [(file, rank) for file in range(size) for rank in range(size) if (file + rank) % 2 == 0]
    number = {place: cell for cell, place in enumerate(places)}
    ways = [way for way in DIRECTIONS if way[1] and way[2]]
    return Board(
        title=f"dark squares of {size}×{size}",
        tile=Tile.SQUARE,
        names=tuple(f"{LETTERS[file]}{rank + 1}" for file, rank in places),
        centres=tuple((float(file), float(rank)) for file, rank in places),
        directions=tuple(name for name, _, _ in ways),
        neighbours=tuple(tuple(number.get((file + df, rank + dr), -1) for _, df, dr in ways) for file, rank in places),
        lines=tuple(
            tuple(number[file, rank] for file in range(size) if (file, rank) in number)
            for rank in reversed(range(size))
        ),
    )
