"""Rules work that may take long, as a port."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol


class ListedMove(NamedTuple):
    """A legal move; its steps as (action, source, target, piece, facing), empty unless asked for."""

    text: str
    steps: tuple[tuple[str, str, str, str, int], ...] = ()


class Listing(NamedTuple):
    """Legal moves in bytewise order: how many there are, where, and the moves in chunks that are read one by one."""

    position: str
    total: int
    chunks: Iterable[Sequence[ListedMove]]


class LinePosition(NamedTuple):
    """A position on a line: ply since the line's start, text, seat to move, board cells, claim ('' for none)."""

    ply: int
    position: str
    turn: int
    claim: str
    board: tuple[tuple[str, int, str, int, int, str], ...] = ()


class PlayedLine(NamedTuple):
    """The positions of a line from a ply on, and the outcome as (winner, reason) if the line reaches it."""

    positions: tuple[LinePosition, ...]
    outcome: tuple[int, str] | None


class RulesWorker(Protocol):
    """Rules work that may take long: it runs apart from the event loop, with a deadline and a memory limit."""

    async def legal_moves(self, caller: str, variant: str, position: str, moves: Sequence[str], steps: bool) -> Listing:
        """Return the legal moves at the end of a line of play (position '' is the initial one).

        `caller` is whose budget it costs. Raises Refusal, BUDGET_SPENT if it takes more than a request may.
        """

    async def play_moves(
        self, caller: str, variant: str, position: str, moves: Sequence[str], from_ply: int, board: bool
    ) -> PlayedLine:
        """Return the positions of a line of play from a ply on. Raises Refusal as `legal_moves` does."""
