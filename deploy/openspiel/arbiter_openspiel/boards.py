"""Boards and pieces, read from OpenSpiel's text of a state; what a move has changed on them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Final, TypeAlias

from arbiter.boards.board import Board
from arbiter.boards.squares import squares
from arbiter.games.contract import Piece, Seat, Step, Value
from arbiter_openspiel.table import PROMOTED, Grid

Read: TypeAlias = Callable[[str], list[Piece]]
"""Reads the pieces of a state's text, in the order of the board's cells."""

NOTHING: Final = Piece(0, "")
_HAND: Final = re.compile(r"\[([a-zA-Z]*)\]")


def board_of(grid: Grid, values: Mapping[str, Value]) -> Board:
    """Return the board of a grid, for the values of the game's parameters."""
    return squares(_number(grid.width, values), _number(grid.height, values))


def reader(grid: Grid, board: Board) -> Read:
    """Return the function that reads the pieces of the states of a game."""
    width, height = len(board.lines[0]), len(board.lines)
    line = re.compile(grid.line.replace("{W}", f"{{{width}}}")) if grid.line else None
    piece = cache(partial(_piece, grid))

    def read(text: str) -> list[Piece]:
        ranks = list(_of_fen(text)) if line is None else list(_of_lines(line, text, width))
        pieces = [NOTHING] * board.size
        for at, (label, signs) in enumerate(ranks):
            rank = int(label) - 1 if label else height - 1 - at
            for file, sign in enumerate(signs):
                pieces[file * height + rank] = piece(sign)
        return pieces

    return read


def in_hand(text: str) -> dict[str, int]:
    """Return how many pieces of each kind are in the hands of the players of shogi or crazyhouse, by their letters."""
    found = _HAND.search(text.partition(" ")[0])
    if found:
        return dict(sorted(Counter(f"hand {letter}" for letter in found[1]).items()))
    fields = text.split(" ")
    hand = fields[2] if len(fields) == 4 and "/" in fields[0] else ""  # SFEN: board, seat, hands, move
    return {f"hand {letter}": int(count or 1) for count, letter in re.findall(r"(\d*)([a-zA-Z])", hand)}


def steps_between(names: Sequence[str], before: Sequence[Piece], after: Sequence[Piece], seat: Seat) -> list[Step]:
    """Return the visible parts of a move of a seat: what has left a cell, and what has come to one.

    A piece that a move turns over or takes is no part of it.
    """
    gone = [cell for cell, piece in enumerate(before) if piece.owner == seat and after[cell].owner != seat]
    came = [cell for cell, piece in enumerate(after) if piece.owner == seat and before[cell].owner != seat]
    if len(gone) == len(came) and 1 <= len(gone) <= 2:
        return list(_moved(names, before, after, gone, came))
    fresh = [cell for cell in came if not before[cell].owner]
    marked = [cell for cell, piece in enumerate(after) if piece.mark and not before[cell].mark]
    placed = [Step("place", "", names[cell], after[cell].letter) for cell in (*(fresh or came), *marked)]
    return placed or [Step("pass", "", "")]


def _moved(
    names: Sequence[str], before: Sequence[Piece], after: Sequence[Piece], gone: list[int], came: list[int]
) -> Iterator[Step]:
    if len(gone) == 2 and before[gone[0]].letter.upper() != "K":
        gone.reverse()  # of two pieces the king has moved, and the rook castles
    for number, source in enumerate(gone):
        letter = before[source].letter
        target = next((cell for cell in came if after[cell].letter == letter), came[0])
        came.remove(target)
        yield Step("castle" if number else "move", names[source], names[target], letter if number else "")
        if after[target].letter != letter:
            yield Step("become", "", names[target], after[target].letter)


def _number(of: int | str, values: Mapping[str, Value]) -> int:
    return of if isinstance(of, int) else int(values[of])


def _piece(grid: Grid, sign: str) -> Piece:
    owner, letter = grid.signs.get(sign, (0, ""))
    return Piece(owner, letter, mark="arrow" if sign == "#" else "") if letter or sign == "#" else NOTHING


def _of_lines(line: re.Pattern[str], text: str, width: int) -> Iterator[tuple[str, str]]:
    for found in filter(None, map(line.fullmatch, (row.rstrip() for row in text.splitlines()))):
        cells = found["cells"].replace(" ", "")
        if len(cells) == width:
            yield found.groupdict().get("row") or "", cells


def _of_fen(text: str) -> Iterator[tuple[str, list[str]]]:
    for row in _HAND.sub("", text).partition(" ")[0].split("/"):
        signs = list[str]()
        for promoted, count, letter in re.findall(r"(\+?)(?:(\d)|([a-zA-Z]))~?", row):
            upper = PROMOTED[letter.upper()] if promoted else letter.upper()
            signs += ["."] * int(count) if count else [upper if letter.isupper() else upper.lower()]
        yield "", signs
