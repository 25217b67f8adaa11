"""A hexagon of rows as bits of one integer: whole-board arithmetic for `pods`.

Cell (row, column) is bit `row · stride + column`, with skewed columns, so that each of the six directions is one shift
of the whole board. A hexagon of side n takes 2n − 1 rows and columns. One more column and one more row stay empty, so
that a shift over the edge lands on this border and never on the opposite side. The border is part of the lane: several
boards can lie side by side in one integer, `lane` bits apart, and one operation handles all of them.

Results may have stray bits on the border. A caller that keeps a result must mask it with the board's cells.
"""

from __future__ import annotations

from functools import cache
from itertools import compress

from arbiter.boards.board import Board
from arbiter.boards.hexes import hexagon_rows

Six = tuple[int, int, int, int, int, int]
"""One board for each direction: E, NE, NW, W, SW, SE. Neighbours in this circle are 60° apart."""

Count = tuple[int, int, int]
"""A number from 0 to 7 for each cell, bit-sliced: the boards of its ones, its twos and its fours."""


def tally(near: Six) -> Count:
    """Return, for each cell, how many of six boards contain it, as binary digits: two full adders, and their sum."""
    a, b, c, d, e, f = near
    ab, de = a ^ b, d ^ e
    low, high = ab ^ c, de ^ f
    low_carry, high_carry = a & b | ab & c, d & e | de & f
    both, twos = low & high, low_carry ^ high_carry
    return low ^ high, twos ^ both, low_carry & high_carry | twos & both


def plus_one(count: Count) -> Count:
    """Return each cell's number plus one; numbers up to 6 are allowed."""
    ones, twos, fours = count
    return ~ones, twos ^ ones, fours ^ twos & ones


def exceeds(count: Count, other: Count) -> int:
    """Return the cells whose number in `count` is greater than in `other`."""
    ones, twos, fours = count
    d1, d2, d4 = ones ^ other[0], twos ^ other[1], fours ^ other[2]
    below = twos & d2 | ones & d1 & ~d2
    return fours & d4 | below & ~d4


def either(near: Six, also: Six) -> Six:
    """Return the union of two boards, for each direction."""
    e, ne, nw, w, sw, se = near
    also_e, also_ne, also_nw, also_w, also_sw, also_se = also
    return e | also_e, ne | also_ne, nw | also_nw, w | also_w, sw | also_sw, se | also_se


def led(near: Six, ends: Six) -> Six:
    """Return, for each direction, the cells whose neighbour there is in `ends` and shares with them a cell of `near`.

    Two neighbouring cells have two common neighbours, the cells at 60° on either side.
    """
    e, ne, nw, w, sw, se = near
    to_e, to_ne, to_nw, to_w, to_sw, to_se = ends
    return (
        to_e & (se | ne),
        to_ne & (e | nw),
        to_nw & (ne | w),
        to_w & (nw | sw),
        to_sw & (w | se),
        to_se & (sw | e),
    )


def along(near: Six, ends: Six) -> int:
    """Return the cells for which `led` holds in some direction."""
    e, ne, nw, w, sw, se = near
    to_e, to_ne, to_nw, to_w, to_sw, to_se = ends
    return (
        to_e & (se | ne) | to_ne & (e | nw) | to_nw & (ne | w) | to_w & (nw | sw) | to_sw & (w | se) | to_se & (sw | e)
    )


_PICKS = bytes.maketrans(b"0", b"\0")


def _picks(cells: int) -> bytes:
    """Return one byte per bit, the lowest first and 0 for an absent one: selectors for `compress`."""
    return f"{cells:b}".encode().translate(_PICKS)[::-1]


class Grid:
    """The tables of one hexagon.

    board: the geometry. stride: bits per row; lane: bits per board. bits: each cell's bit number, in the order of the
    board; bit: from a cell's name to its bit number; names: from a bit number to the cell's name, '' on the border.
    rows: the bits of each row, from the top row down.
    cells, centre: boards with every cell and with the centre cell.
    """

    def __init__(self, side: int) -> None:
        self.board: Board = hexagon_rows(side)
        self.stride = 2 * side
        self.lane = self.stride * self.stride
        self.bits: list[int] = []
        for row, line in enumerate(reversed(self.board.lines)):
            skew = max(0, side - 1 - row)
            self.bits += [row * self.stride + skew + k for k in range(len(line))]
        self.names = [""] * self.lane
        for name, bit in zip(self.board.names, self.bits, strict=True):
            self.names[bit] = name
        self.bit = dict(zip(self.board.names, self.bits, strict=True))
        self.rows = [slice(self.bits[line[0]], self.bits[line[-1]] + 1) for line in self.board.lines]
        self.cells = sum(1 << bit for bit in self.bits)
        self.centre = 1 << (side - 1) * (self.stride + 1)
        self._copies = sum(1 << number * self.lane for number in range(self.board.size))

    def numbers(self, cells: int) -> list[int]:
        """Return the bit numbers of the cells of a board, in their order."""
        return list(compress(range(self.lane), _picks(cells)))

    def listed(self, cells: int) -> list[str]:
        """Return the names of the cells of a board, in their order."""
        return list(compress(self.names, _picks(cells)))

    def copies(self, number: int) -> int:
        """Return the factor that copies a board into lanes 0 … number − 1; at most one lane per cell."""
        return self._copies >> (self.board.size - number) * self.lane

    def around(self, boards: int) -> Six:
        """Return, for each direction, the cells whose neighbour in that direction is on the boards."""
        w = self.stride
        return boards >> 1, boards >> w, boards >> w - 1, boards << 1, boards << w, boards << w - 1

    def flood(self, seed: int, ways: Six, goal: int = 0) -> int:
        """Return all cells that can be reached from the seed; ways[d]: the cells that may be left in direction d.

        Stops early, with a part of them, once it has found a cell of the goal. Each pass goes once through the
        directions and uses immediately what it has found, because paths wind around groups of pods.
        """
        w = self.stride
        v = w - 1
        e, ne, nw, west, sw, se = ways
        before = 0
        while seed != before and not seed & goal:
            before = seed
            seed |= (seed & e) << 1
            seed |= (seed & ne) << w
            seed |= (seed & nw) << v
            seed |= (seed & west) >> 1
            seed |= (seed & sw) >> w
            seed |= (seed & se) >> v
        return seed


@cache
def grid(side: int) -> Grid:
    """Return the tables of the hexagon of a side, which are built once."""
    return Grid(side)
