"""Boards of squares: files lettered from the left, ranks numbered from the bottom."""

from __future__ import annotations

from functools import cache

from arbiter.boards.board import Board, Tile, letter

DIRECTIONS = (
    ("N", 0, 1), ("NE", 1, 1), ("E", 1, 0), ("SE", 1, -1), ("S", 0, -1), ("SW", -1, -1), ("W", -1, 0), ("NW", -1, 1),
)  # fmt: skip
"""The eight directions, clockwise from straight up, as (name, Δfile, Δrank)."""


@cache
def squares(files: int, ranks: int) -> Board:
    """Return a rectangle of squares. Cells are numbered file by file, as their names sort: `a1`, `a2`, …, `b1`."""
    places = [(file, rank) for file in range(files) for rank in range(ranks)]
    number = {place: cell for cell, place in enumerate(places)}
    return Board(
        title=f"{files}×{ranks} squares",
        tile=Tile.SQUARE,
        names=tuple(f"{letter(file)}{rank + 1}" for file, rank in places),
        centres=tuple((float(file), float(rank)) for file, rank in places),
        directions=tuple(name for name, _, _ in DIRECTIONS),
        neighbours=tuple(
            tuple(number.get((file + df, rank + dr), -1) for _, df, dr in DIRECTIONS) for file, rank in places
        ),
        lines=tuple(tuple(number[file, rank] for file in range(files)) for rank in reversed(range(ranks))),
    )
