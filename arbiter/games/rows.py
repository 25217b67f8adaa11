"""The text of a board whose cells hold one sign each, and the other fields of such positions: written and read."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from arbiter.boards.board import Board
from arbiter.errors import Refusal
from arbiter.games.contract import Seat

Refuse = Callable[[str, str, str], Refusal]
"""Makes the refusal of a malformed text from what is wrong, where, and what may stand there."""

EMPTY: Final = 46  #: the byte of an empty cell: `.`

_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)


class Rows:
    """The cells of a board as bytes, one for each cell in the order of its names, and their text in rows.

    `signs` are the characters that a cell may hold.
    """

    def __init__(self, board: Board, signs: str) -> None:
        self._order = [cell for line in board.lines for cell in line]
        self._lines = board.lines
        self._names = [board.names[line[0]] for line in board.lines]
        self._signs = signs
        ends = [0]
        for line in board.lines:
            ends.append(ends[-1] + len(line))
        self._spans = list(pairwise(ends))

    def write(self, cells: bytes) -> str:
        """Return the text: the rows in the order of the board, with `/` between them."""
        text = bytes([cells[cell] for cell in self._order]).decode()
        return "/".join([text[start:end] for start, end in self._spans])

    def read(self, field: str, refuse: Refuse) -> bytes:
        """Return the cells of a text. Raises the refusal that `refuse` makes."""
        rows = field.split("/")
        if len(rows) != len(self._lines):
            raise refuse(field, "the board", f"{len(self._lines)} rows with / between them")
        cells = bytearray(len(self._order))
        for row, line, name in zip(rows, self._lines, self._names, strict=True):
            if len(row) != len(line):
                raise refuse(row, f"the row that begins with {name}", f"{len(line)} cells")
            for sign, cell in zip(row, line, strict=True):
                if sign not in self._signs:
                    raise refuse(sign, f"the row that begins with {name}", f"one of {' '.join(self._signs)}")
                cells[cell] = ord(sign)
        return bytes(cells)


def read_fields(text: str, longest: int, names: str, refuse: Refuse) -> list[str]:
    """Return the fields of a position, as many as `names` has words with commas between them."""
    if len(text) > longest:
        raise refuse(f"{len(text)} characters", "the text", f"at most {longest}")
    fields = text.split(" ")
    if len(fields) != names.count(",") + 1:
        raise refuse(text, "the fields", f"{names}, one space between")
    return fields


def read_seat(word: str, refuse: Refuse) -> Seat:
    """Return the seat to move."""
    if word == "1":
        return 1
    if word == "2":
        return 2
    raise refuse(word, "the seat to move", "1 or 2")


def read_number(word: str, where: str, most: int, refuse: Refuse) -> int:
    """Return a number from 0 to `most`, written without leading zeros."""
    if not _NUMBER.fullmatch(word) or int(word) > most:
        raise refuse(word, where, f"a number from 0 to {most} without leading zeros")
    return int(word)


def other(seat: Seat) -> Seat:
    """Return the other seat."""
    return 2 if seat == 1 else 1
