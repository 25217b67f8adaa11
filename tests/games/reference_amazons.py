"""Amazons a second time, from the rule sheet, with a dictionary of cells: slow, simple, shares no code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

FILES = "abcdefghij"
Cells = dict[tuple[int, int], str]


def name(at: tuple[int, int]) -> str:
    return f"{FILES[at[0]]}{at[1] + 1}"


def place(text: str) -> tuple[int, int]:
    return FILES.index(text[0]), int(text[1:]) - 1


def reach(cells: Cells, start: tuple[int, int]) -> Iterator[tuple[int, int]]:
    for dx in (-1, 0, 1):
        for dy in (-1, 0, 1):
            at = (start[0] + dx, start[1] + dy)
            while (dx or dy) and 0 <= at[0] < 10 and 0 <= at[1] < 10 and at not in cells:
                yield at
                at = (at[0] + dx, at[1] + dy)


@dataclass(frozen=True)
class Reference:
    cells: Cells
    turn: int

    def moves(self) -> set[str]:
        found = set()
        for start, sign in self.cells.items():
            if sign == ("A" if self.turn == 1 else "a"):
                left = {at: other for at, other in self.cells.items() if at != start}
                for end in reach(left, start):
                    found |= {f"{name(start)}-{name(end)}/{name(arrow)}" for arrow in reach(left, end)}
        return found

    def play(self, move: str) -> Reference:
        start, _, rest = move.partition("-")
        end, _, arrow = rest.partition("/")
        cells = dict(self.cells)
        cells[place(end)] = cells.pop(place(start))
        cells[place(arrow)] = "x"
        return Reference(cells, 3 - self.turn)

    def text(self) -> str:
        rows = ["".join(self.cells.get((x, y), ".") for x in range(10)) for y in range(9, -1, -1)]
        return f"{'/'.join(rows)} {self.turn}"

    def outcome(self) -> str:
        return "none" if self.moves() else f"{3 - self.turn} no_moves"


def start() -> Reference:
    homes = {"A": ("a4", "d1", "g1", "j4"), "a": ("a7", "d10", "g10", "j7")}
    return Reference({place(cell): sign for sign, cells in homes.items() for cell in cells}, 1)
