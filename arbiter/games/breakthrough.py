"""Breakthrough: pieces go forward, capture diagonally, and the first to reach the other side wins.

A board is 64 bytes in the order of the cells' names: `P` and `p` are the pieces of seat 1 and seat 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from arbiter.boards.squares import squares
from arbiter.games.contract import Basis, EndReason, Facts, Game, Look, Outcome, Piece, Ruling, Seat, Step
from arbiter.games.rows import EMPTY, Rows, other, read_fields, read_seat

REASONS = (
    EndReason("far_rank", "The mover has a piece on the rank farthest from its own side, and wins.", Basis.TEXT),
    EndReason("no_pieces", "The mover has captured the last piece of the other, and wins.", Basis.TEXT),
)
RULINGS = (
    Ruling("set positions", "In a position that was set, a piece of the seat to move on its last rank is refused: the "
           "game was over before.", Basis.OURS),
)  # fmt: skip

BOARD: Final = squares(8, 8)
ROWS: Final = Rows(BOARD, "Pp.")
PIECES: Final = (80, 112)  #: the bytes of `P` and `p`
START: Final = b"PP....pp" * 8
LAST: Final = (7, 0)  #: by seat: the rank to reach
LONGEST_TEXT: Final = 80
# A piece moves at most six times before it reaches the last rank, one of the second rank five times.
MOST_PLIES: Final = 2 * 8 * (6 + 5) + 1

_MOVE: Final = re.compile(r"([a-h][1-8])-([a-h][1-8])", re.ASCII)
_ALIAS: Final = re.compile(r"([a-h][1-8])[x-]?([a-h][1-8])", re.ASCII)


class BreakthroughPosition(NamedTuple):
    """A position: the board, the seat to move, and the end of the game or None."""

    board: bytes
    turn: Seat
    outcome: Outcome | None


class Breakthrough(Game[BreakthroughPosition]):
    """The rules of Breakthrough."""

    facts = Facts(
        id="breakthrough",
        name="Breakthrough",
        designer="Dan Troyka, 2000",
        summary="Bring one piece to the other side of the board.",
        seats=("White", "Black"),
        parameters=(),
        reasons=REASONS,
        rulings=RULINGS,
        look=Look.CHEQUERED,
        letters={"P": "piece"},
        material="pieces",
        aliases=(("a2a3", "a2-a3"), ("a2xb3", "a2-b3")),
    )
    board = BOARD
    bound = MOST_PLIES

    def initial(self) -> BreakthroughPosition:
        """Return the start: two ranks of pieces on each side."""
        return BreakthroughPosition(START, 1, None)

    def moves(self, position: BreakthroughPosition) -> Sequence[str]:
        """Return the moves, by the cell they leave, then straight ahead, to the left and to the right."""
        if position.outcome is not None:
            return []
        board, own = position.board, PIECES[position.turn - 1]
        names = BOARD.names
        return [
            f"{names[cell]}-{names[target]}"
            for cell in range(64)
            if board[cell] == own
            for target in targets(board, cell, position.turn)
        ]

    def play(self, position: BreakthroughPosition, move: str) -> BreakthroughPosition:
        """Move a piece."""
        found = _MOVE.fullmatch(move)
        if found is None:
            raise self.malformed_move(move)
        cell, target = BOARD.index[found[1]], BOARD.index[found[2]]
        board, turn = position.board, position.turn
        if position.outcome is not None:
            raise self.illegal_move(position, move, "the game is over")
        if board[cell] != PIECES[turn - 1]:
            raise self.illegal_move(position, move, f"{self.facts.seat_name(turn)} has no piece on {found[1]}")
        if target not in targets(board, cell, turn):
            raise self.illegal_move(position, move, f"the piece on {found[1]} can't go to {found[2]}")
        after = bytearray(board)
        after[cell] = EMPTY
        after[target] = PIECES[turn - 1]
        return _settled(bytes(after), other(turn))

    def canonical(self, move: str) -> str:
        """Return `a2-b3` for `a2b3` and `a2xb3`."""
        found = _ALIAS.fullmatch(move) if 4 <= len(move) <= 5 else None
        return move if found is None else f"{found[1]}-{found[2]}"

    def text(self, position: BreakthroughPosition) -> str:
        """Return the text: the board and the seat to move."""
        return f"{ROWS.write(position.board)} {position.turn}"

    def parse(self, text: str) -> BreakthroughPosition:
        """Parse a position in which the seat to move has not won yet."""
        refuse = self.malformed_position
        rows, seat = read_fields(text, LONGEST_TEXT, "board, seat to move", refuse)
        board, turn = ROWS.read(rows, refuse), read_seat(seat, refuse)
        if PIECES[turn - 1] in board[LAST[turn - 1] :: 8]:
            raise refuse(rows, "the board", "no piece of the seat to move on its last rank: the game was over before")
        if PIECES[turn - 1] not in board and PIECES[2 - turn] not in board:
            raise refuse(rows, "the board", "at least one piece")
        return _settled(board, turn)

    def pieces(self, position: BreakthroughPosition) -> Sequence[Piece]:
        """Return the pieces, by cell."""
        return [SHOWN[sign] for sign in position.board]

    def steps(self, position: BreakthroughPosition, move: str) -> Sequence[Step]:
        """Return the single step of a move."""
        found = _MOVE.fullmatch(move)
        if found is None:
            raise self.malformed_move(move)
        return [Step("move", found[1], found[2])]

    def material(self, position: BreakthroughPosition) -> tuple[int, int]:
        """Return the number of pieces of each seat."""
        return position.board.count(PIECES[0]), position.board.count(PIECES[1])

    def counters(self, position: BreakthroughPosition) -> Mapping[str, int]:
        """Return the number of pieces of each seat."""
        return {"White pieces": position.board.count(PIECES[0]), "Black pieces": position.board.count(PIECES[1])}


SHOWN: Final = {EMPTY: Piece(0, ""), PIECES[0]: Piece(1, "P"), PIECES[1]: Piece(2, "p")}


def targets(board: bytes, cell: int, turn: Seat) -> list[int]:
    """Return the cells to which a piece may go: straight ahead if that is empty, and diagonally, not onto its own."""
    step, own = (1, PIECES[0]) if turn == 1 else (-1, PIECES[1])
    found: list[int] = []
    rank = (cell & 7) + step
    if not 0 <= rank <= 7:
        return found
    if board[cell + step] == EMPTY:
        found.append(cell + step)
    found += [side for side in (cell + step - 8, cell + step + 8) if 0 <= side < 64 and board[side] != own]
    return found


def _settled(board: bytes, turn: Seat) -> BreakthroughPosition:
    mover = other(turn)
    if PIECES[mover - 1] in board[LAST[mover - 1] :: 8]:
        return BreakthroughPosition(board, turn, Outcome(mover, "far_rank"))
    if PIECES[turn - 1] not in board:
        return BreakthroughPosition(board, turn, Outcome(mover, "no_pieces"))
    return BreakthroughPosition(board, turn, None)
