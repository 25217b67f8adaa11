"""Checkers (English draughts): men go forward, a capture must be made, and a player without a move loses.

A board is 32 bytes, one for each dark cell in the order of the cells' names: `M` and `m` are men, `K` and `k` kings of
seat 1 and seat 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from arbiter.boards.squares import dark_squares
from arbiter.games.contract import Basis, EndReason, Facts, Game, Look, Outcome, Piece, Ruling, Seat, Step
from arbiter.games.rows import EMPTY, Rows, other, read_fields, read_number, read_seat

REASONS = (
    EndReason("no_moves", "The player to move has no legal move, and loses.", Basis.TEXT),
    EndReason("repetition", "The same position occurs for the third time: a draw.", Basis.OURS),
    EndReason("forty_moves", "40 moves of each side without a capture or a man's move: a draw.", Basis.OURS),
)
RULINGS = (
    Ruling("captures", "If a capture is possible, one must be made; which one is free, and it goes on as long as the "
           "piece can capture.", Basis.TEXT),
    Ruling("crowning", "A man that reaches the last rank becomes a king, and its turn ends.", Basis.TEXT),
    Ruling("draws", "A draw by repetition or by 40 moves needs no claim and no referee.", Basis.OURS),
)  # fmt: skip

BOARD: Final = dark_squares(8)
ROWS: Final = Rows(BOARD, "MKmk.")
MEN: Final = (77, 109)  #: the bytes of `M` and `m`
KINGS: Final = (75, 107)  #: the bytes of `K` and `k`
LAST: Final = ("1", "8")  #: by seat: the rank on which its men are crowned; Black begins at the top
MOST_QUIET: Final = 80
LONGEST_TEXT: Final = 60
# Each of 24 men moves at most seven times, and at most 24 pieces are captured.
MOST_PLIES: Final = (24 * 7 + 24 + 1) * MOST_QUIET

NUMBERS: Final = tuple(f"{file}{rank}" for rank in range(8, 0, -1) for file in ("bdfh" if rank % 2 == 0 else "aceg"))
"""The cells in the order of their numbers in the Portable Draughts Notation: 1 is `b8`, 32 is `g1`."""

AHEAD: Final = ((1, 2), (0, 3))  #: by seat: the directions forward, as numbers of `BOARD.directions` (NE, SE, SW, NW)
_MOVE: Final = re.compile(r"[a-h][1-8](?:-[a-h][1-8]|(?:x[a-h][1-8]){1,12})", re.ASCII)
_NUMBERED: Final = re.compile(r"[1-9][0-9]?(?:-[1-9][0-9]?|(?:x[1-9][0-9]?)+)", re.ASCII)


class CheckersPosition(NamedTuple):
    """A position.

    quiet: plies since the last capture or man's move. stood: the boards since then, each with the seat to move, with
    this one. outcome: the end of the game, or None.
    """

    board: bytes
    turn: Seat
    quiet: int
    stood: tuple[bytes, ...]
    outcome: Outcome | None


class Checkers(Game[CheckersPosition]):
    """The rules of checkers."""

    facts = Facts(
        id="checkers",
        name="Checkers",
        designer="",
        summary="Capture the other's men by jumping over them, or leave them no move.",
        seats=("Black", "White"),
        parameters=(),
        reasons=REASONS,
        rulings=RULINGS,
        draw_offers=True,
        letters={"M": "man", "K": "king"},
        look=Look.CHEQUERED,
        material="men, and kings as two",
        aliases=(("11-15", "f6-e5"), ("D6-C5", "d6-c5")),
        cell_text="Only the dark cells are used. Files have letters, `a` is at the left; ranks have numbers, 1 is at "
        "the bottom: `a1` is the lower left corner, and dark. The numbers 1 to 32 of the Portable Draughts Notation "
        "run from `b8` to `g1`, row by row from the top.",
        position_text="Fields with a space between them: the board, the seat to move (`1` or `2`), and the plies since "
        "the last capture or man's move. The board is its ranks from the top down, the four dark cells of each from "
        "the left, with `/` between them. `.` is an empty cell, `M` a man and `K` a king of seat 1; those of seat 2 "
        "are in lower case.",
    )
    board = BOARD
    bound = MOST_PLIES

    def initial(self) -> CheckersPosition:
        """Return the start: twelve men on each side."""
        board = bytes([MEN[0] if name[1] > "5" else MEN[1] if name[1] < "4" else EMPTY for name in BOARD.names])
        return _settled(board, 1, 0, ())

    def moves(self, position: CheckersPosition) -> Sequence[str]:
        """Return the captures, or if there is none, the other moves; by the cell they leave, along the directions."""
        return [] if position.outcome is not None else _listed(position.board, position.turn)

    def play(self, position: CheckersPosition, move: str) -> CheckersPosition:
        """Move or capture."""
        if not _MOVE.fullmatch(move):
            raise self.malformed_move(move)
        path = [BOARD.index.get(name, -1) for name in re.split("[-x]", move)]
        if -1 in path:
            raise self.malformed_move(move)
        board, turn, quiet, stood, outcome = position
        if outcome is not None:
            raise self.illegal_move(position, move, "the game is over")
        if move not in _of_piece(board, path[0], turn, _captures(board, turn)):
            raise self.illegal_move(position, move, self._why(board, turn, path, move))
        piece = board[path[0]]
        after = bytearray(board)
        after[path[0]] = EMPTY
        for start, end in pairwise(path):
            if "x" in move:
                after[_between(start, end)] = EMPTY
        crowned = piece == MEN[turn - 1] and BOARD.names[path[-1]][1] == LAST[turn - 1]
        after[path[-1]] = KINGS[turn - 1] if crowned else piece
        if "x" in move or piece in MEN:
            return _settled(bytes(after), other(turn), 0, ())
        return _settled(bytes(after), other(turn), quiet + 1, stood)

    def _why(self, board: bytes, turn: Seat, path: list[int], move: str) -> str:
        name = BOARD.names[path[0]]
        if board[path[0]] not in (MEN[turn - 1], KINGS[turn - 1]):
            return f"{self.facts.seat_name(turn)} has no piece on {name}"
        if _captures(board, turn):
            going_on = [each for each in _of_piece(board, path[0], turn, True) if each.startswith(move)]
            return f"the capture goes on: {going_on[0]}" if going_on else "a capture is possible, and must be made"
        return f"the piece on {name} does not go there"

    def canonical(self, move: str) -> str:
        """Return the move for one with the numbers of the Portable Draughts Notation, or with upper case."""
        if len(move) > 40 or not move.isascii():
            return move
        if _NUMBERED.fullmatch(move):
            numbers = re.split("[-x]", move)
            if all(int(number) <= len(NUMBERS) for number in numbers):
                return ("x" if "x" in move else "-").join(NUMBERS[int(number) - 1] for number in numbers)
            return move
        return move.lower() if _MOVE.fullmatch(move.lower()) else move

    def notation(self, position: CheckersPosition, move: str) -> str:
        """Return a legal move with the numbers of the cells: `11-15`, `15x22x31`."""
        self.play(position, move)
        sign = "x" if "x" in move else "-"
        return sign.join(str(NUMBERS.index(name) + 1) for name in move.split(sign))

    def text(self, position: CheckersPosition) -> str:
        """Return the text: the board, the seat to move, and the plies without capture or man's move."""
        return f"{ROWS.write(position.board)} {position.turn} {position.quiet}"

    def parse(self, text: str) -> CheckersPosition:
        """Parse a position: at most twelve pieces a side, and no man on the rank where it would be a king."""
        refuse = self.malformed_position
        rows, seat, count = read_fields(text, LONGEST_TEXT, "board, seat to move, quiet plies", refuse)
        board, turn = ROWS.read(rows, refuse), read_seat(seat, refuse)
        for number, (man, king) in enumerate(zip(MEN, KINGS, strict=True)):
            pieces = board.count(man) + board.count(king)
            if pieces > 12:
                raise refuse(f"{pieces} pieces", f"the pieces of seat {number + 1}", "at most 12")
            for cell, name in enumerate(BOARD.names):
                if board[cell] == man and name[1] == LAST[number]:
                    raise refuse(chr(man), name, "no man on the rank where it becomes a king")
        quiet = read_number(count, "the plies without capture or man's move", MOST_QUIET, refuse)
        return _settled(board, turn, quiet, ())

    def pieces(self, position: CheckersPosition) -> Sequence[Piece]:
        """Return the pieces, by cell."""
        return [SHOWN[sign] for sign in position.board]

    def steps(self, position: CheckersPosition, move: str) -> Sequence[Step]:
        """Return the steps of a move: one, or each jump of a capture."""
        if not _MOVE.fullmatch(move):
            raise self.malformed_move(move)
        names = re.split("[-x]", move)
        if any(name not in BOARD.index for name in names):
            raise self.malformed_move(move)
        action = "hop" if "x" in move else "move"
        return [Step(action, start, end) for start, end in pairwise(names)]

    def material(self, position: CheckersPosition) -> tuple[int, int]:
        """Return the men of each seat, with kings as two."""
        board = position.board
        first, second = (board.count(man) + 2 * board.count(king) for man, king in zip(MEN, KINGS, strict=True))
        return first, second

    def counters(self, position: CheckersPosition) -> Mapping[str, int]:
        """Return the plies without capture or man's move."""
        return {"plies without capture or man's move": position.quiet}


