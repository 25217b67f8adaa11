"""The pond of Hop It!: its cells as bits, tables of every swim and every hop, and searches for paths of hops.

Sets of cells are bit masks. The rows follow one another from the bottom up, with one unused bit between two rows. So
the neighbour in a given direction is the same number of bits away everywhere, and a step off the board lands on an
unused bit: E is 1 up, NW 7 up, NE 8 up, and W, SE and SW the same numbers down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple, TypeVar

from arbiter.boards.board import Board
from arbiter.boards.hexes import rows

T = TypeVar("T")

ROWS = ((6, 1), (7, 0), (6, 1), (7, 0), (6, 1), (7, 0), (6, 1))
"""Rows `a` to `g`: the number of cells, and the offset of the first."""

CELL = "(?:[aceg][1-6]|[bdf][1-7])"
"""A cell's name as a regular expression; every name has two characters."""


class Hop(NamedTuple):
    """A hop from one cell: masks of the cell hopped over and of the landing cell, and its part of the move's text."""

    over: int
    target: int
    text: str


class HopsFrom(NamedTuple):
    """The moves from one cell.

    near: mask of the water cells next to it. swims: the texts of the swims, by the mask of the empty ones among them.
    ring: mask of the cells that can be hopped over. hops: the hops, by the mask of the occupied cells of the ring. Both
    are in the order of the board's directions.
    """

    name: str
    near: int
    swims: dict[int, list[str]]
    ring: int
    hops: dict[int, list[Hop]]


class Pond(NamedTuple):
    """The board and its tables.

    bits: the bit of each cell, in the order of `board.names`.
    cells, water, lilies: masks of all cells, and of the two kinds.
    swims: (source, target) masks of a swim, by its text.
    hops: (source, over, target) masks of a single hop, by its text.
    starts: the moves from a cell, by the mask of the cell.
    """

    board: Board
    bits: tuple[int, ...]
    cells: int
    water: int
    lilies: int
    swims: dict[str, tuple[int, int]]
    hops: dict[str, tuple[int, int, int]]
    starts: dict[int, HopsFrom]


@cache
def pond() -> Pond:
    """Return the pond, which is built once."""
    board = rows("7 rows of 6 and 7 hexes", ROWS)
    bits = tuple(
        1 << (place + row)
        for place, row in enumerate(row for row, (length, _) in enumerate(ROWS) for _ in range(length))
    )
    lilies = sum(bits[line[0]] | bits[line[-1]] for line in board.lines)
    shores = [[other for other in board.adjacent(cell) if not bits[other] & lilies] for cell in range(board.size)]
    hops = [_hops(board, bits, cell) for cell in range(board.size)]
    return Pond(
        board=board,
        bits=bits,
        cells=sum(bits),
        water=sum(bits) - lilies,
        lilies=lilies,
        swims={
            f"{board.names[cell]}-{board.names[other]}": (bits[cell], bits[other])
            for cell, others in enumerate(shores)
            for other in others
        },
        hops={
            board.names[cell] + hop.text: (bits[cell], hop.over, hop.target)
            for cell, found in enumerate(hops)
            for hop in found
        },
        starts={
            bits[cell]: HopsFrom(
                name=board.names[cell],
                near=sum(bits[other] for other in shores[cell]),
                swims=_by_mask({bits[other]: f"{board.names[cell]}-{board.names[other]}" for other in shores[cell]}),
                ring=sum(hop.over for hop in hops[cell]),
                hops=_by_mask({hop.over: hop for hop in hops[cell]}),
            )
            for cell in range(board.size)
        },
    )


def _by_mask(things: Mapping[int, T]) -> dict[int, list[T]]:
    """Return, for every union of the items' bits, the list of the items whose bits are in it, in their order."""
    return {
        sum(chosen): [things[bit] for bit in chosen]
        for count in range(len(things) + 1)
        for chosen in combinations(things, count)
    }


def _hops(board: Board, bits: Sequence[int], cell: int) -> tuple[Hop, ...]:
    found = []
    for direction, over in enumerate(board.neighbours[cell]):
        target = board.neighbours[over][direction] if over >= 0 else -1
        if target >= 0:
            found.append(Hop(bits[over], bits[target], f"x{board.names[target]}"))
    return tuple(found)


