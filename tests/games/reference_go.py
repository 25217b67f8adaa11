"""Go a second time, from the rule sheet, with a dictionary of stones: slow, simple, shares no code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

LETTERS = "abcdefghjklmnopqrst"
Point = tuple[int, int]
Stones = dict[Point, int]


@dataclass(frozen=True)
class Reference:
    size: int
    komi: Fraction
    stones: Stones
    turn: int = 1
    passes: int = 0
    plies: int = 0
    earlier: tuple[Stones, ...] = ()
    agreed: bool = False  # scoring=agreed
    agreement: int = 0  # as in the text of a position
    dead: frozenset[Point] = frozenset()
    marks: int = 0

    def beside(self, point: Point) -> list[Point]:
        x, y = point
        near = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
        return [(a, b) for a, b in near if 0 <= a < self.size and 0 <= b < self.size]

    def reached(self, stones: Stones, start: Point) -> tuple[set[Point], set[int]]:
        """Return the points of one content that are joined to a point, and what stands at their edge."""
        content = stones.get(start, 0)
        found, edge, left = {start}, set(), [start]
        while left:
            for point in self.beside(left.pop()):
                if stones.get(point, 0) != content:
                    edge.add(stones.get(point, 0))
                elif point not in found:
                    found.add(point)
                    left.append(point)
        return found, edge

    def cleared(self, stones: Stones, seat: int) -> Stones:
        """Return the stones without those of a seat that have no liberty."""
        dead = {point for point, owner in stones.items() if owner == seat and 0 not in self.reached(stones, point)[1]}
        return {point: owner for point, owner in stones.items() if point not in dead}

    def placed(self, point: Point) -> Stones:
        return self.cleared(self.cleared({**self.stones, point: self.turn}, 3 - self.turn), self.turn)

    def moves(self) -> set[str]:
        if self.outcome() != "none":
            return set()
        free = [(x, y) for x in range(self.size) for y in range(self.size) if (x, y) not in self.stones]
        if self.agreeing():
            points = {min(self.reached(self.stones, point)[0]) for point in self.stones}
            marks = {f"{'alive' if (x, y) in self.dead else 'dead'}-{LETTERS[x]}{y + 1}" for x, y in points}
            return {"agree", "dispute", *(marks if self.marks < self.size**2 else ())}
        stood = (*self.earlier, self.stones)
        return {"pass", *(f"{LETTERS[x]}{y + 1}" for x, y in free if self.placed((x, y)) not in stood)}

    def agreeing(self) -> bool:
        return self.agreement in (1, 2) and self.passes < 4

    def answered(self, move: str) -> Reference:
        if move == "dispute":
            return replace(self, turn=self.agreement, agreement=3, passes=0, dead=frozenset(), marks=0)
        if move == "agree":
            left = {point: owner for point, owner in self.stones.items() if point not in self.dead}
            after = replace(self, turn=3 - self.turn, passes=self.passes + 1)
            return replace(after, stones=left, dead=frozenset()) if after.passes == 4 else after
        name = move.partition("-")[2]
        chain, _ = self.reached(self.stones, (LETTERS.index(name[0]), int(name[1:]) - 1))
        return replace(self, passes=2, dead=self.dead ^ chain, marks=self.marks + 1)

    def play(self, move: str) -> Reference:
        if self.agreeing():
            return self.answered(move)
        stood = (*self.earlier, self.stones)
        if move == "pass":
            stones, passes = self.stones, self.passes + 1
        else:
            stones, passes = self.placed((LETTERS.index(move[0]), int(move[1:]) - 1)), 0
        begins = self.agreed and self.agreement == 0 and passes == 2
        return replace(
            self,
            stones=stones,
            turn=3 - self.turn,
            passes=passes,
            plies=self.plies + 1,
            earlier=stood,
            agreement=3 - self.turn if begins else self.agreement,
        )

    def text(self) -> str:
        rows = [
            "".join((".Xx" if (x, y) in self.dead else ".Ss")[self.stones.get((x, y), 0)] for x in range(self.size))
            for y in range(self.size - 1, -1, -1)
        ]
        text = f"{'/'.join(rows)} {self.turn} {self.passes} {self.plies}"
        return f"{text} {self.agreement} {self.marks}" if self.agreed else text

    def area(self, seat: int) -> int:
        own = list(self.stones.values()).count(seat)
        free = [(x, y) for x in range(self.size) for y in range(self.size) if (x, y) not in self.stones]
        return own + sum(self.reached(self.stones, point)[1] == {seat} for point in free)

    def outcome(self) -> str:
        if self.agreeing() or (self.passes < 2 and self.plies < 4 * self.size * self.size):
            return "none"
        reason = "area" if self.passes >= 2 else "length"
        lead = self.area(1) - self.area(2) - self.komi
        return f"draw equal_{reason}" if not lead else f"{1 if lead > 0 else 2} {reason}"
