"""Circle of Life, by Nick Bentley: two players place stones, and a critter eats neighbours of the species it feeds on.

The board is a hexagon of side 5. Sets of cells are bit masks. A critter is identified by its mask, and a table that is
built once gives its size, its neighbouring cells, its species and its prey (`circle_of_life_species`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arbiter.boards.hexes import hexagon_rows
from arbiter.errors import Refusal
from arbiter.games.circle_of_life_species import (
    LARGEST,
    NO_SPECIES,
    SPECIES,
    Critter,
    cells,
    critters,
    groups,
    neighbour_masks,
    reach,
)
from arbiter.games.contract import (
    Basis,
    EndReason,
    Facts,
    Game,
    Outcome,
    Piece,
    Region,
    Ruling,
    Seat,
    Step,
    Value,
    number_parameter,
)

REASONS = (
    EndReason("target_eaten", "The mover has eaten at least `target` stones and wins.", Basis.TEXT),
    EndReason("cannot_evolve", "The player now to move has no cell to place on, and wins.", Basis.TEXT),
)
"""The end reasons, in the order in which they are asked."""

RULINGS = (
    Ruling("board", "The board is a hexagon of side 5 with 61 cells.", Basis.SOURCE),
    Ruling(
        "circle of species",
        "Each species eats the one before it: " + ", ".join(species.name for species in SPECIES) + "; the first eats "
        "the last.",
        Basis.TEXT,
    ),
)

SIDE = 5
LETTERS = ("S", "s")  #: the stones of seat 1 and seat 2
SIGNS = bytes.maketrans(b"012", ("." + "".join(LETTERS)).encode())  #: signs of cells that are empty, seat 1's, seat 2's
LONGEST_TEXT = 91  #: characters in a position's text: 69 for the board, 1 for the seat, 9 for each count, 3 spaces
CHUNK = 11  #: cells covered by one table of move lists: 2 ** 11 lists for each of six chunks

_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)


class CirclePosition(NamedTuple):
    """A position: the critters on the board, by seat, and the stones that each seat has eaten.

    critters: for seat 1 and seat 2, the masks of the critters in ascending order, so equal boards are equal values.
    eaten: stones of the other colour that seat 1 and seat 2 have eaten.
    turn: the seat to move.
    open: mask of the cells on which the seat to move may place; 0 once there is an outcome.
    outcome: the end of the game, or None.
    """

    critters: tuple[tuple[int, ...], tuple[int, ...]]
    eaten: tuple[int, int]
    turn: Seat
    open: int
    outcome: Outcome | None


class CircleOfLife(Game[CirclePosition]):
    """The rules of Circle of Life."""

    facts = Facts(
        id="circle-of-life",
        name="Circle of Life",
        designer="Nick Bentley",
        summary="Place stones that grow into critters of twelve species; each species eats the one before it.",
        seats=("1", "2"),
        parameters=(number_parameter("target", 20, 1, 60, "stones to eat for a win"),),
        reasons=REASONS,
        rulings=RULINGS,
        letters={"S": "stone"},
        material="stones eaten",
    )

    def __init__(self, **values: Value) -> None:
        super().__init__(**values)
        self.board = hexagon_rows(SIDE)
        self.target = int(self.values["target"])
        # Each ply places one stone, so the number of plies is the stones on the board plus the stones eaten. Before the
        # last ply, a cell was empty and each seat had eaten fewer stones than the target.
        self.bound = self.board.size + 2 * (self.target - 1)
        self._neighbours = neighbour_masks(self.board)
        self._critters = critters(self.board)
        self._all = (1 << self.board.size) - 1
        self._rows = [(line[0], line[-1] + 1) for line in self.board.lines]  # the cells of a row follow each other
        self._names = [_move_lists(self.board.names[low : low + CHUNK]) for low in range(0, self.board.size, CHUNK)]

    def initial(self) -> CirclePosition:
        """Return the empty board."""
        return CirclePosition(((), ()), (0, 0), 1, self._all, None)

    def moves(self, position: CirclePosition) -> Sequence[str]:
        """Return the cells to place on, in the order of the board's cells."""
        mask = position.open
        found: list[str] = []
        for names in self._names:
            found += names[mask & (1 << CHUNK) - 1]
            mask >>= CHUNK
        return found

    def play(self, position: CirclePosition, move: str) -> CirclePosition:
        """Place a stone; the critter that it becomes part of eats its prey next to it."""
        cell = self.board.index.get(move)
        if cell is None:
            raise self.malformed_move(move)
        if not position.open >> cell & 1:
            raise self._illegal(position, cell)
        turn = position.turn
        near = self._neighbours[cell]
        mask = 1 << cell
        mine: list[int] = []
        for critter in position.critters[turn - 1]:
            if critter & near:
                mask |= critter
            else:
                mine.append(critter)
        mine.append(mask)
        mine.sort()
        theirs = position.critters[2 - turn]
        _, near, _, prey = self._critters[mask]
        food = [critter for critter in theirs if critter & near and self._critter(critter).species == prey]
        if not food:
            return self._after(turn, tuple(mine), theirs, position.eaten)
        stones = position.eaten[turn - 1] + len(food) * SPECIES[prey].stones
        eaten = (stones, position.eaten[1]) if turn == 1 else (position.eaten[0], stones)
        return self._after(turn, tuple(mine), tuple([critter for critter in theirs if critter not in food]), eaten)

    def _after(
        self, mover: Seat, own: tuple[int, ...], others: tuple[int, ...], eaten: tuple[int, int]
    ) -> CirclePosition:
        """Return the position after the turn of `mover`, whose critters are `own`, with its outcome."""
        turn: Seat = 2 if mover == 1 else 1
        sides = (own, others) if mover == 1 else (others, own)
        if eaten[mover - 1] >= self.target:
            return CirclePosition(sides, eaten, turn, 0, Outcome(mover, "target_eaten"))
        free = self._open(others, own)
        return CirclePosition(sides, eaten, turn, free, None if free else Outcome(turn, "cannot_evolve"))

    def _open(self, own: tuple[int, ...], others: tuple[int, ...]) -> int:
        """Return the mask of the empty cells where a stone makes a critter of at most four with the `own` critters.

        `one` … `four` hold the cells that are next to own critters with at least that many stones together. They work
        as a column of adders, one for each cell, that counts for all cells at once and saturates at four.
        """
        one = two = three = four = stones = 0
        get = self._critters.get
        for critter in own:
            size, near, _, _ = get(critter) or self._critter(critter)
            stones |= critter
            if size >= LARGEST:
                four |= near
            elif size == 1:
                four |= three & near
                three |= two & near
                two |= one & near
                one |= near
            elif size == 2:
                four |= two & near
                three |= one & near
                two |= near
                one |= near
            else:
                four |= one & near
                three |= near
                two |= near
                one |= near
        for critter in others:
            stones |= critter
        return self._all & ~(stones | four)

    def _critter(self, mask: int) -> Critter:
        """Return the data of a connected group of stones; a set position may also hold groups of more than four."""
        return self._critters.get(mask) or Critter(
            mask.bit_count(), reach(mask, self._neighbours), NO_SPECIES, NO_SPECIES
        )

    def _illegal(self, position: CirclePosition, cell: int) -> Refusal:
        name, bit = self.board.names[cell], 1 << cell
        own, others = position.critters[position.turn - 1], position.critters[2 - position.turn]
        if position.outcome is not None:
            why = "the game is over"
        elif bit & (sum(own) | sum(others)):
            why = f"{name} is taken"
        else:
            size = 1 + sum(mask.bit_count() for mask in own if mask & self._neighbours[cell])
            why = f"the critter would have {size} stones, and {LARGEST} is the most"
        return self.illegal_move(position, name, why)

    def text(self, position: CirclePosition) -> str:
        """Return the text: the board, the seat to move, the stones eaten by seat 1 and by seat 2."""
        # Read both masks' binary digits as hexadecimal ones: their weighted sum has one digit per cell: 0, 1 or 2.
        of_first, of_second = position.critters
        first, second = int(f"{sum(of_first):b}", 16), int(f"{sum(of_second):b}", 16)
        signs = (b"%0*x" % (self.board.size, first + 2 * second)).translate(SIGNS)[::-1].decode()
        rows = "/".join([signs[start:end] for start, end in self._rows])
        return f"{rows} {position.turn} {position.eaten[0]} {position.eaten[1]}"

    def parse(self, text: str) -> CirclePosition:
        """Parse a position; a seat's critters of more than four stones cannot grow."""
        if len(text) > LONGEST_TEXT:
            raise self.malformed_position(f"{len(text)} characters", "the text", f"at most {LONGEST_TEXT}")
        fields = text.split(" ")
        if len(fields) != 4:
            raise self.malformed_position(text, "the fields", "board, seat to move and two counts, one space between")
        rows, seat, *counts = fields
        masks = self._parse_board(rows)
        if seat not in ("1", "2"):
            raise self.malformed_position(seat, "the seat to move", "1 or 2")
        for number, count in enumerate(counts, start=1):
            if not _NUMBER.fullmatch(count):
                raise self.malformed_position(
                    count, f"the stones eaten by seat {number}", "a number of at most nine digits, no leading zeros"
                )
        first, second = (tuple(groups(mask, self._neighbours)) for mask in masks)
        eaten = (int(counts[0]), int(counts[1]))
        # The outcome follows from the text, with the other seat as the one that moved last.
        return self._after(2, second, first, eaten) if seat == "1" else self._after(1, first, second, eaten)

    def _parse_board(self, field: str) -> list[int]:
        """Return the masks of the stones of seat 1 and of seat 2."""
        rows = field.split("/")
        if len(rows) != len(self.board.lines):
            raise self.malformed_position(field, "the board", f"{len(self.board.lines)} rows with / between them")
        masks = [0, 0]
        for row, line in zip(rows, self.board.lines, strict=True):
            name = f"row {self.board.names[line[0]][0]}"
            if len(row) != len(line):
                raise self.malformed_position(row, name, f"{len(line)} cells")
            for sign, cell in zip(row, line, strict=True):
                if sign in LETTERS:
                    masks[LETTERS.index(sign)] |= 1 << cell
                elif sign != ".":
                    raise self.malformed_position(sign, name, "S, s or .")
        return masks

    def pieces(self, position: CirclePosition) -> Sequence[Piece]:
        """Return the stones, by cell."""
        first, second = (sum(masks) for masks in position.critters)
        stones = (Piece(0, ""), Piece(1, LETTERS[0]), Piece(2, LETTERS[1]))
        return [stones[(first >> cell & 1) + 2 * (second >> cell & 1)] for cell in range(self.board.size)]

    def steps(self, position: CirclePosition, move: str) -> Sequence[Step]:
        """Return the single step of a move: a stone is placed."""
        if move not in self.board.index:
            raise self.malformed_move(move)
        return [Step("place", "", move, LETTERS[position.turn - 1])]

    def regions(self, position: CirclePosition) -> Sequence[Region]:
        """Return the critters, each with the number of its species in the circle."""
        return [self._region(owner, mask) for owner, masks in enumerate(position.critters, 1) for mask in masks]

    def _region(self, owner: int, mask: int) -> Region:
        """Return a critter as a region; a group of too many stones has no species."""
        species = self._critter(mask).species
        if species == NO_SPECIES:
            return Region("group", owner, tuple(cells(mask)))
        return Region("group", owner, tuple(cells(mask)), str(species + 1), SPECIES[species].name)

    def material(self, position: CirclePosition) -> tuple[int, int]:
        """Return the stones that each seat has eaten."""
        return position.eaten

    def counters(self, position: CirclePosition) -> Mapping[str, int]:
        """Return the stones that each seat has eaten."""
        return {"eaten by seat 1": position.eaten[0], "eaten by seat 2": position.eaten[1]}


def _move_lists(names: Sequence[str]) -> list[list[str]]:
    """Return, for each mask of a few cells, the list of their names in ascending order of cells."""
    lists: list[list[str]] = [[]]
    for name in names:
        lists += [[*smaller, name] for smaller in lists]
    return lists