def hoppers(frogs: int, everyone: int, free: int) -> int:
    """Return the mask of the frogs that have a hop, with `everyone` to hop over and `free` cells to land on."""
    return frogs & (
        everyone >> 1 & free >> 2
        | everyone << 1 & free << 2
        | everyone >> 7 & free >> 14
        | everyone << 7 & free << 14
        | everyone >> 8 & free >> 16
        | everyone << 8 & free << 16
    )


def can_swim(pieces: int, open_water: int) -> bool:
    """Return whether one of the pieces is next to an empty water cell."""
    near = pieces << 1 | pieces >> 1 | pieces << 7 | pieces >> 7 | pieces << 8 | pieces >> 8
    return near & open_water != 0


def hunters(frogs: int, prey: int, everyone: int, free: int) -> int:
    """Return the mask of the frogs that have a move, of one hop or more, that hops over a piece of `prey`.

    A backward search from all cells where such a move can be finished gives the exact answer, however many paths there
    are. A hop moves a frog by two cells, so a frog only lands on cells at an even distance from its own. Between two
    neighbouring cells of this kind there is one middle cell, and no cell is the middle of two such pairs. So the pieces
    that a frog hops over are the edges of a graph whose vertices are the empty cells. Nothing that a hop changes
    (pieces mature, or leave cells on which the frog cannot land) changes that graph, and a shortest path uses no edge
    twice.
    """
    found = hoppers(frogs, prey, free)
    seen = edge = hoppers(free, prey, free) if found != frogs else 0
    while edge:
        edge = hoppers(free & ~seen, everyone, edge)
        seen |= edge
    return found | hoppers(frogs, everyone, seen) if seen else found


def prey_in_reach(frogs: int, prey: int, others: int, free: int, most: int) -> int:
    """Return the mask of the pieces of `prey` over which one of the frogs can hop, in a move of one hop or more.

    `others`: the pieces that are neither prey nor one of the frogs' own cells to start from; they can be hopped over
    and stay. `most`: this many of the prey leave until the move goes no further. What `hunters` says of the graph holds
    here: a shortest path hops over no piece twice, so a search by the number of prey that has left finds them all.
    """
    found = 0
    while frogs:
        frog = frogs & -frogs
        frogs ^= frog
        cells, over, seen = free | frog, others & ~frog, frog
        for _ in range(most):
            edge = seen
            while edge:
                edge = hoppers(cells & ~seen, over, edge)  # a hop can be made both ways: from where one lands, back
                seen |= edge
            found |= _hopped(seen, prey, cells)
            further = hoppers(cells & ~seen, prey, seen)
            if not further:
                break
            seen |= further
    return found


def _hopped(frogs: int, pieces: int, free: int) -> int:
    """Return the mask of the pieces that stand between one of the frogs and a free cell behind."""
    return pieces & (
        frogs << 1 & free >> 1
        | frogs >> 1 & free << 1
        | frogs << 7 & free >> 7
        | frogs >> 7 & free << 7
        | frogs << 8 & free >> 8
        | frogs >> 8 & free << 8
    )


class Paths:
    """Lists the paths of hops of one frog. A path hops over each piece at most once and ends at an extinction."""

    __slots__ = ("foes", "found", "free", "prey", "starts")

    def __init__(self, found: list[str], starts: Mapping[int, HopsFrom], free: int, foes: int, prey: int) -> None:
        self.found = found
        self.starts = starts
        self.free = free
        self.foes = foes
        self.prey = prey

    def extend(self, cell: int, path: str, left: int, spare: int, bound: bool) -> None:
        """Add every path that continues from `cell`, the end of `path`.

        left: mask of the pieces not hopped over yet. spare: how many enemy pieces can leave until one is left.
        bound: only paths that hop over an enemy from here on are moves.
        """
        _, _, _, ring, hops = self.starts[cell]
        for over, target, text in hops[ring & left]:
            if target & self.free:
                longer = path + text
                still_bound = bound and not over & self.foes
                if not still_bound:
                    self.found.append(longer)
                fewer = spare - 1 if over & self.prey else spare
                if fewer:
                    self.extend(target, longer, left ^ over, fewer, still_bound)
