"""The table of Pondlife's moves: where each piece goes from each cell, and from where each cell is attacked.

A *kind* is a piece with its facing or face, a number from 1 to 29; 0 is an empty cell. A *place* is a kind on a cell,
`cell << 5 | kind`. Both are the same for both seats, because the table of moves does not depend on the seat. A set of
cells is an int with the bit `1 << cell` for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from arbiter.boards.hexes import file_diagonals, hexagon_files

BOARD: Final = hexagon_files(5)
DIAGONALS: Final = file_diagonals(BOARD)


class FacingPiece(NamedTuple):
    """A piece's letter, and its facing (0–5), face (3 or 4) or -1."""

    letter: str
    facing: int = -1

    @property
    def word(self) -> str:
        """The text of the kind: `N`, `T0`, `F3`."""
        return self.letter if self.facing < 0 else f"{self.letter}{self.facing}"


def facing_piece(word: str) -> FacingPiece:
    """Return the piece of a text such as `N` or `F3`."""
    return FacingPiece(word[0], int(word[1]) if word[1:] else -1)


FACINGS: Final[dict[str, Sequence[int]]] = {
    "N": (-1,), "T": range(6), "F": (3, 4), "W": range(6), "S": (-1,), "D": range(6), "E": range(6), "H": (-1,)
}  # fmt: skip
"""The facings (or faces) that each letter has; -1 stands for none."""

KINDS: Final = (
    FacingPiece(""),
    *(FacingPiece(letter, facing) for letter, facings in FACINGS.items() for facing in facings),
)
NUMBER: Final = {kind: number for number, kind in enumerate(KINDS)}
EMPTY: Final = 0
NEST: Final = NUMBER[FacingPiece("N")]
FIRST_TADPOLE: Final = NUMBER[FacingPiece("T", 0)]
LAST_TADPOLE: Final = NUMBER[FacingPiece("T", 5)]

SLIDES: Final[dict[str, Sequence[int]]] = {"W": (-2, -1, 1, 2), "S": range(6)}
"""The directions in which newts and snakes slide, counted from where they face (a snake: from 0)."""

LONG_SLIDES: Final[dict[int, dict[str, tuple[int, ...]]]] = {
    2: {"D": (-1, 1), "E": (-2, 2)},
    3: {"D": (-1, 0, 1), "E": (-2, 2, 3)},
}
"""The directions of the long slides of dragonflies and eels, counted from where they face, by the parameter `lines`."""


class Reach(NamedTuple):
    """One entry of the table of moves: a cell that can be reached from a place.

    bit: the cell reached, as a set. clear: the cells that must be empty. becomes: the place of the piece after the
    move. text: the text of the move (for a nest's move, the part before `=`).
    """

    bit: int
    clear: int
    becomes: int
    text: str


class Threat(NamedTuple):
    """An attack on a cell from a place: the cells that must be empty for it, and the attacker's cell as a set."""

    clear: int
    bit: int


@dataclass(frozen=True, slots=True)
class Tables:
    """The table of moves in both directions.

    reach: by place, then by the number of the target cell, in the order of the rules' directions, nearest first.
    sight: by cell, then by the attacker's place. Nests are not included: they attack neighbouring cells under a
    condition.
    """

    reach: tuple[dict[int, Reach], ...]
    sight: tuple[dict[int, Threat], ...]


@cache
def tables(lines: int) -> Tables:
    """Return the tables for a value of the parameter `lines`."""
    reach: list[dict[int, Reach]] = [{} for _ in range(BOARD.size << 5)]
    sight: list[dict[int, Threat]] = [{} for _ in range(BOARD.size)]
    for cell in range(BOARD.size):
        for number, kind in enumerate(KINDS[1:], 1):
            place = cell << 5 | number
            for target, clear, becomes in _goals(kind, cell, lines):
                text = f"{BOARD.names[cell]}-{BOARD.names[target]}"
                reach[place][target] = Reach(1 << target, clear, target << 5 | NUMBER[becomes], text)
                if number != NEST and not clear >> target & 1:
                    sight[target][place] = Threat(clear, 1 << cell)
    return Tables(tuple(reach), tuple(sight))


_Goal = tuple[int, int, FacingPiece]
"""Target cell, the set of cells that must be empty, what the piece becomes."""


def _goals(kind: FacingPiece, cell: int, lines: int) -> Iterator[_Goal]:
    """Yield where a kind goes from a cell: the rules' table, line by line."""
    letter, facing = kind
    if letter in ("N", "H"):
        yield from ((other, 0, kind) for other in BOARD.adjacent(cell))
    if letter == "H":
        for direction in range(6):
            yield from ((target, clear, kind) for target, clear in _slide(_ray(DIAGONALS, cell, direction)))
    if letter == "T":
        for direction, other in _facing(facing, (-1, 0, 1), cell):
            yield other, 1 << other if direction == facing else 0, FacingPiece("T", direction)
    if letter == "F":
        ends = DIAGONALS[cell] if facing == 4 else [_two_away(cell, direction) for direction in range(6)]
        yield from ((end, 0, FacingPiece("F", 7 - facing)) for end in ends if end >= 0)
    if letter in SLIDES:
        for direction, _ in _facing(max(facing, 0), SLIDES[letter], cell):
            turned = FacingPiece(letter, direction if facing >= 0 else -1)
            yield from ((target, clear, turned) for target, clear in _slide(_ray(BOARD.neighbours, cell, direction)))
    if letter in LONG_SLIDES[lines]:
        for direction, _ in _facing(facing, LONG_SLIDES[lines][letter], cell):
            beyond = _ray(BOARD.neighbours, cell, direction)[1:]
            yield from ((target, clear, FacingPiece(letter, direction)) for target, clear in _slide(beyond))


def _facing(facing: int, turns: Sequence[int], cell: int) -> Iterator[tuple[int, int]]:
    """Yield the directions at these turns from a facing, each with its neighbour, if there is one."""
    for turn in turns:
        direction = (facing + turn) % 6
        if BOARD.neighbours[cell][direction] >= 0:
            yield direction, BOARD.neighbours[cell][direction]


def _ray(neighbours: Sequence[Sequence[int]], cell: int, direction: int) -> list[int]:
    """Return the cells from a cell (without it) to the edge of the board."""
    ray: list[int] = []
    while (cell := neighbours[cell][direction]) >= 0:
        ray.append(cell)
    return ray


def _slide(ray: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield each cell of a ray with the set of the cells before it, which must be empty for a slide."""
    clear = 0
    for cell in ray:
        yield cell, clear
        clear |= 1 << cell


def _two_away(cell: int, direction: int) -> int:
    ray = _ray(BOARD.neighbours, cell, direction)
    return ray[1] if len(ray) > 1 else -1


@cache
def stamps(seat: int) -> tuple[int, ...]:
    """Return, by place, its share of a board's number, which has one byte per cell: kind, + 32 for seat 2."""
    return tuple(
        (place & 31 | seat - 1 << 5) << 8 * (place >> 5) if place & 31 else 0 for place in range(BOARD.size << 5)
    )
