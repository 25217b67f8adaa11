"""Connect Four a second time, from the rule sheet, with lists of columns: slow, simple, shares no code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reference:
    columns: tuple[tuple[int, ...], ...] = ((),) * 7
    turn: int = 1

    def at(self, x: int, y: int) -> int:
        return self.columns[x][y] if 0 <= x < 7 and 0 <= y < len(self.columns[x]) else 0

    def wins(self, seat: int) -> bool:
        return any(
            all(self.at(x + n * dx, y + n * dy) == seat for n in range(4))
            for x in range(7)
            for y in range(6)
            for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1))
        )

    def moves(self) -> set[str]:
        if self.outcome() != "none":
            return set()
        return {name for name, column in zip("abcdefg", self.columns, strict=True) if len(column) < 6}

    def play(self, move: str) -> Reference:
        columns = list(self.columns)
        columns["abcdefg".index(move)] += (self.turn,)
        return Reference(tuple(columns), 3 - self.turn)

    def text(self) -> str:
        rows = ["".join(".Dd"[self.at(x, y)] for x in range(7)) for y in range(5, -1, -1)]
        return f"{'/'.join(rows)} {self.turn}"

    def outcome(self) -> str:
        if self.wins(3 - self.turn):
            return f"{3 - self.turn} four_in_a_row"
        return "draw board_full" if sum(map(len, self.columns)) == 42 else "none"


def start() -> Reference:
    return Reference()
