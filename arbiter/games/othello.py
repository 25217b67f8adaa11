"""Othello: place a disc so that opposing discs are flanked, and turn those over; most discs win.

A board is 64 bytes in the order of the cells' names: `D` and `d` are the discs of seat 1 and seat 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from arbiter.boards.board import rays
from arbiter.boards.squares import squares
from arbiter.games.contract import Basis, EndReason, Facts, Game, Look, Outcome, Piece, Ruling, Seat, Step
from arbiter.games.rows import EMPTY, Rows, other, read_fields, read_seat

REASONS = (
    EndReason("most_discs", "Neither player can move, and the one with more discs wins.", Basis.TEXT),
    EndReason("equal_discs", "Neither player can move, and both have as many discs: a draw.", Basis.TEXT),
)
RULINGS = (
    Ruling("pass", "A player without a move that turns a disc passes; passing is a move of its own.", Basis.TEXT),
    Ruling("ranks", "Ranks are numbered from the bottom. The start is the same from either side.", Basis.OURS),
)

BOARD: Final = squares(8, 8)
RAYS: Final = tuple(tuple(way for way in ways if len(way) > 1) for ways in rays(BOARD))
ROWS: Final = Rows(BOARD, "Dd.")
DISCS: Final = (68, 100)  #: the bytes of `D` and `d`
PASS: Final = "pass"
LONGEST_TEXT: Final = 80
# 60 cells are empty at the start, and no pass follows a pass.
MOST_PLIES: Final = 120


class OthelloPosition(NamedTuple):
    """A position: the board, the seat to move, the cells on which it may place, and the end of the game or None."""

    board: bytes
    turn: Seat
    open: tuple[int, ...]
    outcome: Outcome | None


class Othello(Game[OthelloPosition]):
    """The rules of Othello."""

    facts = Facts(
        id="othello",
        name="Othello",
        designer="Goro Hasegawa, 1971",
        summary="Flank the other's discs and turn them over; most discs win.",
        seats=("Black", "White"),
        parameters=(),
        look=Look.FELT,
        reasons=REASONS,
        rulings=RULINGS,
        letters={"D": "disc"},
    )
    board = BOARD
    bound = MOST_PLIES

    def initial(self) -> OthelloPosition:
        """Return the start: two discs each in the middle, on the diagonals."""
        board = bytearray(b"." * 64)
        for name, disc in (("d5", 0), ("e4", 0), ("d4", 1), ("e5", 1)):
            board[BOARD.index[name]] = DISCS[disc]
        return _settled(bytes(board), 1)

    def moves(self, position: OthelloPosition) -> Sequence[str]:
        """Return the cells to place on, in the order of the board's cells, or the pass."""
        if position.outcome is not None:
            return []
        return [BOARD.names[cell] for cell in position.open] or [PASS]

    def play(self, position: OthelloPosition, move: str) -> OthelloPosition:
        """Place a disc and turn over what it flanks, or pass."""
        turn = position.turn
        if move == PASS:
            if position.outcome is not None:
                raise self.illegal_move(position, move, "the game is over")
            if position.open:
                raise self.illegal_move(
                    position, move, f"a disc can be placed, such as {BOARD.names[position.open[0]]}"
                )
            return _settled(position.board, other(turn))
        cell = BOARD.index.get(move, -1)
        if cell < 0:
            raise self.malformed_move(move)
        board = position.board
        turned = flanked(board, cell, turn) if board[cell] == EMPTY and position.outcome is None else []
        if not turned:
            over = "the game is over" if position.outcome is not None else ""
            taken = f"{move} is taken" if board[cell] != EMPTY else "it would turn no disc"
            raise self.illegal_move(position, move, over or taken)
        after = bytearray(board)
        disc = DISCS[turn - 1]
        after[cell] = disc
        for target in turned:
            after[target] = disc
        return _settled(bytes(after), other(turn))

    def text(self, position: OthelloPosition) -> str:
        """Return the text: the board and the seat to move."""
        return f"{ROWS.write(position.board)} {position.turn}"

    def parse(self, text: str) -> OthelloPosition:
        """Parse a position; any discs may stand anywhere."""
        rows, seat = read_fields(text, LONGEST_TEXT, "board, seat to move", self.malformed_position)
        return _settled(ROWS.read(rows, self.malformed_position), read_seat(seat, self.malformed_position))

    def pieces(self, position: OthelloPosition) -> Sequence[Piece]:
        """Return the discs, by cell."""
        return [PIECES[sign] for sign in position.board]

    def steps(self, position: OthelloPosition, move: str) -> Sequence[Step]:
        """Return the single step of a move: a disc is placed, or a pass."""
        if move == PASS:
            return [Step("pass", "", "")]
        if move not in BOARD.index:
            raise self.malformed_move(move)
        return [Step("place", "", move, chr(DISCS[position.turn - 1]))]

    def counters(self, position: OthelloPosition) -> Mapping[str, int]:
        """Return the number of discs of each seat."""
        return {"Black discs": position.board.count(DISCS[0]), "White discs": position.board.count(DISCS[1])}


PIECES: Final = {EMPTY: Piece(0, ""), DISCS[0]: Piece(1, "D"), DISCS[1]: Piece(2, "d")}


def flanked(board: bytes, cell: int, turn: Seat) -> list[int]:
    """Return the cells whose discs a disc on an empty cell would turn over."""
    own, theirs = DISCS[turn - 1], DISCS[2 - turn]
    found: list[int] = []
    for way in RAYS[cell]:
        if board[way[0]] != theirs:
            continue
        for length in range(1, len(way)):
            sign = board[way[length]]
            if sign != theirs:
                if sign == own:
                    found += way[:length]
                break
    return found


def _open(board: bytes, turn: Seat) -> tuple[int, ...]:
    return tuple([cell for cell in range(64) if board[cell] == EMPTY and flanked(board, cell, turn)])


def _settled(board: bytes, turn: Seat) -> OthelloPosition:
    """Return a position with what may be played and its outcome."""
    cells = _open(board, turn)
    if cells or _open(board, other(turn)):
        return OthelloPosition(board, turn, cells, None)
    first, second = board.count(DISCS[0]), board.count(DISCS[1])
    outcome = Outcome(0, "equal_discs") if first == second else Outcome(1 if first > second else 2, "most_discs")
    return OthelloPosition(board, turn, (), outcome)
