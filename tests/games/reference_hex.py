"""Hex a second time, from the rule sheet, with a dictionary of stones: slow, simple, shares no code."""

from __future__ import annotations

from dataclasses import dataclass

LETTERS = "abcdefghijklmnopqrs"


@dataclass(frozen=True)
class Reference:
    size: int
    swap: bool
    stones: dict[tuple[int, int], int]  # by column and row, from the upper left
    turn: int

    def joined(self, seat: int) -> bool:
        axis = 1 if seat == 1 else 0  # Red joins the first and the last row
        mine = {at for at, owner in self.stones.items() if owner == seat}
        reached = {at for at in mine if at[axis] == 0}
        while True:
            more = {
                (x + dx, y + dy) for x, y in reached for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1))
            }
            wider = reached | (more & mine)
            if wider == reached:
                return any(at[axis] == self.size - 1 for at in reached)
            reached = wider

    def moves(self) -> set[str]:
        if self.outcome() != "none":
            return set()
        every = {(x, y) for x in range(self.size) for y in range(self.size)}
        found = {f"{LETTERS[x]}{y + 1}" for x, y in every - set(self.stones)}
        only = list(self.stones.values()) == [1] and self.turn == 2
        return found | {"swap"} if self.swap and only else found

    def play(self, move: str) -> Reference:
        if move == "swap":
            ((x, y),) = self.stones
            return Reference(self.size, self.swap, {(y, x): 2}, 1)
        at = LETTERS.index(move[0]), int(move[1:]) - 1
        return Reference(self.size, self.swap, {**self.stones, at: self.turn}, 3 - self.turn)

    def text(self) -> str:
        rows = ["".join(".Ss"[self.stones.get((x, y), 0)] for x in range(self.size)) for y in range(self.size)]
        return f"{'/'.join(rows)} {self.turn}"

    def outcome(self) -> str:
        return next((f"{seat} connected" for seat in (1, 2) if self.joined(seat)), "none")