SHOWN: Final = {EMPTY: Piece(0, "")} | {ord(letter): Piece(1 if letter.isupper() else 2, letter) for letter in "MKmk"}


def _ways(board: bytes, cell: int, turn: Seat) -> tuple[int, ...]:
    """Return the directions in which the piece on a cell may go; none if it is not of the seat to move."""
    if board[cell] == MEN[turn - 1]:
        return AHEAD[turn - 1]
    return (0, 1, 2, 3) if board[cell] == KINGS[turn - 1] else ()


def _jumps(board: bytes, cell: int, ways: tuple[int, ...], turn: Seat) -> list[tuple[int, int]]:
    """Return the captures by one jump from a cell, as (the cell jumped over, the cell reached)."""
    found: list[tuple[int, int]] = []
    for way in ways:
        over = BOARD.neighbours[cell][way]
        if over >= 0 and (board[over] == MEN[2 - turn] or board[over] == KINGS[2 - turn]):
            end = BOARD.neighbours[over][way]
            if end >= 0 and board[end] == EMPTY:
                found.append((over, end))
    return found


def _captures(board: bytes, turn: Seat) -> bool:
    """Return whether the seat to move can capture."""
    return any(_jumps(board, cell, _ways(board, cell, turn), turn) for cell in range(BOARD.size))


