"""Elevation a second time, slow and simple, written from the rules alone, to compare the engine with it.

Squares are pairs (file, rank); the board is a dict of heights and a dict of pieces; every candidate turn is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

Square = tuple[int, int]
Heights = dict[Square, int]
Men = dict[Square, str]
After = Iterator[tuple[str, Heights, Men, Square]]
Operation = Callable[[Heights, Men, Square], After]

SQUARES = [(file, rank) for file in range(6) for rank in range(6)]
DIAGONALS = [(1, 1), (1, -1), (-1, 1), (-1, -1)]


def name(square: Square) -> str:
    return "abcdef"[square[0]] + "123456"[square[1]]


def seat_of(letter: str) -> int:
    return 1 if letter.isupper() else 2


def adjacent(square: Square) -> list[Square]:
    return [
        (square[0] + df, square[1] + dr)
        for df, dr in product((-1, 0, 1), repeat=2)
        if (df, dr) != (0, 0) and (square[0] + df, square[1] + dr) in SQUARES
    ]


class Reference:
    """A game: a state that every play replaces, and the list of all states so far."""

    def __init__(self, text: str) -> None:
        board, turn, plies = text.split(" ")
        self.heights: Heights = {}
        self.men: Men = {}
        for rank, row in zip((5, 4, 3, 2, 1, 0), board.split("/"), strict=True):
            for file, cell in enumerate(row.split(",")):
                digits = "".join(c for c in cell if c in "0123456789")
                self.heights[file, rank] = int(digits)
                if cell != digits:
                    self.men[file, rank] = cell[-1]
        self.turn, self.plies = int(turn), int(plies)
        self.states = [self.state()]
        self.outcome = self.find_outcome()

    def state(self) -> tuple[Heights, Men, int]:
        return dict(self.heights), dict(self.men), self.turn

    def text(self) -> str:
        rows = [
            ",".join(str(self.heights[file, rank]) + self.men.get((file, rank), "") for file in range(6))
            for rank in (5, 4, 3, 2, 1, 0)
        ]
        return f"{'/'.join(rows)} {self.turn} {self.plies}"

    # Operations change one state (heights, men) and yield the new states, each with the operation's text.

    def digs(self, heights: Heights, men: Men, at: Square) -> After:
        for taken, put in product(adjacent(at), repeat=2):
            if taken == put or heights[taken] < 1 or put in men:
                continue
            if taken in men and seat_of(men[taken]) != self.turn:
                continue
            after = dict(heights)
            after[taken] -= 1
            after[put] += 1
            yield f"d{name(taken)}{name(put)}", after, men, at

    def step(
        self,
        heights: Heights,
        men: Men,
        at: Square,
        to: Square,
    ) -> Men | None:
        if to in men:
            if seat_of(men[to]) == self.turn or heights[at] - heights[to] < 2:
                return None
        elif heights[to] - heights[at] > 1:
            return None
        after = {square: letter for square, letter in men.items() if square not in (at, to)}
        after[to] = men[at]
        return after

    def single_moves(self, heights: Heights, men: Men, at: Square) -> After:
        for to in adjacent(at):
            after = self.step(heights, men, at, to)
            if after is not None:
                yield f"m{name(to)}", heights, after, to

    def double_moves(self, heights: Heights, men: Men, at: Square) -> After:
        for df, dr in DIAGONALS:
            middle, to = (at[0] + df, at[1] + dr), (at[0] + 2 * df, at[1] + 2 * dr)
            if to not in SQUARES or middle in men:
                continue
            halfway = self.step(heights, men, at, middle)
            after = halfway and self.step(heights, halfway, middle, to)
            if after:
                yield f"m{name(to)}", heights, after, to

    def turns(self) -> dict[str, tuple[Heights, Men]]:
        """Return the legal turns: text to (heights, men)."""
        found: dict[str, tuple[Heights, Men]] = {}
        for at, letter in self.men.items():
            if seat_of(letter) != self.turn:
                continue
            orders: list[tuple[Operation, Operation]] = [(self.digs, self.single_moves), (self.single_moves, self.digs)]
            if letter in "Ff":
                orders += [(self.digs, self.double_moves), (self.double_moves, self.digs)]
            if letter in "Dd":
                orders += [(self.digs, self.digs), (self.single_moves, self.single_moves)]
            for first, second in orders:
                for text1, dug, moved, to in first(self.heights, self.men, at):
                    for text2, heights, men, _ in second(dug, moved, to):
                        text = f"{name(at)}:{text1},{text2}"
                        assert text not in found
                        found[text] = heights, men
            if letter in "Dd":
                for to in adjacent(at):
                    if to not in self.men and self.heights[to] == self.heights[at] + 2:
                        men = {square: other for square, other in self.men.items() if square != at}
                        men[to] = letter
                        found[f"{name(at)}:m{name(to)}"] = self.heights, men
        return {text: after for text, after in found.items() if after != (self.heights, self.men)}

    def moves(self) -> set[str]:
        return set() if self.outcome else set(self.turns())

    def play(self, move: str) -> None:
        heights, men = self.turns()[move]
        self.plies = self.plies + 1 if len(men) == len(self.men) else 0
        self.heights, self.men, self.turn = heights, men, 3 - self.turn
        self.states.append(self.state())
        self.outcome = self.find_outcome()

    def find_outcome(self) -> str | None:
        """Return the outcome after a turn of the seat that is not to move, as the console writes it."""
        if not any(seat_of(letter) == self.turn for letter in self.men.values()):
            return f"{3 - self.turn} all_captured"
        if not self.turns():
            return f"{3 - self.turn} no_moves"
        if self.states.count(self.state()) >= 3:
            return "draw repetition"
        if self.plies >= 200:
            return "draw no_progress"
        return None
