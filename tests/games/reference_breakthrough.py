"""Breakthrough a second time, from the rule sheet, with a dictionary of pieces: slow, simple, shares no code."""

from __future__ import annotations

from dataclasses import dataclass

FILES = "abcdefgh"


@dataclass(frozen=True)
class Reference:
    pieces: dict[tuple[int, int], int]
    turn: int

    def moves(self) -> set[str]:
        if self.outcome() != "none":
            return set()
        found = set()
        for (x, y), seat in self.pieces.items():
            if seat != self.turn:
                continue
            ahead = y + (1 if seat == 1 else -1)
            for to in (x - 1, x, x + 1):
                there = self.pieces.get((to, ahead))
                if 0 <= to < 8 and there != seat and not (to == x and there):
                    found.add(f"{FILES[x]}{y + 1}-{FILES[to]}{ahead + 1}")
        return found

    def play(self, move: str) -> Reference:
        start, end = ((FILES.index(name[0]), int(name[1]) - 1) for name in move.split("-"))
        pieces = {at: seat for at, seat in self.pieces.items() if at != start}
        return Reference({**pieces, end: self.turn}, 3 - self.turn)

    def text(self) -> str:
        rows = ["".join(".Pp"[self.pieces.get((x, y), 0)] for x in range(8)) for y in range(7, -1, -1)]
        return f"{'/'.join(rows)} {self.turn}"

    def outcome(self) -> str:
        mover = 3 - self.turn
        last = 7 if mover == 1 else 0
        if any(y == last for (_, y), seat in self.pieces.items() if seat == mover):
            return f"{mover} far_rank"
        return "none" if self.turn in self.pieces.values() else f"{mover} no_pieces"


def start() -> Reference:
    ranks = {0: 1, 1: 1, 6: 2, 7: 2}
    return Reference({(x, y): seat for x in range(8) for y, seat in ranks.items()}, 1)