def _chains(board: bytes, cell: int, ways: tuple[int, ...], turn: Seat, so_far: str) -> Iterator[str]:
    """Yield the whole captures that continue one that has come to a cell; itself if there is nothing more to jump."""
    jumps = _jumps(board, cell, ways, turn)
    if not jumps:
        yield so_far
    for over, end in jumps:
        name = BOARD.names[end]
        if len(ways) < 4 and name[1] == LAST[turn - 1]:
            yield f"{so_far}x{name}"
        else:
            left = bytearray(board)
            left[over] = EMPTY
            yield from _chains(bytes(left), end, ways, turn, f"{so_far}x{name}")


def _of_piece(board: bytes, cell: int, turn: Seat, captures: bool) -> list[str]:
    """Return the moves of the piece on a cell: its captures if somebody can capture."""
    ways = _ways(board, cell, turn)
    name = BOARD.names[cell]
    if captures:
        if not _jumps(board, cell, ways, turn):
            return []
        lifted = bytearray(board)
        lifted[cell] = EMPTY
        return list(_chains(bytes(lifted), cell, ways, turn, name))
    ends = [BOARD.neighbours[cell][way] for way in ways]
    return [f"{name}-{BOARD.names[end]}" for end in ends if end >= 0 and board[end] == EMPTY]


def _listed(board: bytes, turn: Seat) -> list[str]:
    captures = _captures(board, turn)
    return [move for cell in range(BOARD.size) for move in _of_piece(board, cell, turn, captures)]


def _between(start: int, end: int) -> int:
    """Return the cell that a jump passes."""
    shared = set(BOARD.adjacent(start)) & set(BOARD.adjacent(end))
    (a, b), (c, d) = BOARD.centres[start], BOARD.centres[end]
    return next(cell for cell in shared if BOARD.centres[cell] == ((a + c) / 2, (b + d) / 2))


def _settled(board: bytes, turn: Seat, quiet: int, stood: tuple[bytes, ...]) -> CheckersPosition:
    """Return a position with its outcome. `stood` has the boards before it."""
    key = board + bytes((turn,))
    stood = (*stood, key)
    outcome: Outcome | None = None
    if not _listed(board, turn):
        outcome = Outcome(other(turn), "no_moves")
    elif stood.count(key) >= 3:
        outcome = Outcome(0, "repetition")
    elif quiet >= MOST_QUIET:
        outcome = Outcome(0, "forty_moves")
    return CheckersPosition(board, turn, quiet, stood, outcome)
