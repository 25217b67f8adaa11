"""The chessboard: where each piece may go, what is attacked, and what a move leaves behind.

A board is 64 bytes, one for each cell in the order of `BOARD.names` (`a1`, `a2`, …, `h8`): the letter that FEN writes,
or `.`. Rank r is `board[r::8]`. Castling rights are sixteen bits, the files of White's rooks from bit 0 and of Black's
from bit 8: so they are right for Fischer random too, where castling is the king's move onto its own rook. In this
module it is so in chess as well.
"""

from __future__ import annotations

from typing import Final

from arbiter.boards.squares import squares

BOARD: Final = squares(8, 8)
EMPTY: Final = 46  #: the byte of an empty cell: `.`
START: Final = b"RP....prNP....pnBP....pbQP....pqKP....pkBP....pbNP....pnRP....pr"
NOWHERE: Final = -1

START_RIGHTS: Final = 0x8181  #: rooks on the files a and h, for both sides
PROMOTIONS: Final = "qrbn"  #: the letters in a move, in the order in which moves are listed

A1, C1, D1, E1, F1, G1, H1 = 0, 16, 24, 32, 40, 48, 56
KINGS: Final = (75, 107)  #: the bytes of `K` and `k`

Lines = tuple[tuple[int, ...], ...]


def _on_board(file: int, rank: int) -> bool:
    return 0 <= file < 8 and 0 <= rank < 8


def _leaps(steps: tuple[tuple[int, int], ...]) -> Lines:
    """Return, for each cell, the cells on the board at the given distances in files and ranks."""
    return tuple(
        tuple((file + df) * 8 + rank + dr for df, dr in steps if _on_board(file + df, rank + dr))
        for file in range(8)
        for rank in range(8)
    )


def _ray(file: int, rank: int, df: int, dr: int) -> tuple[int, ...]:
    cells = []
    while _on_board(file + df, rank + dr):
        file, rank = file + df, rank + dr
        cells.append(file * 8 + rank)
    return tuple(cells)


