"""Forsyth–Edwards Notation of chess positions, as the PGN standard (1994, 16.1) has it.

A FEN that no game can lead to is refused with the reason, as far as the pieces show it: the kings, the number of
pieces and of promoted ones, pawns on the first and last rank, castling rights without king or rook in their places, a
square for en passant that no pawn has just passed, and a king that could be captured.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from arbiter.errors import Refusal
from arbiter.games.chess_board import (
    BOARD,
    E1,
    EMPTY,
    H1,
    KINGS,
    NOWHERE,
    SEAT,
    in_check,
    is_attacked,
)

Refuse = Callable[[str, str, str], Refusal]
"""Makes the refusal of a malformed text from what is wrong, where, and what may stand there."""

ReadRights = Callable[[str, bytes, Refuse], int]
"""Reads the castling rights of a board."""

LONGEST_TEXT = 100  #: characters; 64 squares, seven slashes and the other fields take less
MOST_QUIET = 150
MOST_MOVES = 99_999
ROOK_HOMES = {"K": H1, "Q": 0, "k": H1 + 7, "q": 7}  #: by letter of the castling rights

_RANK = re.compile(r"[PNBRQKpnbrqk1-8]{1,8}", re.ASCII)
_RIGHTS = re.compile(r"-|(?=.)K?Q?k?q?", re.ASCII)
_ANY_RIGHTS = re.compile(r"[KQA-Hkqa-h]{1,4}", re.ASCII)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,4}", re.ASCII)


class Fields(NamedTuple):
    """The fields of a FEN: the board as in `chess_board`, and the others as numbers."""

    board: bytes
    turn: int
    rights: int
    passed: int
    quiet: int
    number: int


def written(fields: Fields) -> str:
    """Return the FEN."""
    board, turn, rights, passed, quiet, number = fields
    ranks = b"/".join([board[rank::8] for rank in (7, 6, 5, 4, 3, 2, 1, 0)]).decode()
    if "." in ranks:
        for count in (8, 7, 6, 5, 4, 3, 2, 1):
            ranks = ranks.replace("........"[:count], "87654321"[8 - count])
    castling = castling_text(board, rights)
    square = "-" if passed == NOWHERE else BOARD.names[passed]
    return f"{ranks} {'w' if turn == 1 else 'b'} {castling} {square} {quiet} {number}"


def castling_text(board: bytes, rights: int) -> str:
    """Return castling rights as X-FEN has them: the file of a rook if another stands farther out, else K or Q."""
    if not rights:
        return "-"
    found = ""
    for home, king, rook in ((0, *b"KR"), (7, *b"kr")):
        files, at = (rights >> (8 if home else 0)) & 255, board.find(king) >> 3
        row = board[home::8]
        for file in range(7, -1, -1):
            if files >> file & 1:
                outer = row[file + 1 :] if file > at else row[:file]
                letter = chr(65 + file) if rook in outer else "K" if file > at else "Q"
                found += letter.lower() if home else letter
    return found


def read_fen(text: str, refuse: Refuse, read_rights: ReadRights) -> Fields:
    """Return the fields of a FEN. Raises the refusal that `refuse` makes."""
    if len(text) > LONGEST_TEXT:
        raise refuse(f"{len(text)} characters", "the text", f"at most {LONGEST_TEXT}")
    parts = text.split(" ")
    if len(parts) != 6:
        raise refuse(text, "the fields", "six: board, w or b, castling, en passant, two counts, one space between")
    ranks, colour, castling, square, quiet, number = parts
    board = _read_board(ranks, refuse)
    if colour not in ("w", "b"):
        raise refuse(colour, "the colour to move", "w or b")
    turn = 1 if colour == "w" else 2
    _check_pieces(board, refuse)
    rights = read_rights(castling, board, refuse)
    passed = _read_passed(square, board, turn, refuse)
    plies, count = _read_counts(quiet, number, refuse)
    if passed != NOWHERE and plies:
        raise refuse(quiet, "the plies since a capture or pawn move", "0 after a pawn's double step")
    _check_kings(board, turn, refuse)
    return Fields(board, turn, rights, passed, plies, count)


def _read_board(field: str, refuse: Refuse) -> bytes:
    ranks = field.split("/")
    if len(ranks) != 8:
        raise refuse(field, "the board", "8 ranks with / between them")
    board = bytearray(64)
    for rank, row in zip(range(7, -1, -1), ranks, strict=True):
        where = f"rank {rank + 1}"
        if not _RANK.fullmatch(row) or re.search("[1-8]{2}", row):
            raise refuse(row, where, "PNBRQK, pnbrqk, and numbers of empty squares, not two of them together")
        signs = re.sub("[1-8]", lambda found: "." * int(found[0]), row)
        if len(signs) != 8:
            raise refuse(row, where, "8 squares")
        board[rank::8] = signs.encode()
    return bytes(board)


def _check_pieces(board: bytes, refuse: Refuse) -> None:
    """Refuse numbers of pieces that promotions cannot explain, and pawns where none can stand."""
    text = board.decode()
    for colour, letters in (("White", "KPQRBN"), ("Black", "kpqrbn")):
        king, pawn, queen, *minor = (text.count(letter) for letter in letters)
        where = f"the pieces of {colour}"
        if king != 1:
            raise refuse(f"{king} kings", where, "one king")
        if pawn > 8:
            raise refuse(f"{pawn} pawns", where, "at most 8 pawns")
        promoted = max(queen - 1, 0) + sum(max(count - 2, 0) for count in minor)
        if promoted > 8 - pawn:
            allowed = f"at most {8 - pawn}, since {pawn} pawns are left"
            raise refuse(f"{promoted} promoted pieces", where, allowed)
    for rank in (0, 7):
        if set(board[rank::8]) & set(b"Pp"):
            raise refuse(board[rank::8].decode(), f"rank {rank + 1}", "no pawn on the first or the last rank")


def read_rights(field: str, board: bytes, refuse: Refuse) -> int:
    """Return the castling rights of chess."""
    if not _RIGHTS.fullmatch(field):
        raise refuse(field, "the castling rights", "- or letters of KQkq, in this order")
    rights = 0
    for letter in field.replace("-", ""):
        white, corner = letter.isupper(), ROOK_HOMES[letter]
        king, rook = (E1, b"R"[0]) if white else (E1 + 7, b"r"[0])
        if board[king] != KINGS[0 if white else 1] or board[corner] != rook:
            allowed = f"a king on {BOARD.names[king]} and a rook on {BOARD.names[corner]}"
            raise refuse(letter, "the castling rights", allowed)
        rights |= 1 << (corner >> 3) + (0 if white else 8)
    return rights


def read_any_rooks(field: str, board: bytes, refuse: Refuse) -> int:
    """Return the castling rights of Fischer random: K and Q are the outermost rook of a side, other letters a file.

    So X-FEN and Shredder-FEN are both read, in any order.
    """
    if field != "-" and not _ANY_RIGHTS.fullmatch(field):
        raise refuse(field, "the castling rights", "- or letters: KQ and A to H for White, kq and a to h for Black")
    rights = 0
    sides = set[tuple[bool, bool]]()  # White's or Black's, short or long
    for letter in field.replace("-", ""):
        white = letter.isupper()
        home, king = (0, board.find(b"K")) if white else (7, board.find(b"k"))
        rook = _rook(letter.upper(), board[home::8], king >> 3, b"R" if white else b"r")
        if king & 7 != home or rook < 0:
            where = (
                "to its right" if letter in "Kk" else "to its left" if letter in "Qq" else f"on file {letter.lower()}"
            )
            raise refuse(letter, "the castling rights", f"a king on rank {home + 1} and a rook {where}")
        side = (white, rook > king >> 3)
        if side in sides:
            raise refuse(field, "the castling rights", "one rook on each side of a king")
        sides.add(side)
        rights |= 1 << rook + (0 if white else 8)
    return rights


def _rook(letter: str, row: bytes, king: int, rook: bytes) -> int:
    """Return the file of the rook that a letter names in a row with a king, or -1."""
    if letter == "K":
        file = row.rfind(rook)
        return file if file > king else -1
    file = row.find(rook) if letter == "Q" else ord(letter) - 65
    if letter == "Q":
        return file if file < king else -1
    return file if row[file] == rook[0] else -1


def _read_passed(field: str, board: bytes, turn: int, refuse: Refuse) -> int:
    """Return the cell that a pawn of the other side has just passed, or NOWHERE."""
    if field == "-":
        return NOWHERE
    cell = BOARD.index.get(field, NOWHERE)
    step, pawn = (-1, b"p"[0]) if turn == 1 else (1, b"P"[0])
    if cell == NOWHERE or cell & 7 != (5 if turn == 1 else 2):
        allowed = f"- or a square of rank {6 if turn == 1 else 3}"
        raise refuse(field, "the en passant square", allowed)
    if board[cell] != EMPTY or board[cell - step] != EMPTY or board[cell + step] != pawn:
        raise refuse(field, "the en passant square", "a square that a pawn has just passed")
    return cell


def _read_counts(quiet: str, number: str, refuse: Refuse) -> tuple[int, int]:
    if not _NUMBER.fullmatch(quiet) or int(quiet) > MOST_QUIET:
        raise refuse(quiet, "the plies since a capture or pawn move", f"a number from 0 to {MOST_QUIET}")
    if not _NUMBER.fullmatch(number) or not 1 <= int(number) <= MOST_MOVES:
        raise refuse(number, "the number of the move", f"a number from 1 to {MOST_MOVES}")
    return int(quiet), int(number)


def _check_kings(board: bytes, turn: int, refuse: Refuse) -> None:
    """Refuse a king that could be captured, and a check by more pieces than one move can give."""
    names = ("White", "Black")
    if in_check(board, 3 - turn):
        raise refuse(
            f"{names[2 - turn]} in check", "the board", f"a position that {names[2 - turn]} may have left with a move"
        )
    king, other = board.find(KINGS[turn - 1]), 3 - turn
    pieces = [cell for cell in range(64) if board[cell] != EMPTY and cell != king]
    attackers = [cell for cell in pieces if _attacks(board, cell, king, other)]
    if len(attackers) > 2:
        raise refuse(f"{len(attackers)} pieces that give check", "the board", "at most two, since one move gave it")


def _attacks(board: bytes, cell: int, king: int, by: int) -> bool:
    """Return whether the piece on a cell is one of seat `by` that attacks a king."""
    if SEAT[board[cell]] != by:
        return False
    alone = bytes([here if at == cell or SEAT[here] != by else EMPTY for at, here in enumerate(board)])
    return is_attacked(alone, king, by)
