"""Circle of Life a second time, from the rule sheet with sets and dictionaries: slow, simple, shares no code."""

from __future__ import annotations

from dataclasses import dataclass, field

ROW_LENGTHS = {"a": 5, "b": 6, "c": 7, "d": 8, "e": 9, "f": 8, "g": 7, "h": 6, "i": 5}

SHAPES = [
    "(0,0)",
    "(0,0)(0,1)",
    "(0,0)(0,1)(1,1)",
    "(0,0)(0,1)(0,2)",
    "(0,0)(0,1)(1,0)",
    "(0,0)(0,1)(0,2)(1,0)",
    "(0,0)(0,1)(0,2)(1,2)",
    "(0,0)(0,1)(1,1)(2,0)",
    "(0,0)(0,1)(1,1)(1,2)",
    "(0,0)(0,1)(1,0)(1,1)",
    "(0,1)(1,1)(1,2)(2,0)",
    "(0,0)(0,1)(0,2)(0,3)",
]


def _axial(name: str) -> tuple[int, int]:
    """Return (q, r) of a cell: r is the row, q counts along the row."""
    row = "abcdefghi".index(name[0])
    x = 2 * (int(name[1:]) - 1) + abs(4 - row)
    return (x - row) // 2, row


PLACE = {f"{row}{k}": _axial(f"{row}{k}") for row, length in ROW_LENGTHS.items() for k in range(1, length + 1)}
NAME = {place: name for name, place in PLACE.items()}
ORDER = [[f"{row}{k}" for k in range(1, ROW_LENGTHS[row] + 1)] for row in "ihgfedcba"]


def neighbours(name: str) -> set[str]:
    q, r = PLACE[name]
    around = [(q + 1, r), (q - 1, r), (q, r + 1), (q, r - 1), (q + 1, r - 1), (q - 1, r + 1)]
    return {NAME[place] for place in around if place in NAME}


def canonical(places: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the least of the twelve rotated and reflected forms of a shape, moved to the origin."""
    forms = []
    for mirrored in (False, True):
        shape = [(r, q) if mirrored else (q, r) for q, r in places]
        for _ in range(6):
            shape = [(-r, q + r) for q, r in shape]
            low_q, low_r = min(q for q, _ in shape), min(r for _, r in shape)
            forms.append(tuple(sorted((q - low_q, r - low_r) for q, r in shape)))
    return min(forms)


def _read(shape: str) -> list[tuple[int, int]]:
    pairs = [pair.split(",") for pair in shape.strip("()").split(")(")]
    return [(int(q), int(r)) for q, r in pairs]


SPECIES = {canonical(_read(shape)): number for number, shape in enumerate(SHAPES)}


@dataclass
class Reference:
    target: int = 20
    stones: dict[str, int] = field(default_factory=dict)
    turn: int = 1
    eaten: dict[int, int] = field(default_factory=lambda: {1: 0, 2: 0})
    outcome: str | None = None

    def critter(self, cell: str) -> set[str]:
        found, edge = {cell}, [cell]
        while edge:
            for other in neighbours(edge.pop()):
                if self.stones.get(other) == self.stones[cell] and other not in found:
                    found.add(other)
                    edge.append(other)
        return found

    def species(self, critter: set[str]) -> int | None:
        return SPECIES.get(canonical([PLACE[cell] for cell in critter])) if len(critter) <= 4 else None

    def placeable(self, seat: int) -> set[str]:
        found = set()
        for cell in PLACE:
            if cell not in self.stones:
                self.stones[cell] = seat
                if len(self.critter(cell)) <= 4:
                    found.add(cell)
                del self.stones[cell]
        return found

    def moves(self) -> set[str]:
        return set() if self.outcome else self.placeable(self.turn)

    def play(self, cell: str) -> Reference:
        assert cell in self.moves()
        mover = self.turn
        after = Reference(self.target, {**self.stones, cell: mover}, 3 - mover, dict(self.eaten))
        critter = after.critter(cell)
        species = after.species(critter)
        assert species is not None
        prey = (species - 1) % 12
        eaten = set()
        for other in set().union(*(neighbours(own) for own in critter)):
            if after.stones.get(other) == 3 - mover and after.species(after.critter(other)) == prey:
                eaten |= after.critter(other)
        for gone in eaten:
            del after.stones[gone]
        after.eaten[mover] += len(eaten)
        after.judge()
        return after

    def judge(self) -> None:
        mover = 3 - self.turn
        if self.eaten[mover] >= self.target:
            self.outcome = f"{mover} target_eaten"
        elif not self.placeable(self.turn):
            self.outcome = f"{self.turn} cannot_evolve"

    def text(self) -> str:
        signs = {1: "S", 2: "s", None: "."}
        board = "/".join("".join(signs[self.stones.get(cell)] for cell in row) for row in ORDER)
        return f"{board} {self.turn} {self.eaten[1]} {self.eaten[2]}"


def from_text(text: str, target: int = 20) -> Reference:
    board, turn, first, second = text.split(" ")
    found = Reference(target, {}, int(turn), {1: int(first), 2: int(second)})
    for row, signs in zip(ORDER, board.split("/"), strict=True):
        for cell, sign in zip(row, signs, strict=True):
            if sign != ".":
                found.stones[cell] = {"S": 1, "s": 2}[sign]
    found.judge()
    return found
