"""Amazons: a piece moves like a queen of chess and shoots an arrow that closes a cell; a player without a move loses.

A board is 100 bytes in the order of the cells' names: `A` and `a` are amazons of seat 1 and seat 2, `x` is an arrow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from arbiter.boards.board import rays
from arbiter.boards.squares import squares
from arbiter.games.contract import Basis, EndReason, Facts, Game, Look, Outcome, Piece, Ruling, Seat, Step
from arbiter.games.rows import EMPTY, Rows, other, read_fields, read_seat

REASONS = (EndReason("no_moves", "The player to move has no legal move, and loses.", Basis.TEXT),)
RULINGS = (
    Ruling("own cell", "The arrow may fly over the cell that the amazon has left, and stay there.", Basis.TEXT),
    Ruling("set positions", "A position that was set may have any number of amazons on each side.", Basis.OURS),
)

SIZE: Final = 10
BOARD: Final = squares(SIZE, SIZE)
ROWS: Final = Rows(BOARD, "Aax.")
RAYS: Final = rays(BOARD)
AMAZONS: Final = (65, 97)  #: the bytes of `A` and `a`
ARROW: Final = 120
HOMES: Final = (("a4", "d1", "g1", "j4"), ("a7", "d10", "g10", "j7"))
LONGEST_TEXT: Final = 120
MOST_PLIES: Final = SIZE * SIZE - 8  #: each arrow closes a cell

_MOVE: Final = re.compile(r"([a-j](?:10|[1-9]))-([a-j](?:10|[1-9]))/([a-j](?:10|[1-9]))", re.ASCII)


class AmazonsPosition(NamedTuple):
    """A position: the board, the seat to move, and the end of the game or None."""

    board: bytes
    turn: Seat
    outcome: Outcome | None


class Amazons(Game[AmazonsPosition]):
    """The rules of Amazons."""

    facts = Facts(
        id="amazons",
        name="Amazons",
        designer="Walter Zamkauskas, 1988",
        summary="Move like a queen and close a cell with an arrow; a player without a move loses.",
        seats=("White", "Black"),
        parameters=(),
        reasons=REASONS,
        rulings=RULINGS,
        look=Look.CHEQUERED,
        letters={"A": "amazon"},
        aliases=(("D1-D7/G7", "d1-d7/g7"), ("d1-d7(g7)", "d1-d7/g7")),
    )
    board = BOARD
    bound = MOST_PLIES

    def initial(self) -> AmazonsPosition:
        """Return the start: four amazons on each side."""
        board = bytearray(b"." * BOARD.size)
        for amazon, homes in zip(AMAZONS, HOMES, strict=True):
            for name in homes:
                board[BOARD.index[name]] = amazon
        return AmazonsPosition(bytes(board), 1, None)

    def moves(self, position: AmazonsPosition) -> Sequence[str]:
        """Return the moves, by the cell that is left, the cell reached and the arrow's cell, along the directions."""
        if position.outcome is not None:
            return []
        board, own = bytearray(position.board), AMAZONS[position.turn - 1]
        names = BOARD.names
        found: list[str] = []
        for cell in range(BOARD.size):
            if position.board[cell] != own:
                continue
            board[cell] = EMPTY
            for target in reach(board, cell):
                start = f"{names[cell]}-{names[target]}/"
                found += [start + names[arrow] for arrow in reach(board, target)]
            board[cell] = own
        return found

    def play(self, position: AmazonsPosition, move: str) -> AmazonsPosition:
        """Move an amazon and shoot."""
        found = _MOVE.fullmatch(move)
        if found is None:
            raise self.malformed_move(move)
        cell, target, arrow = (BOARD.index[name] for name in found.groups())
        board, turn = bytearray(position.board), position.turn
        if position.outcome is not None:
            raise self.illegal_move(position, move, "the game is over")
        if board[cell] != AMAZONS[turn - 1]:
            raise self.illegal_move(position, move, f"{self.facts.seat_name(turn)} has no amazon on {found[1]}")
        board[cell] = EMPTY
        if target not in reach(board, cell):
            raise self.illegal_move(position, move, f"the amazon on {found[1]} does not reach {found[2]}")
        if arrow not in reach(board, target):
            raise self.illegal_move(position, move, f"an arrow from {found[2]} does not reach {found[3]}")
        board[target] = AMAZONS[turn - 1]
        board[arrow] = ARROW
        return _settled(bytes(board), other(turn))

    def canonical(self, move: str) -> str:
        """Return `d1-d7/g7` for `D1-D7/G7` and `d1-d7(g7)`."""
        if 8 <= len(move) <= 12 and move.isascii():
            text = move.lower()
            if text.endswith(")"):
                text = text[:-1].replace("(", "/", 1)
            if _MOVE.fullmatch(text):
                return text
        return move

    def text(self, position: AmazonsPosition) -> str:
        """Return the text: the board and the seat to move."""
        return f"{ROWS.write(position.board)} {position.turn}"

    def parse(self, text: str) -> AmazonsPosition:
        """Parse a position."""
        rows, seat = read_fields(text, LONGEST_TEXT, "board, seat to move", self.malformed_position)
        return _settled(ROWS.read(rows, self.malformed_position), read_seat(seat, self.malformed_position))

    def pieces(self, position: AmazonsPosition) -> Sequence[Piece]:
        """Return the amazons and the closed cells."""
        return [SHOWN[sign] for sign in position.board]

    def steps(self, position: AmazonsPosition, move: str) -> Sequence[Step]:
        """Return the steps of a move: an amazon moves, and an arrow closes a cell."""
        found = _MOVE.fullmatch(move)
        if found is None:
            raise self.malformed_move(move)
        return [Step("move", found[1], found[2]), Step("shoot", found[2], found[3])]


SHOWN: Final = {
    EMPTY: Piece(0, ""),
    AMAZONS[0]: Piece(1, "A"),
    AMAZONS[1]: Piece(2, "a"),
    ARROW: Piece(0, "", mark="arrow"),
}


def reach(board: bytearray, cell: int) -> list[int]:
    """Return the empty cells that a queen of chess would reach from a cell."""
    found: list[int] = []
    for way in RAYS[cell]:
        for target in way:
            if board[target] != EMPTY:
                break
            found.append(target)
    return found


def _settled(board: bytes, turn: Seat) -> AmazonsPosition:
    own = AMAZONS[turn - 1]
    for cell in range(BOARD.size):
        if board[cell] == own:
            for way in RAYS[cell]:
                if way and board[way[0]] == EMPTY:
                    return AmazonsPosition(board, turn, None)
    return AmazonsPosition(board, turn, Outcome(other(turn), "no_moves"))
