"""Rules computations that may take long, as a port."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol


class ListedMove(NamedTuple):
    """A legal move. steps: (action, source, target, piece, facing) of each step; empty unless requested."""

    text: str
    steps: tuple[tuple[str, str, str, str, int], ...] = ()


class Listing(NamedTuple):
    """The legal moves of a position in bytewise order, in chunks that are read one by one. total: their number."""

    position: str
    total: int
    chunks: Iterable[Sequence[ListedMove]]


class LinePosition(NamedTuple):
    """A position on a line. ply: since the start of the line. turn: the seat to move. claim: '' for none."""

    ply: int
    position: str
    turn: int
    claim: str
    board: tuple[tuple[str, int, str, int, int, str], ...] = ()


class PlayedLine(NamedTuple):
    """The positions of a line from a ply on, read one by one, and the outcome as (winner, reason) if it reaches one."""

    positions: Iterable[LinePosition]
    outcome: tuple[int, str] | None


class RulesWorker(Protocol):
    """Rules computations that may take long: they run apart from the event loop, with a deadline and a memory limit."""

    async def warm(self) -> None:
        """Be ready for requests: without it the first ones wait, perhaps while a clock runs."""

    async def legal_moves(self, caller: str, variant: str, position: str, moves: Sequence[str], steps: bool) -> Listing:
        """Return the legal moves at the end of a line of play (position '' is the initial one).

        `caller` names the budget that pays for it. Raises Refusal, such as BUDGET_SPENT if it takes more than a request
        may.
        """


class EncodingRules(RulesWorker, Protocol):
    """The same for the API: the process that has computed an answer also encodes it, so that the event loop does not.

    Each method returns bytes that are read one by one: messages of the API in its binary form or as JSON. It raises
    Refusal as `RulesWorker.legal_moves` does.
    """

    async def encoded_moves(
        self, caller: str, variant: str, position: str, moves: Sequence[str], steps: bool, as_json: bool
    ) -> Iterable[bytes]:
        """Return messages with the legal moves at the end of a line of play."""

    async def encoded_line(
        self, caller: str, variant: str, position: str, moves: Sequence[str], from_ply: int, board: bool, as_json: bool
    ) -> Iterable[bytes]:
        """Return the message with the positions of a line of play from a ply on, in parts that are joined."""
