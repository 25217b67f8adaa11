"""Pods a second time, slow and simple: sets of coordinates, written from the rules text without shared code.

A cell is (X, row) as in the chapter on cells; a position is (dict from cell to seat, seat to move, plies).
"""

from __future__ import annotations

from collections import Counter

DIRECTIONS = ((2, 0), (1, 1), (-1, 1), (-2, 0), (-1, -1), (1, -1))

Cell = tuple[int, int]
Pods = dict[Cell, int]


class Reference:
    def __init__(self, size: int, text: str | None = None) -> None:
        self.size = size
        self.rows = [
            [(2 * k + abs(size - 1 - row), row) for k in range(2 * size - 1 - abs(size - 1 - row))]
            for row in range(2 * size - 1)
        ]
        self.cells = {cell for row in self.rows for cell in row}
        self.name = {
            cell: f"{'abcdefghijklmnopqrs'[cell[1]]}{k + 1}" for row in self.rows for k, cell in enumerate(row)
        }
        self.centre = self.rows[size - 1][size - 1]
        self.near = {(x, row): {(x + dx, row + dr) for dx, dr in DIRECTIONS} & self.cells for x, row in self.cells}
        self.pods: Pods = {}
        self.turn = 1
        self.plies = 0
        if text is not None:
            board, turn, plies = text.split(" ")
            for row, letters in zip(reversed(self.rows), board.split("/"), strict=True):
                for cell, letter in zip(row, letters, strict=True):
                    if letter != ".":
                        self.pods[cell] = 1 if letter == "P" else 2
            self.turn, self.plies = int(turn), int(plies)
        self.seen: Counter[tuple[frozenset[tuple[Cell, int]], int]] = Counter()
        self.note()

    def note(self) -> None:
        self.seen[frozenset(self.pods.items()), self.turn] += 1

    def text(self) -> str:
        rows = ["".join(".Pp"[self.pods.get(cell, 0)] for cell in row) for row in reversed(self.rows)]
        return f"{'/'.join(rows)} {self.turn} {self.plies}"

    def balance(self, pods: Pods, cell: Cell, seat: int) -> int:
        beside = [pods[other] for other in self.near[cell] if other in pods]
        return beside.count(seat) - beside.count(3 - seat)

    def ends(self, start: Cell) -> set[Cell]:
        """Return the cells where the pod on `start` can end its migration."""
        seat = self.pods[start]
        lifted = {cell: owner for cell, owner in self.pods.items() if cell != start}
        found, waiting = {start}, [start]
        while waiting:
            cell = waiting.pop()
            for target in self.near[cell] - set(lifted) - found:
                guided = any(pod in self.near[cell] and pod in self.near[target] for pod in lifted)
                if guided and self.balance(lifted, target, seat) >= -1:
                    found.add(target)
                    waiting.append(target)
        return found - {start}

    def rule_moves(self) -> set[str]:
        """Return the moves, whether or not the game is over."""
        empty = self.cells - set(self.pods)
        if len(self.pods) < 2:
            return {self.name[cell] for cell in empty - {self.centre}}
        placements = {self.name[cell] for cell in empty if self.balance(self.pods, cell, self.turn) > 0}
        migrations = {
            f"{self.name[start]}-{self.name[end]}"
            for start, owner in self.pods.items()
            if owner == self.turn
            for end in self.ends(start)
        }
        return placements | migrations

    def moves(self) -> set[str]:
        return self.rule_moves() if self.outcome() == "none" else set()

    def reach(self, seat: int) -> set[Cell]:
        reach = {cell for cell, owner in self.pods.items() if owner == seat}
        grew = True
        while grew:
            grew = False
            for cell in self.cells - set(self.pods) - reach:
                friends = len(self.near[cell] & reach)
                enemies = sum(1 for other in self.near[cell] if self.pods.get(other) == 3 - seat)
                led = any(
                    shared in reach or shared in self.pods
                    for friend in self.near[cell] & reach
                    for shared in self.near[cell] & self.near[friend]
                )
                if friends > enemies or (friends == enemies > 0 and led):
                    reach.add(cell)
                    grew = True
        return reach

    def territory(self, seat: int) -> set[Cell]:
        own = {cell for cell, owner in self.pods.items() if owner == seat}
        return own | ((self.reach(seat) - self.reach(3 - seat)) - set(self.pods))

    def outcome(self) -> str:
        if len(self.pods) < 2:
            return "none"
        for seat in (1, 2):
            if 2 * len(self.territory(seat)) > len(self.cells):
                return f"{seat} territory"
        if not self.rule_moves():
            return "draw blocked"
        if self.seen[frozenset(self.pods.items()), self.turn] >= 3:
            return "draw repetition"
        return "draw length" if self.plies >= 2000 else "none"

    def play(self, move: str) -> None:
        cell = {name: cell for cell, name in self.name.items()}
        start, dash, end = move.rpartition("-")
        if dash:
            del self.pods[cell[start]]
        self.pods[cell[end]] = self.turn
        self.turn = 3 - self.turn
        self.plies += 1
        self.note()
