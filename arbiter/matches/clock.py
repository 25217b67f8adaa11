"""Clock arithmetic: how long a player may still think, and what is left after a move.

A flag falls at the instant when no time is left. A move that is charged exactly the available time is too late; one
millisecond less is in time. So the flag of a turn falls at a definite instant: the turn's start plus the available time
(plus credit). A byo-yomi period that is used to its last millisecond is used up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from arbiter.matches.canonical import LARGEST_INTEGER
from arbiter.matches.time_control import (
    BronsteinDelay,
    ByoYomi,
    FixedMove,
    Increment,
    MainTime,
    MovesPerPeriod,
    SimpleDelay,
    TimeControl,
    Unlimited,
)

UNLIMITED_MS: Final = LARGEST_INTEGER
"""The available time without a clock."""


@dataclass(init=False, slots=True, unsafe_hash=True)
class SeatClock:
    """The clock of one seat between two of its moves.

    remaining_ms: main time; with a fixed time a move, the bank; without a clock, 0.
    periods: byo-yomi periods left, at least 1; 0 in other controls.
    moves_left: moves to go in the session, at least 1; 0 in other controls.
    """

    remaining_ms: int
    periods: int
    moves_left: int

    def __init__(self, remaining_ms: int, periods: int = 0, moves_left: int = 0) -> None:
        self.remaining_ms = remaining_ms
        self.periods = periods
        self.moves_left = moves_left


@dataclass(init=False, slots=True, unsafe_hash=True)
class Ledger:
    """How the time of a move was computed: instants, and durations in milliseconds.

    started: when the turn's clock started.
    handed_over: when the turn was sent on the player's live Play stream, if there was one.
    arrived: when the move reached the server.
    round_trip: the network round trip that the server measured on that stream, if it did.
    credited: the time that the server or the network took; charged: the rest, which the player pays.
    left: what the player could still have thought before its flag fell; 0 if it had fallen.
    """

    started: int
    handed_over: int | None
    arrived: int
    round_trip: int | None
    credited: int
    charged: int
    left: int

    def __init__(
        self,
        started: int,
        handed_over: int | None,
        arrived: int,
        round_trip: int | None,
        credited: int,
        charged: int,
        left: int,
    ) -> None:
        self.started = started
        self.handed_over = handed_over
        self.arrived = arrived
        self.round_trip = round_trip
        self.credited = credited
        self.charged = charged
        self.left = left


def start(control: TimeControl) -> SeatClock:
    """Return the clock that each seat starts with."""
    match control:
        case Unlimited():
            return SeatClock(0)
        case FixedMove():
            return SeatClock(control.bank_ms)
        case ByoYomi():
            return SeatClock(control.main_ms, periods=control.periods)
        case MovesPerPeriod():
            return SeatClock(control.session_ms, moves_left=control.moves)
        case _:
            return SeatClock(control.main_ms)


def available(control: TimeControl, clock: SeatClock) -> int:
    """Return the milliseconds until the flag falls on the next move; at least 1 for a clock that still runs."""
    match control:
        case Unlimited():
            return UNLIMITED_MS
        case SimpleDelay():
            return clock.remaining_ms + control.delay_ms
        case FixedMove():
            return clock.remaining_ms + control.move_ms
        case ByoYomi():
            return clock.remaining_ms + clock.periods * control.period_ms
        case _:
            return clock.remaining_ms


def after_move(control: TimeControl, clock: SeatClock, charged_ms: int) -> SeatClock | None:
    """Return the clock after a move that is charged a time (not negative), or None if the flag fell before the move."""
    if charged_ms >= available(control, clock):
        return None
    remaining_ms = clock.remaining_ms
    match control:
        case Unlimited():
            return clock
        case MainTime():
            return SeatClock(remaining_ms - charged_ms)
        case Increment():
            return SeatClock(remaining_ms - charged_ms + control.increment_ms)
        case SimpleDelay():
            return SeatClock(remaining_ms - max(0, charged_ms - control.delay_ms))
        case BronsteinDelay():
            return SeatClock(remaining_ms - max(0, charged_ms - control.delay_ms))
        case FixedMove():
            return SeatClock(remaining_ms - max(0, charged_ms - control.move_ms))
        case ByoYomi():
            used = max(0, charged_ms - remaining_ms) // control.period_ms
            return SeatClock(max(0, remaining_ms - charged_ms), periods=clock.periods - used)
        case MovesPerPeriod():
            if clock.moves_left > 1:
                return SeatClock(remaining_ms - charged_ms, moves_left=clock.moves_left - 1)
            return SeatClock(remaining_ms - charged_ms + control.session_ms, moves_left=control.moves)
