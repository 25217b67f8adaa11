"""Solves endings of king and queen, rook or pawn against king, by working back from mate: for tests of tables.

White is the side with the piece. Arrays have an axis for the squares of the piece, the black king and the white king,
from a1 to h8 rank by rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

SQUARES = range(64)
ROOK = ((1, 0), (-1, 0), (0, 1), (0, -1))
BISHOP = ((1, 1), (-1, 1), (1, -1), (-1, -1))

Grid = Any  #: an array of truth values


class Solved(NamedTuple):
    """An ending: which positions there are, and which of these White wins, with White and with Black to move."""

    white_moves: Grid
    black_moves: Grid
    won: Grid
    lost: Grid


def steps(square: int, directions: tuple[tuple[int, int], ...], most: int = 8) -> Iterator[list[int]]:
    """Yield the squares on the way from a square in each direction, so many at most."""
    for right, up in directions:
        places = [(square % 8 + n * right, square // 8 + n * up) for n in range(1, most + 1)]
        yield [x + 8 * y for x, y in places if 0 <= x < 8 and 0 <= y < 8]


NEAR = np.zeros((64, 64), bool)
for square in SQUARES:
    NEAR[square, [way[0] for way in steps(square, ROOK + BISHOP, 1) if way]] = True


def reach(directions: tuple[tuple[int, int], ...]) -> Grid:
    """Return whether a piece goes from one square to another if somebody is on a third one."""
    reached = np.zeros((64, 64, 64), bool)
    for square in SQUARES:
        for way in steps(square, directions):
            for number, target in enumerate(way):
                reached[square, target] = True
                reached[square, target, way[:number]] = False
    return reached


def pawn_attacks() -> Grid:
    """Return whether a pawn attacks a square; nobody is in its way."""
    attacked = np.zeros((64, 64, 64), bool)
    for pawn in SQUARES[8:56]:
        attacked[pawn, [way[0] for way in steps(pawn, BISHOP[:2], 1) if way]] = True
    return attacked


def solved(attacks: Grid, goes: Grid, squares: range, becomes: Grid = None) -> Solved:
    """Solve an ending: what its piece attacks, where it goes, and where it may be.

    becomes: of a pawn, which positions are lost to Black once it has become another piece.
    """
    piece, black, white = np.ogrid[:64, :64, :64]
    there = ~NEAR & (white != black) & (white != piece) & (black != piece) & np.isin(piece, squares)
    is_at = np.eye(64, dtype=bool)
    king_steps = [(king, target) for king in SQUARES for target in np.flatnonzero(NEAR[king]).tolist()]
    # Where the black king may go, by the squares of the piece, which it may take, and of the white king.
    free = [~NEAR[to] & ~is_at[to] & (is_at[to][:, None] | ~attacks[:, to]) for to in SQUARES]
    piece_moves = []  # with the squares of both kings that are not in its way
    for start in squares:
        for target in np.flatnonzero(goes[start].any(axis=1)).tolist():
            empty = goes[start, target] & ~is_at[target]
            piece_moves.append((start, target, empty[:, None] & empty))
    movable, won, lost = (np.zeros_like(there) for _ in range(3))
    for king, target in king_steps:
        movable[:, king] |= free[target]
    while True:
        now_lost, now_won = there & (movable | attacks), np.zeros_like(there)
        for king, target in king_steps:
            now_lost[:, king] &= ~free[target] | (won[:, target] & ~is_at[target][:, None])
        for king, target in king_steps:
            now_won[:, :, king] |= now_lost[:, :, target]
        for start, target, empty in piece_moves:
            promoted = becomes is not None and target >= 56
            now_won[start] |= empty & (becomes[target] if promoted else now_lost[target])
        now_won &= there & ~attacks
        if (now_won == won).all() and (now_lost == lost).all():
            return Solved(there & ~attacks, there, won, lost)
        won, lost = now_won, now_lost


def all_solved() -> dict[str, Solved]:
    """Return the endings by the piece's letter."""
    found = {}
    for letter, directions in (("Q", ROOK + BISHOP), ("R", ROOK)):
        goes = reach(directions)
        found[letter] = solved(goes, goes, SQUARES)
    ahead = reach(ROOK[2:3])
    for pawn in SQUARES[8:56]:
        ahead[pawn, pawn + (24 if pawn < 16 else 16) :] = False
    found["P"] = solved(pawn_attacks(), ahead, SQUARES[8:56], found["Q"].lost | found["R"].lost)
    return found
