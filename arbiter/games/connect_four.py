"""Connect Four: discs fall to the bottom of a column; four in a line win.

The board is two masks, one for each seat. Each column has seven bits, of which the highest is never set, so that
shifting a mask never carries a line from one column to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from arbiter.boards.squares import squares
from arbiter.games.contract import Basis, EndReason, Facts, Game, Look, Outcome, Piece, Ruling, Seat, Step
from arbiter.games.rows import Rows, other, read_fields, read_seat

REASONS = (
    EndReason("four_in_a_row", "The mover has four discs in a line, and wins.", Basis.TEXT),
    EndReason("board_full", "Every cell is taken, and nobody has four in a line: a draw.", Basis.TEXT),
)
RULINGS = (
    Ruling("set positions", "A position that was set must be one of a game: no disc floats, and the seat to move has "
           "as many discs as the other, or one fewer if it is the second.", Basis.OURS),
)  # fmt: skip

COLUMNS: Final = "abcdefg"
HEIGHT: Final = 6
BOARD: Final = squares(len(COLUMNS), HEIGHT)
ROWS: Final = Rows(BOARD, "Dd.")
BITS: Final = tuple(1 << file * 7 + rank for file in range(7) for rank in range(HEIGHT))  #: by cell
COLUMN: Final = 0b111111
LONGEST_TEXT: Final = 60


class ConnectFourPosition(NamedTuple):
    """A position: the masks of the discs of seat 1 and seat 2, the seat to move, and the end of the game or None."""

    discs: tuple[int, int]
    turn: Seat
    outcome: Outcome | None


class ConnectFour(Game[ConnectFourPosition]):
    """The rules of Connect Four."""

    facts = Facts(
        id="connect-four",
        name="Connect Four",
        designer="Howard Wexler and Ned Strongin, 1974",
        summary="Drop discs into columns until four of yours are in a line.",
        seats=("Yellow", "Red"),
        parameters=(),
        look=Look.RACK,
        reasons=REASONS,
        rulings=RULINGS,
        letters={"D": "disc"},
        aliases=(("4", "d"), ("D", "d")),
    )
    board = BOARD
    bound = 42

    def initial(self) -> ConnectFourPosition:
        """Return the empty board."""
        return ConnectFourPosition((0, 0), 1, None)

    def moves(self, position: ConnectFourPosition) -> Sequence[str]:
        """Return the columns that are not full, from the left."""
        if position.outcome is not None:
            return []
        taken = position.discs[0] | position.discs[1]
        return [name for file, name in enumerate(COLUMNS) if not taken >> file * 7 + HEIGHT - 1 & 1]

    def play(self, position: ConnectFourPosition, move: str) -> ConnectFourPosition:
        """Drop a disc into a column."""
        file = COLUMNS.find(move) if len(move) == 1 else -1
        if file < 0:
            raise self.malformed_move(move)
        if position.outcome is not None:
            raise self.illegal_move(position, move, "the game is over")
        first, second = position.discs
        height = ((first | second) >> file * 7 & COLUMN).bit_length()
        if height == HEIGHT:
            raise self.illegal_move(position, move, f"column {move} is full")
        bit = 1 << file * 7 + height
        discs = (first | bit, second) if position.turn == 1 else (first, second | bit)
        return _settled(discs, other(position.turn))

    def canonical(self, move: str) -> str:
        """Return the column for its number from the left, 1 to 7, or its letter in upper case."""
        if move in ("1", "2", "3", "4", "5", "6", "7"):
            return COLUMNS[int(move) - 1]
        return move.lower() if move in ("A", "B", "C", "D", "E", "F", "G") else move

    def text(self, position: ConnectFourPosition) -> str:
        """Return the text: the board and the seat to move."""
        first, second = position.discs
        cells = bytes([68 if first & bit else 100 if second & bit else 46 for bit in BITS])
        return f"{ROWS.write(cells)} {position.turn}"

    def parse(self, text: str) -> ConnectFourPosition:
        """Parse a position that a game can have."""
        refuse = self.malformed_position
        rows, seat = read_fields(text, LONGEST_TEXT, "board, seat to move", refuse)
        cells, turn = ROWS.read(rows, refuse), read_seat(seat, refuse)
        for file, name in enumerate(COLUMNS):
            column = cells[file * HEIGHT : file * HEIGHT + HEIGHT].decode()
            if "." in column.rstrip("."):
                raise refuse(column, f"column {name}, from the bottom", "no empty cell below a disc")
        first, second = (sum(bit for cell, bit in enumerate(BITS) if cells[cell] == sign) for sign in b"Dd")
        count = (first.bit_count(), second.bit_count())
        if count[0] - count[1] != turn - 1:
            raise refuse(f"{count[0]} and {count[1]} discs", "the board", "as many discs as turns were taken")
        if has_four((first, second)[turn - 1]):
            raise refuse(rows, "the board", "no line of four of the seat to move: the game was over before")
        return _settled((first, second), turn)

    def pieces(self, position: ConnectFourPosition) -> Sequence[Piece]:
        """Return the discs, by cell."""
        first, second = position.discs
        return [DISCS[0] if first & bit else DISCS[1] if second & bit else NOTHING for bit in BITS]

    def steps(self, position: ConnectFourPosition, move: str) -> Sequence[Step]:
        """Return the single step of a move: a disc comes to lie in its column."""
        file = COLUMNS.find(move) if len(move) == 1 else -1
        if file < 0:
            raise self.malformed_move(move)
        taken = (position.discs[0] | position.discs[1]) >> file * 7 & COLUMN
        return [Step("place", "", f"{move}{min(taken.bit_length(), HEIGHT - 1) + 1}", "Dd"[position.turn - 1])]


NOTHING: Final = Piece(0, "")
DISCS: Final = (Piece(1, "D"), Piece(2, "d"))


def has_four(mask: int) -> bool:
    """Return whether four discs of a mask are in a line: upright, level, or along a diagonal."""
    for shift in (1, 7, 6, 8):
        pairs = mask & mask >> shift
        if pairs & pairs >> 2 * shift:
            return True
    return False


def _settled(discs: tuple[int, int], turn: Seat) -> ConnectFourPosition:
    if has_four(discs[2 - turn]):
        return ConnectFourPosition(discs, turn, Outcome(other(turn), "four_in_a_row"))
    full = (discs[0] | discs[1]).bit_count() == 42
    return ConnectFourPosition(discs, turn, Outcome(0, "board_full") if full else None)
