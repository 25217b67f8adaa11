"""The interface of a game for the search: the part of an engine that it uses, as protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Man(Protocol):
    """A cell's piece."""

    @property
    def owner(self) -> int:
        """The seat that owns it, or 0."""


class Cells(Protocol):
    """The names of a board's cells."""

    @property
    def names(self) -> Sequence[str]:
        """The cells' names, in the order of `Rules.pieces`."""


class Rules(Protocol):
    """A game, with the methods of the engines in `arbiter.games`. Positions have a `turn` and an `outcome`."""

    @property
    def board(self) -> Cells:
        """The board."""

    def moves(self, position: Any, /) -> Sequence[str]:
        """Return every legal move; none once there is an outcome."""

    def play(self, position: Any, move: str, /) -> Any:
        """Return the position after a move."""

    def pieces(self, position: Any, /) -> Sequence[Man]:
        """Return the piece on each cell."""

    def counters(self, position: Any, /) -> Mapping[str, int]:
        """Return the numbers beside the board, by name."""

    def text(self, position: Any, /) -> str:
        """Return the position's text; its first field is the board, with seat 1 in upper case and seat 2 in lower."""
