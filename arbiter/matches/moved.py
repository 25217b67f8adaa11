"""The event of a move, and what all events have in common. Every move creates one, so the module is compiled.

The other events are in `arbiter.matches.events`. A compiled dataclass can't have the class variable `kind` itself: it
would be taken for a field. So a base class has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from arbiter.games.contract import Seat
from arbiter.matches.clock import Ledger, SeatClock

Clocks = tuple[SeatClock, SeatClock]
"""The clocks of seat 1 and seat 2."""


class EventKind(StrEnum):
    """The kinds of events: the values of `kind` in the record."""

    CREATED = "created"
    ARRIVED = "arrived"
    LEFT = "left"
    STARTED = "started"
    MOVED = "moved"
    REFUSED = "refused"
    REJECTED = "rejected"
    DRAW_OFFERED = "draw_offered"
    DRAW_DECLINED = "draw_declined"
    INTERRUPTED = "interrupted"
    RESUMED = "resumed"
    ENDED = "ended"


class _OfMove:
    __slots__ = ("_sealed",)
    kind: ClassVar[EventKind] = EventKind.MOVED
    _sealed: object  #: a cache for the serialized form; None until it is sealed


@dataclass(init=False, slots=True, unsafe_hash=True)
class Moved(_OfMove):
    """A move was played; the clock of the next turn starts at `at`. Treat it as immutable, like the other events.

    ply: the number of moves played before it. position: the text after it. turn: the seat to move next.
    clocks: both clocks after the move. comment: the bot's comment, encrypted (`arbiter.matches.comments`); '' if there
    is none. after: the rules' position, if it is already computed; not part of the record.
    """

    at: int
    ply: int
    seat: Seat
    move: str
    position: str
    request: str
    ledger: Ledger
    turn: Seat
    clocks: Clocks
    comment: str
    after: Any = field(compare=False, repr=False)

    def __init__(
        self,
        at: int,
        ply: int,
        seat: Seat,
        move: str,
        position: str,
        request: str,
        ledger: Ledger,
        turn: Seat,
        clocks: Clocks,
        comment: str = "",
        after: Any = None,
    ) -> None:
        self._sealed = None  # type: ignore[misc]  # the base class has its slot
        self.at = at
        self.ply = ply
        self.seat = seat
        self.move = move
        self.position = position
        self.request = request
        self.ledger = ledger
        self.turn = turn
        self.clocks = clocks
        self.comment = comment
        self.after = after
