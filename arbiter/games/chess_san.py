"""Moves of chess as people write them: Standard Algebraic Notation, as the PGN standard (1994, 8.2.3) has it.

Reading is more tolerant than the standard's import format: long algebraic notation (`Ng1-f3`, `e2xd3`), castling with
zeros, promotion without `=`, needless letters of files and ranks, and any marks after the move are read too.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from arbiter.games.chess_board import BOARD, is_safe, targets

_MARKS: Final = r"[+#]{0,2}[!?]{0,2}"
_MOVE: Final = re.compile(rf"([NBRQK]?)([a-h]?)([1-8]?)[x:-]?([a-h][1-8])(?:=?\(?([QRBN])\)?)?{_MARKS}", re.ASCII)
_CASTLES: Final = re.compile(rf"([O0])-\1(-\1)?{_MARKS}", re.ASCII)
LONGEST: Final = 14  #: characters that are looked at


class San(NamedTuple):
    """What a text says of a move: `cells` are the pieces that it may mean. castles: 'short', 'long' or ''."""

    kind: str
    target: str
    promotion: str
    cells: tuple[int, ...]
    castles: str = ""


def read_san(text: str, board: bytes, turn: int, passed: int) -> San | None:
    """Return what a text says of a move of a position, or None if it is not in this notation."""
    if len(text) > LONGEST:
        return None
    castles = _CASTLES.fullmatch(text)
    if castles is not None:
        return San("K", "", "", (), "long" if castles[2] else "short")
    found = _MOVE.fullmatch(text)
    if found is None:
        return None
    kind, file, rank, target, became = found.groups()
    cell = BOARD.index[target]
    cells = movers(board, turn, passed, kind or "P", cell)
    names = BOARD.names
    told = tuple(each for each in cells if file in ("", names[each][0]) and rank in ("", names[each][1]))
    return San(kind or "P", target, (became or "").lower(), told)


def movers(board: bytes, turn: int, passed: int, kind: str, target: int) -> list[int]:
    """Return the cells of the pieces of a kind (an upper-case letter) that may go to a cell, without castling."""
    sign = ord(kind) if turn == 1 else ord(kind) + 32
    return [
        cell
        for cell in range(64)
        if board[cell] == sign
        and target in targets(board, cell, turn, 0, passed)
        and is_safe(board, cell, target, turn, passed)
    ]


def told_apart(board: bytes, turn: int, passed: int, cell: int, target: int) -> str:
    """Return the file, the rank or the cell that tells a piece from others that may go to the same cell."""
    rivals = [each for each in movers(board, turn, passed, chr(board[cell] & 95), target) if each != cell]
    if not rivals:
        return ""
    name = BOARD.names[cell]
    if all(other >> 3 != cell >> 3 for other in rivals):
        return name[0]
    return name[1] if all(other & 7 != cell & 7 for other in rivals) else name
