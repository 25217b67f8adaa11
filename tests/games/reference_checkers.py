"""Checkers a second time, from the rule sheet, with a dictionary of pieces: slow, simple, shares no code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

FILES = "abcdefgh"
Pieces = dict[tuple[int, int], str]


def name(at: tuple[int, int]) -> str:
    return f"{FILES[at[0]]}{at[1] + 1}"


def place(text: str) -> tuple[int, int]:
    return FILES.index(text[0]), int(text[1]) - 1


def is_inside(x: int, y: int) -> bool:
    return 0 <= x < 8 and 0 <= y < 8


@dataclass(frozen=True)
class Reference:
    pieces: Pieces
    turn: int
    quiet: int = 0
    earlier: tuple[str, ...] = field(default=())

    def owns(self, piece: str) -> bool:
        return piece.isupper() == (self.turn == 1)

    def ways(self, piece: str) -> list[tuple[int, int]]:
        ranks = {"M": (-1,), "m": (1,), "K": (1, -1), "k": (1, -1)}[piece]  # seat 1 begins at the top
        return [(dx, dy) for dx in (1, -1) for dy in ranks]

    def captures(self, pieces: Pieces, at: tuple[int, int], piece: str) -> Iterator[tuple[str, ...]]:
        """Yield the rest of each whole capture of a piece that is lifted and has come to a cell."""
        for dx, dy in self.ways(piece):
            over, end = (at[0] + dx, at[1] + dy), (at[0] + 2 * dx, at[1] + 2 * dy)
            if over in pieces and not self.owns(pieces[over]) and is_inside(*end) and end not in pieces:
                left = {cell: other for cell, other in pieces.items() if cell != over}
                crowned = piece in "Mm" and end[1] == (0 if piece == "M" else 7)
                rest = [] if crowned else list(self.captures(left, end, piece))
                yield from ((name(end), *more) for more in rest or [()])

    def legal(self) -> set[str]:
        """Return the moves, whether or not the game is over for another cause."""
        captures, others = set(), set()
        for at, piece in self.pieces.items():
            if self.owns(piece):
                lifted = {cell: other for cell, other in self.pieces.items() if cell != at}
                captures |= {"x".join((name(at), *rest)) for rest in self.captures(lifted, at, piece)}
                for dx, dy in self.ways(piece):
                    end = (at[0] + dx, at[1] + dy)
                    if is_inside(*end) and end not in self.pieces:
                        others.add(f"{name(at)}-{name(end)}")
        return captures or others

    def moves(self) -> set[str]:
        return self.legal() if self.outcome() == "none" else set()

    def play(self, move: str) -> Reference:
        path = [place(cell) for cell in move.replace("x", "-").split("-")]
        pieces = dict(self.pieces)
        piece = pieces.pop(path[0])
        if "x" in move:
            for (ax, ay), (bx, by) in pairwise(path):
                del pieces[(ax + bx) // 2, (ay + by) // 2]
        crowned = {"M": 0, "m": 7}.get(piece) == path[-1][1]
        pieces[path[-1]] = {"M": "K", "m": "k"}[piece] if crowned else piece
        quiet = 0 if "x" in move or piece in "Mm" else self.quiet + 1
        return Reference(pieces, 3 - self.turn, quiet, (*self.earlier, self.key()) if quiet else ())

    def key(self) -> str:
        rows = ["".join(self.pieces.get((x, y), ".") for x in range(8) if (x + y) % 2 == 0) for y in range(7, -1, -1)]
        return f"{'/'.join(rows)} {self.turn}"

    def text(self) -> str:
        return f"{self.key()} {self.quiet}"

    def outcome(self) -> str:
        if not self.legal():
            return f"{3 - self.turn} no_moves"
        if self.earlier.count(self.key()) >= 2:
            return "draw repetition"
        return "draw forty_moves" if self.quiet >= 80 else "none"


def start() -> Reference:
    dark = [(x, y) for x in range(8) for y in range(8) if (x + y) % 2 == 0]
    return Reference({at: "M" if at[1] > 4 else "m" for at in dark if at[1] not in (3, 4)}, 1)


def from_text(text: str) -> Reference:
    rows, turn, quiet = text.split(" ")
    pieces: Pieces = {}
    for y, row in zip(range(7, -1, -1), rows.split("/"), strict=True):
        dark = [x for x in range(8) if (x + y) % 2 == 0]
        pieces |= {(x, y): sign for x, sign in zip(dark, row, strict=True) if sign != "."}
    return Reference(pieces, int(turn), int(quiet))
