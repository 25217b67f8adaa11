"""Hop It! a second time, written from the rule sheet with sets and dictionaries: slow, simple, shares no code.

Every hop is carried out on a copy of the board before the next one is looked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

ROW_LENGTHS = {"a": 6, "b": 7, "c": 6, "d": 7, "e": 6, "f": 7, "g": 6}
DIRECTIONS = [(2, 0), (1, 1), (-1, 1), (-2, 0), (-1, -1), (1, -1)]
PLACE = {
    f"{row}{k}": (2 * (k - 1) + (1 if length == 6 else 0), "abcdefg".index(row))
    for row, length in ROW_LENGTHS.items()
    for k in range(1, length + 1)
}
NAME = {place: name for name, place in PLACE.items()}
LILIES = {f"{row}1" for row in ROW_LENGTHS} | {f"{row}{length}" for row, length in ROW_LENGTHS.items()}
ORDER = [[f"{row}{k}" for k in range(1, ROW_LENGTHS[row] + 1)] for row in "gfedcba"]
Board = dict[str, str]
Results = Iterator[tuple[str, Board, bool]]
OWNED = {1: "TF", 2: "tf"}


def step(cell: str, direction: tuple[int, int]) -> str | None:
    (x, y), (dx, dy) = PLACE[cell], direction
    return NAME.get((x + dx, y + dy))


def count(board: Board, seat: int) -> int:
    return sum(piece in OWNED[seat] for piece in board.values())


@dataclass
class Reference:
    board: Board
    turn: int = 1
    quiet: int = 0
    duty: str = "player"
    seen: list[tuple[frozenset[tuple[str, str]], int]] = field(default_factory=list)
    outcome: str | None = None

    def swims(self, seat: int) -> Results:
        for cell, piece in self.board.items():
            for direction in DIRECTIONS:
                target = step(cell, direction)
                if piece in OWNED[seat] and target and target not in LILIES and target not in self.board:
                    after = {**self.board, target: piece}
                    del after[cell]
                    yield f"{cell}-{target}", after, False

    def hops(self, seat: int) -> Results:
        """Yield every path of hops, with the board after it and whether it hops over an enemy."""
        for cell, piece in self.board.items():
            if piece == OWNED[seat][1]:
                board = dict(self.board)
                del board[cell]
                yield from self._longer(seat, cell, cell, board, frozenset(), False)

    def _longer(self, seat: int, path: str, cell: str, board: Board, hopped: frozenset[str], capture: bool) -> Results:
        """Yield longer paths; `board` is without the hopping frog, and `hopped` has the cells of the pieces hopped over
        so far."""
        frog = OWNED[seat][1]
        for direction in DIRECTIONS:
            over = step(cell, direction)
            target = step(over, direction) if over else None
            if not target or over not in board or over in hopped or target in board:
                continue
            after, piece = dict(board), board[over]
            enemy = piece in OWNED[3 - seat]
            if piece in "Tt":
                after[over] = {"T": "F", "t": "f"}[piece]
            elif enemy:
                del after[over]
            yield f"{path}x{target}", {**after, target: frog}, capture or enemy
            if count(after, 3 - seat) > 1:
                yield from self._longer(seat, f"{path}x{target}", target, after, hopped | {over}, capture or enemy)

    def results(self) -> dict[str, Board]:
        """Return the legal moves other than a pass, each with the board after it, before the lily rule."""
        every = [*self.swims(self.turn), *self.hops(self.turn)]
        if self.duty == "player" and any(capture for _, _, capture in every):
            every = [item for item in every if item[2]]
        if self.duty == "frog":
            bound = {move[:2] for move, _, capture in every if capture}
            every = [item for item in every if item[2] or item[0][:2] not in bound]
        return {move: board for move, board, _ in every}

    def moves(self) -> set[str]:
        return set() if self.outcome else set(self.results()) or {"pass"}

    def play(self, move: str) -> Reference:
        results = self.results() or {"pass": dict(self.board)}
        board, mover = results[move], self.turn
        if count(board, 3 - mover) > 1:
            for cell in LILIES:
                if self.board.get(cell) == OWNED[mover][1] and cell != move[:2]:
                    del board[cell]
        progress = sorted(board.values()) != sorted(self.board.values())
        after = Reference(board, 3 - mover, 0 if progress else self.quiet + 1, self.duty, self.seen)
        after.judge()
        return after

    def judge(self) -> None:
        mover = 3 - self.turn
        self.seen = [*self.seen, (frozenset(self.board.items()), self.turn)]
        if count(self.board, self.turn) <= 1:
            self.outcome = f"{mover} extinction"
        elif count(self.board, mover) <= 1:
            self.outcome = f"{self.turn} extinction"
        elif not any(True for seat in (1, 2) for found in (self.swims(seat), self.hops(seat)) for _ in found):
            self.outcome = "draw blocked"
        elif self.seen.count(self.seen[-1]) >= 3:
            self.outcome = "draw repetition"
        elif self.quiet >= 100:
            self.outcome = "draw no_progress"

    def text(self) -> str:
        rows = "/".join("".join(self.board.get(cell, "_" if cell in LILIES else ".") for cell in row) for row in ORDER)
        return f"{rows} {self.turn} {self.quiet}"


def from_text(text: str, duty: str = "player") -> Reference:
    rows, turn, quiet = text.split(" ")
    board = {
        cell: sign
        for row, signs in zip(ORDER, rows.split("/"), strict=True)
        for cell, sign in zip(row, signs, strict=True)
        if sign not in "._"
    }
    found = Reference(board, int(turn), int(quiet), duty)
    found.judge()
    return found