STRAIGHT = ((1, 0), (-1, 0), (0, 1), (0, -1))
DIAGONAL = ((1, 1), (1, -1), (-1, 1), (-1, -1))
KNIGHT: Final[Lines] = _leaps(((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)))
KING: Final[Lines] = _leaps((*STRAIGHT, *DIAGONAL))
ROOK_RAYS: Final[tuple[Lines, ...]] = tuple(
    tuple(_ray(cell // 8, cell % 8, *step) for step in STRAIGHT) for cell in range(64)
)
BISHOP_RAYS: Final[tuple[Lines, ...]] = tuple(
    tuple(_ray(cell // 8, cell % 8, *step) for step in DIAGONAL) for cell in range(64)
)
QUEEN_RAYS: Final[tuple[Lines, ...]] = tuple(
    straight + diagonal for straight, diagonal in zip(ROOK_RAYS, BISHOP_RAYS, strict=True)
)
PAWN_TAKES: Final[tuple[Lines, Lines]] = (_leaps(((-1, 1), (1, 1))), _leaps(((-1, -1), (1, -1))))
"""By seat: the cells on which a pawn may capture."""

SEAT: Final = bytes(1 if 65 <= sign <= 90 else 2 if 97 <= sign <= 122 else 0 for sign in range(128))
"""The owner of a byte of a board: 1 for upper case, 2 for lower case, 0 for an empty cell."""

# What a move from or to a cell leaves of the castling rights, and what a king's move does, by seat.
KEPT: Final = tuple(
    0xFFFF ^ (1 << (cell >> 3) + (cell & 7 == 7) * 8 if cell & 7 in (0, 7) else 0) for cell in range(64)
)
KEPT_OF_KING: Final = (0xFF00, 0x00FF)


def is_attacked(board: bytes, cell: int, by: int) -> bool:
    """Return whether a piece of seat `by` attacks a cell, whatever stands there."""
    white = by == 1
    pawn = 80 if white else 112
    for other in PAWN_TAKES[1 if white else 0][cell]:
        if board[other] == pawn:
            return True
    knight = 78 if white else 110
    for other in KNIGHT[cell]:
        if board[other] == knight:
            return True
    queen, rook, bishop = (81, 82, 66) if white else (113, 114, 98)
    if _sees(board, ROOK_RAYS[cell], rook, queen) or _sees(board, BISHOP_RAYS[cell], bishop, queen):
        return True
    king = board.find(KINGS[0 if white else 1])
    return king in KING[cell]


def _sees(board: bytes, rays: Lines, piece: int, queen: int) -> bool:
    """Return whether the first piece on some ray is one of the two."""
    for ray in rays:
        for cell in ray:
            sign = board[cell]
            if sign == EMPTY:
                continue
            if sign == piece:
                return True
            if sign == queen:
                return True
            break
    return False


def in_check(board: bytes, seat: int) -> bool:
    """Return whether the king of a seat is attacked."""
    return is_attacked(board, board.find(KINGS[seat - 1]), 3 - seat)


def targets(board: bytes, cell: int, turn: int, rights: int, passed: int) -> list[int]:
    """Return the cells to which the piece on a cell may go, if its own king's safety is left out.

    `passed` is the cell that a pawn has just passed in a double step, or NOWHERE. Castling is a move of the king onto
    its rook; it is listed only if the king neither leaves, passes nor reaches an attacked cell.
    """
    sign = board[cell] & 95  # as in upper case
    if sign == 80:
        return _pawn_targets(board, cell, turn, passed)
    found: list[int] = []
    if sign == 78:
        return [target for target in KNIGHT[cell] if SEAT[board[target]] != turn]
    if sign == 75:
        found += [target for target in KING[cell] if SEAT[board[target]] != turn]
        if rights & (0x00FF if turn == 1 else 0xFF00):
            found += _castlings(board, cell, turn, rights)
        return found
    for ray in (ROOK_RAYS if sign == 82 else BISHOP_RAYS if sign == 66 else QUEEN_RAYS)[cell]:
        for target in ray:
            owner = SEAT[board[target]]
            if owner != turn:
                found.append(target)
            if owner:
                break
    return found


def _pawn_targets(board: bytes, cell: int, turn: int, passed: int) -> list[int]:
    found: list[int] = []
    step = 1 if turn == 1 else -1
    if board[cell + step] == EMPTY:
        found.append(cell + step)
        if cell & 7 == (1 if turn == 1 else 6) and board[cell + 2 * step] == EMPTY:
            found.append(cell + 2 * step)
    found += [target for target in PAWN_TAKES[turn - 1][cell] if target == passed or SEAT[board[target]] == 3 - turn]
    return found


def _castlings(board: bytes, king: int, turn: int, rights: int) -> list[int]:
    """Return the cells of the rooks with which a king may castle, from file h to file a."""
    other = 3 - turn
    if is_attacked(board, king, other):
        return []
    files, home = (rights & 255, 0) if turn == 1 else (rights >> 8, 7)
    return [
        (file << 3) + home
        for file in range(7, -1, -1)
        if files >> file & 1 and _is_open(board, king, (file << 3) + home, other)
    ]


def castled(king: int, rook: int) -> tuple[int, int]:
    """Return the cells on which a king and its rook stand after they have castled: files g and f, or c and d."""
    rank = king & 7
    return (G1 + rank, F1 + rank) if rook > king else (C1 + rank, D1 + rank)


def _is_open(board: bytes, king: int, rook: int, other: int) -> bool:
    """Return whether nothing stands on the way of a castling, and the king passes no cell that is attacked."""
    goal, beside = castled(king, rook)
    for cell in range(min(king, rook, goal, beside), max(king, rook, goal, beside) + 1, 8):
        if board[cell] != EMPTY and cell not in (king, rook):
            return False
    way = range(king, goal + 8, 8) if goal > king else range(goal, king, 8)
    return not any(is_attacked(board, cell, other) for cell in way)


def moved(board: bytes, cell: int, target: int, promoted: int, passed: int) -> bytes:
    """Return the board after a move. `promoted` is the byte of the piece that a pawn becomes, or 0."""
    sign = board[cell]
    after = bytearray(board)
    after[cell] = EMPTY
    after[target] = promoted or sign
    if sign & 95 == 80:
        if target == passed:
            after[(target & 56) + (cell & 7)] = EMPTY
    elif sign & 95 == 75 and SEAT[board[target]] == SEAT[sign]:
        goal, beside = castled(cell, target)
        after[target] = EMPTY
        after[goal], after[beside] = sign, board[target]
    return bytes(after)


def is_safe(board: bytes, cell: int, target: int, turn: int, passed: int) -> bool:
    """Return whether a move that `targets` lists leaves the mover's king unattacked."""
    return not in_check(moved(board, cell, target, 0, passed), turn)


def has_move(board: bytes, turn: int, rights: int, passed: int) -> bool:
    """Return whether a seat has a legal move."""
    for cell in range(64):
        if SEAT[board[cell]] == turn:
            for target in targets(board, cell, turn, rights, passed):
                if is_safe(board, cell, target, turn, passed):
                    return True
    return False


def can_be_taken(board: bytes, passed: int, turn: int) -> bool:
    """Return whether a pawn of the seat to move may legally capture on the cell that another has passed."""
    pawn = 80 if turn == 1 else 112
    for cell in PAWN_TAKES[2 - turn][passed]:
        if board[cell] == pawn and is_safe(board, cell, passed, turn, passed):
            return True
    return False


def is_dead(board: bytes) -> bool:
    """Return whether neither side has the material for any mate.

    So it is with a bare king against a bare king or one with a single bishop or knight, and with any number of bishops
    that all stand on cells of one colour (FIDE Laws of Chess 2023, 5.2.2, as far as the material shows it).
    """
    others = board.translate(None, b".Kk")
    if len(others) < 2:
        return others in (b"", b"N", b"n", b"B", b"b")
    if others.translate(None, b"Bb"):
        return False
    shades = [(cell + (cell >> 3)) & 1 for cell in range(64) if board[cell] & 95 == 66]
    return min(shades) == max(shades)
