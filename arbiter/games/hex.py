"""Hex: place stones until a chain of yours joins your two sides of the board.

The board is two masks of cells, one for each seat. Red's sides are above and below, Blue's at the left and the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from arbiter.boards.hexes import rhombus
from arbiter.games.contract import (
    Basis,
    EndReason,
    Facts,
    Game,
    Look,
    Outcome,
    Piece,
    Ruling,
    Seat,
    Step,
    Value,
    flag_parameter,
    number_parameter,
)
from arbiter.games.rows import Rows, other, read_fields, read_seat

REASONS = (EndReason("connected", "A chain of the mover's stones joins its two sides, and it wins.", Basis.TEXT),)
RULINGS = (
    Ruling(
        "swap",
        "The second player's first move may be `swap`: it takes over the first stone, which is mirrored at the long "
        "diagonal and becomes its own, so that both keep their sides.",
        Basis.SOURCE,
    ),
)

SWAP: Final = "swap"
NOTHING: Final = Piece(0, "")
STONES: Final = (Piece(1, "S"), Piece(2, "s"))


class HexPosition(NamedTuple):
    """A position: the masks of the stones of seat 1 and seat 2, the seat to move, and the end of the game or None."""

    stones: tuple[int, int]
    turn: Seat
    outcome: Outcome | None


class Hex(Game[HexPosition]):
    """The rules of Hex."""

    facts = Facts(
        id="hex",
        name="Hex",
        designer="Piet Hein, 1942, and John Nash, 1948",
        summary="Join your two sides of the board with a chain of stones.",
        seats=("Red", "Blue"),
        parameters=(
            number_parameter("size", 11, 2, 19, "cells on a side"),
            flag_parameter("swap", True, "whether the second player may take over the first stone"),
        ),
        reasons=REASONS,
        rulings=RULINGS,
        look=Look.SIDES,
        letters={"S": "stone"},
        aliases=(("swap-pieces", "swap"),),
        cell_text="Columns have letters, `a` is at the left; rows have numbers, 1 is at the top. Each row lies half a "
        "cell to the right of the one above it. A cell's neighbours are the two beside it in its row, the one above "
        "and the one to the right of that, the one below and the one to the left of that.",
    )

    def __init__(self, **values: Value) -> None:
        super().__init__(**values)
        self.size = int(str(self.values["size"]))
        self.board = rhombus(self.size)
        self.bound = self.size * self.size + 1
        self._swaps = bool(self.values["swap"])
        self._rows = Rows(self.board, "Ss.")
        cells = range(self.board.size)
        self._near = [sum(1 << one for one in self.board.adjacent(cell)) for cell in cells]
        size = self.size
        # Cells are numbered column by column, from the top.
        low = sum(1 << cell for cell in cells if cell % size == 0), sum(1 << cell for cell in cells if cell < size)
        high = low[0] << size - 1, low[1] << size * (size - 1)
        self._sides = ((low[0], high[0]), (low[1], high[1]))

    def initial(self) -> HexPosition:
        """Return the empty board."""
        return HexPosition((0, 0), 1, None)

    def moves(self, position: HexPosition) -> Sequence[str]:
        """Return the empty cells, in the order of the board's cells, and the swap."""
        if position.outcome is not None:
            return []
        taken = position.stones[0] | position.stones[1]
        found = [name for cell, name in enumerate(self.board.names) if not taken >> cell & 1]
        return [*found, SWAP] if self._may_swap(position) else found

    def _may_swap(self, position: HexPosition) -> bool:
        first, second = position.stones
        return self._swaps and position.turn == 2 and not second and first.bit_count() == 1

    def play(self, position: HexPosition, move: str) -> HexPosition:
        """Place a stone, or swap."""
        first, second = position.stones
        if move == SWAP and self._swaps:
            if not self._may_swap(position) or position.outcome is not None:
                raise self.illegal_move(position, move, "only the second player's first move may swap")
            column, row = divmod(first.bit_length() - 1, self.size)
            return self._settled((0, 1 << row * self.size + column), 1, row * self.size + column)
        cell = self.board.index.get(move)
        if cell is None:
            raise self.malformed_move(move)
        if position.outcome is not None:
            raise self.illegal_move(position, move, "the game is over")
        if (first | second) >> cell & 1:
            raise self.illegal_move(position, move, f"{move} is taken")
        stones = (first | 1 << cell, second) if position.turn == 1 else (first, second | 1 << cell)
        return self._settled(stones, other(position.turn), cell)

    def canonical(self, move: str) -> str:
        """Return `swap` for `swap-pieces`, as some programs call it."""
        return SWAP if move == "swap-pieces" else move

    def _settled(self, stones: tuple[int, int], turn: Seat, last: int) -> HexPosition:
        """Return a position with its outcome; only the chain of the last stone may have joined two sides."""
        mover = other(turn)
        chain = self._chain(1 << last, stones[mover - 1])
        low, high = self._sides[mover - 1]
        joined = chain & low and chain & high
        return HexPosition(stones, turn, Outcome(mover, "connected") if joined else None)

    def _chain(self, some: int, stones: int) -> int:
        """Return the stones that are joined to some of them."""
        chain = edge = some & stones
        near = self._near
        while edge:
            around = 0
            while edge:
                bit = edge & -edge
                around |= near[bit.bit_length() - 1]
                edge ^= bit
            edge = around & stones & ~chain
            chain |= edge
        return chain

    def text(self, position: HexPosition) -> str:
        """Return the text: the board and the seat to move."""
        first, second = position.stones
        cells = bytes(
            [83 if first >> cell & 1 else 115 if second >> cell & 1 else 46 for cell in range(self.board.size)]
        )
        return f"{self._rows.write(cells)} {position.turn}"

    def parse(self, text: str) -> HexPosition:
        """Parse a position in which the seat to move has not won, with stones as turns give them."""
        refuse = self.malformed_position
        rows, seat = read_fields(text, self.board.size + self.size + 2, "board, seat to move", refuse)
        cells, turn = self._rows.read(rows, refuse), read_seat(seat, refuse)
        first, second = (sum(1 << cell for cell, sign in enumerate(cells) if sign == mine) for mine in b"Ss")
        more = first.bit_count() - second.bit_count()
        swapped = self._swaps and second and more == turn - 2
        if more != turn - 1 and not swapped:
            counts = f"{first.bit_count()} and {second.bit_count()} stones"
            raise refuse(counts, "the board", "as many stones as turns were taken")
        if self._joins(turn, (first, second)):
            raise refuse(
                rows, "the board", "no chain that joins the sides of the seat to move: the game was over before"
            )
        mover = other(turn)
        won = self._joins(mover, (first, second))
        return HexPosition((first, second), turn, Outcome(mover, "connected") if won else None)

    def _joins(self, seat: Seat, stones: tuple[int, int]) -> bool:
        low, high = self._sides[seat - 1]
        return bool(self._chain(low & stones[seat - 1], stones[seat - 1]) & high)

    def pieces(self, position: HexPosition) -> Sequence[Piece]:
        """Return the stones, by cell."""
        first, second = position.stones
        return [
            STONES[0] if first >> cell & 1 else STONES[1] if second >> cell & 1 else NOTHING
            for cell in range(self.board.size)
        ]

    def steps(self, position: HexPosition, move: str) -> Sequence[Step]:
        """Return the single step of a move: a stone is placed; with a swap, on the mirrored cell."""
        if move == SWAP and self._swaps:
            first = position.stones[0]
            column, row = divmod(max(first.bit_length() - 1, 0), self.size)
            return [Step("swap", "", self.board.names[row * self.size + column], "s")]
        if move not in self.board.index:
            raise self.malformed_move(move)
        return [Step("place", "", move, "Ss"[position.turn - 1])]
