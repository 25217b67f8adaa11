"""Othello a second time, from the rule sheet, with a dictionary of discs: slow, simple, shares no code."""

from __future__ import annotations

from dataclasses import dataclass

FILES = "abcdefgh"


@dataclass(frozen=True)
class Reference:
    discs: dict[tuple[int, int], int]
    turn: int

    def turned(self, x: int, y: int, seat: int) -> set[tuple[int, int]]:
        found: set[tuple[int, int]] = set()
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                line = []
                at = (x + dx, y + dy)
                while (dx or dy) and self.discs.get(at) == 3 - seat:
                    line.append(at)
                    at = (at[0] + dx, at[1] + dy)
                if self.discs.get(at) == seat:
                    found.update(line)
        return found

    def places(self, seat: int) -> set[str]:
        free = [(x, y) for x in range(8) for y in range(8) if (x, y) not in self.discs]
        return {f"{FILES[x]}{y + 1}" for x, y in free if self.turned(x, y, seat)}

    def moves(self) -> set[str]:
        if self.places(self.turn):
            return self.places(self.turn)
        return {"pass"} if self.places(3 - self.turn) else set()

    def play(self, move: str) -> Reference:
        if move == "pass":
            return Reference(self.discs, 3 - self.turn)
        x, y = FILES.index(move[0]), int(move[1]) - 1
        changed = {(x, y), *self.turned(x, y, self.turn)}
        return Reference({**self.discs, **dict.fromkeys(changed, self.turn)}, 3 - self.turn)

    def text(self) -> str:
        rows = ["".join(".Dd"[self.discs.get((x, y), 0)] for x in range(8)) for y in range(7, -1, -1)]
        return f"{'/'.join(rows)} {self.turn}"

    def outcome(self) -> str:
        if self.moves():
            return "none"
        first, second = (list(self.discs.values()).count(seat) for seat in (1, 2))
        return "draw equal_discs" if first == second else f"{1 if first > second else 2} most_discs"


def start() -> Reference:
    return Reference({(3, 3): 2, (4, 4): 2, (3, 4): 1, (4, 3): 1}, 1)
