"""The twelve species of Circle of Life, and a table of all their placements on the board.

Sets of cells are bit masks: bit n is cell number n of the board.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

from arbiter.boards.board import Board


class Species(NamedTuple):
    """A shape of one to four stones; rotations and reflections of a shape are the same species.

    `squares` is the sum of the squared distances over all pairs of stones, where neighbouring cells have distance 1.
    This sum and the number of stones together identify the species.
    """

    name: str
    stones: int
    squares: int


SPECIES = (
    Species("singleton", 1, 0),
    Species("pair", 2, 1),
    Species("bend", 3, 5),
    Species("line of three", 3, 6),
    Species("triangle", 3, 3),
    Species("key", 4, 11),
    Species("sled", 4, 17),
    Species("arch", 4, 13),
    Species("snake", 4, 16),
    Species("diamond", 4, 8),
    Species("propeller", 4, 12),
    Species("line of four", 4, 20),
)
"""The circle: each species eats the one before it, and the first eats the last. The place in the list is its number."""

LARGEST = max(species.stones for species in SPECIES)
"""The most stones that a critter may grow to."""

NO_SPECIES = -1
"""The species of a group of more stones, which only a set position can hold: it neither eats nor is eaten."""


class Critter(NamedTuple):
    """The data of a connected group of stones that the rules need: size, neighbouring cells, species, prey."""

    stones: int
    reach: int
    species: int
    prey: int


@cache
def neighbour_masks(board: Board) -> tuple[int, ...]:
    """Return, for each cell, the mask of its neighbours."""
    return tuple(sum(1 << other for other in board.adjacent(cell)) for cell in range(board.size))


@cache
def critters(board: Board) -> dict[int, Critter]:
    """Return every group of one to four connected cells of the board, by its mask."""
    neighbours = neighbour_masks(board)
    number = {(species.stones, species.squares): place for place, species in enumerate(SPECIES)}
    grown = {1 << cell for cell in range(board.size)}
    found: dict[int, Critter] = {}
    for stones in range(1, LARGEST + 1):
        for mask in grown:
            species = number[stones, _squares(board, mask)]
            found[mask] = Critter(stones, reach(mask, neighbours), species, (species - 1) % len(SPECIES))
        grown = {mask | 1 << cell for mask in grown for cell in cells(found[mask].reach)}
    return found


def cells(mask: int) -> list[int]:
    """Return the numbers of the cells in a mask, in ascending order."""
    found = []
    while mask:
        bit = mask & -mask
        found.append(bit.bit_length() - 1)
        mask ^= bit
    return found


def reach(mask: int, neighbours: Sequence[int]) -> int:
    """Return the mask of the cells that are not in a mask but next to one of its cells."""
    near = 0
    for cell in cells(mask):
        near |= neighbours[cell]
    return near & ~mask


def groups(mask: int, neighbours: Sequence[int]) -> list[int]:
    """Return the masks of the connected groups of a mask, in ascending order."""
    found = []
    while mask:
        group, edge = 0, mask & -mask
        while edge:
            group |= edge
            edge = reach(edge, neighbours) & mask & ~group
        found.append(group)
        mask ^= group
    return sorted(found)


def _squares(board: Board, mask: int) -> int:
    places = [board.centres[cell] for cell in cells(mask)]
    return sum(round((x - u) ** 2 + (y - v) ** 2) for (x, y), (u, v) in combinations(places, 2))
