"""A small complete game for tests of matches: taking stones from a heap.

Players take 1 to 3 stones in turn; the player who takes the last one wins. With a handicap, seat 1 takes that many
times before seat 2 first does. An even heap of ten or fewer may be claimed as a draw; draws may be offered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from arbiter.boards.squares import squares
from arbiter.games.contract import (
    AnyGame,
    Basis,
    EndReason,
    Facts,
    Game,
    Outcome,
    Piece,
    Seat,
    Step,
    Value,
    number_parameter,
)
from arbiter.games.registry import game as registered_game


class HeapPosition(NamedTuple):
    stones: int
    turn: Seat
    free: int  #: moves that seat 1 still has in a row

    @property
    def outcome(self) -> Outcome | None:
        return None if self.stones else Outcome(2 if self.turn == 1 else 1, "last_stone")


class Heap(Game[HeapPosition]):
    facts = Facts(
        id="heap",
        name="Heap",
        designer="unknown",
        summary="Take the last stone.",
        seats=("First", "Second"),
        parameters=(
            number_parameter("stones", 21, 1, 1000, "stones in the heap"),
            number_parameter("handicap", 0, 0, 9, "moves of seat 1 before seat 2 first moves, less one"),
        ),
        reasons=(
            EndReason("last_stone", "the last stone was taken", Basis.TEXT),
            EndReason("even", "an even heap was claimed", Basis.TEXT),
        ),
        rulings=(),
        draw_offers=True,
        material="stones of one's own: seat 1 has the heap, seat 2 ten others",
    )

    def __init__(self, **values: Value) -> None:
        super().__init__(**values)
        self.board = squares(1, 1)
        self.bound = int(self.values["stones"])

    def initial(self) -> HeapPosition:
        return HeapPosition(int(self.values["stones"]), 1, int(self.values["handicap"]))

    def parse(self, text: str) -> HeapPosition:
        found = re.fullmatch(r"(\d{1,4}) ([12]) (\d)", text, re.ASCII)
        if found is None:
            raise self.malformed_position(text, "heap", "STONES SEAT FREE")
        return HeapPosition(int(found[1]), 1 if found[2] == "1" else 2, int(found[3]))

    def text(self, position: HeapPosition) -> str:
        return f"{position.stones} {position.turn} {position.free}"

    def moves(self, position: HeapPosition) -> Sequence[str]:
        return [str(n) for n in range(1, min(3, position.stones) + 1)]

    def play(self, position: HeapPosition, move: str) -> HeapPosition:
        if move not in ("1", "2", "3"):
            raise self.malformed_move(move)
        if int(move) > position.stones:
            raise self.illegal_move(position, move, "there are not so many stones")
        stones = position.stones - int(move)
        if position.free and stones:
            return HeapPosition(stones, 1, position.free - 1)
        return HeapPosition(stones, 2 if position.turn == 1 else 1, 0)

    def pieces(self, position: HeapPosition) -> Sequence[Piece]:
        return [Piece(0, "")]

    def steps(self, position: HeapPosition, move: str) -> Sequence[Step]:
        return []

    def material(self, position: HeapPosition) -> tuple[int, int]:
        return position.stones, 10

    def claim(self, position: HeapPosition) -> str | None:
        return "even" if 0 < position.stones <= 10 and position.stones % 2 == 0 else None


class WordyHeap(Heap):
    """The same game with long moves: `1` three hundred times, and so on."""

    @property
    def variant(self) -> str:
        return "wordy-heap"

    def moves(self, position: HeapPosition) -> Sequence[str]:
        return [move * 300 for move in super().moves(position)]

    def play(self, position: HeapPosition, move: str) -> HeapPosition:
        return super().play(position, move[:1] if move == move[:1] * 300 else move)


class DriftingHeap(Heap):
    """The same game with other rules: a log of the original game does not follow from them."""

    def play(self, position: HeapPosition, move: str) -> HeapPosition:
        return super().play(position, move)._replace(free=7)


@cache
def games(variant: str) -> AnyGame:
    """Find this game too, beside the bundled games."""
    if variant == "wordy-heap":
        return WordyHeap()
    found = re.fullmatch(r"heap(?:\((.*)\))?", variant)
    if found is None:
        return registered_game(variant)
    values: dict[str, Value] = {}
    for item in (found[1] or "").split(","):
        name, _, number = item.partition("=")
        if name:
            values[name] = int(number)
    return Heap(**values)
