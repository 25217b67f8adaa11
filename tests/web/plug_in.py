"""A game as a package would add it, which has for drawings only a board and its pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arbiter.boards.squares import squares
from arbiter.games.contract import Piece, Value
from tests.matches.heap import Heap, HeapPosition


class Row(Heap):
    """Taking stones from the end of a row: seven squares, a stone on each of the first ones."""

    facts = replace(Heap.facts, id="row", name="Row")

    def __init__(self, **values: Value) -> None:
        super().__init__(**{"stones": 7, **values})
        self.board = squares(7, 1)

    def pieces(self, position: HeapPosition) -> Sequence[Piece]:
        return [Piece(1, "O") if cell < position.stones else Piece(0, "") for cell in range(self.board.size)]
