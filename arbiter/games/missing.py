"""A stand-in for a game whose rules are not installed: its matches can be listed and read, and not be played.

A package that added a game may be gone while its matches are still in the record. Their moves are texts, and their
events hold the positions, so most of what people ask can be answered without the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from arbiter.boards.board import Board, Tile
from arbiter.games.contract import Facts, Game, Outcome, Piece, Seat, Step

NO_BOARD = Board("no board", Tile.SQUARE, (), (), (), (), ())


class MissingPosition(NamedTuple):
    """A position of which only the text is known, or nothing ('') after a move. Whose turn it is, is a guess."""

    text: str
    turn: Seat = 1
    outcome: Outcome | None = None


class Missing(Game[MissingPosition]):
    """The stand-in for a variant of a game whose rules are not installed."""

    installed = False
    bound = 0

    def __init__(self, variant: str) -> None:
        name = variant.partition("(")[0]
        # An instance of its own facts: the class stands for many games.
        self.facts = Facts(  # type: ignore[misc]
            id=name,
            name=name,
            designer="unknown",
            summary="The rules of this game are not installed here.",
            seats=("1", "2"),
            parameters=(),
            reasons=(),
            rulings=(),
        )
        super().__init__()
        self.board = NO_BOARD
        self._variant = variant

    @property
    def variant(self) -> str:
        """The name under which the record knows it."""
        return self._variant

    def initial(self) -> MissingPosition:
        """Return a position of which nothing is known."""
        return MissingPosition("")

    def parse(self, text: str) -> MissingPosition:
        """Return a position of which the text is known; any text is taken."""
        return MissingPosition(text)

    def text(self, position: MissingPosition) -> str:
        """Return the text, '' if it is not known."""
        return position.text

    def moves(self, position: MissingPosition) -> Sequence[str]:
        """Return nothing: the legal moves are not known."""
        return ()

    def play(self, position: MissingPosition, move: str) -> MissingPosition:
        """Return the position after a move of a record, of which nothing is known; no move is refused."""
        return MissingPosition("", 2 if position.turn == 1 else 1)

    def pieces(self, position: MissingPosition) -> Sequence[Piece]:
        """Return nothing: there is no board."""
        return ()

    def steps(self, position: MissingPosition, move: str) -> Sequence[Step]:
        """Return nothing: what a move does is not known."""
        return ()
