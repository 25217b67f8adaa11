"""Clock arithmetic: how long a player may still think, and what is left after a move.

A flag falls at the instant when no time is left. A move that is charged exactly the available time is too late; one
millisecond less is in time. So the flag of a turn falls at a definite instant: the turn's start plus the available time
(plus credit). A byo-yomi period that is used to its last millisecond is used up.

Credit: the part of a turn that the server or the network delayed, and that the player is not charged for.

A turn starts at the instant in the event that began it. The delay from there until the turn is sent on the player's
live stream is the server's: it is credited up to a limit. The time that the turn and the move spend on the network is
credited as the round trip that the server measures on that stream, up to a limit for each move. It also cannot exceed
the player's credit bank for the match, which every move refills a little. So a player that delays only its answers to
pings gains, in the long run, no more than the refill.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from arbiter.event_json.canonical import LARGEST_INTEGER
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


class CreditRules(NamedTuple):
    """The limits of credit, all in milliseconds; part of a match's published policy.

    hand_over_most_ms: maximum credit for each move for the server's own delay.
    network_most_ms: maximum credit for each move for the network.
    bank_ms: a player's network credit at the start of a match, and the capacity of its bank.
    refill_ms: what every move of the player adds to its bank.
    """

    hand_over_most_ms: int = 100
    network_most_ms: int = 300
    bank_ms: int = 10_000
    refill_ms: int = 250


def credit(
    rules: CreditRules, bank: int, started: int, handed_over: int | None, arrived: int, round_trip_ms: int | None
) -> tuple[int, int]:
    """Return the milliseconds credited to a move, and the player's bank after it.

    started, handed_over and arrived are instants (UTC epoch milliseconds): when the turn began, when it was sent on the
    player's live stream (None: there was no such stream, so there is no credit), and when the move arrived.
    round_trip_ms was measured by the server on that stream (None: not measured yet, so no credit for the network).
    The credit never exceeds the time that passed. Time before the turn was sent gets no network credit.
    """
    credited = network = 0
    if handed_over is not None and arrived > started:
        sent = min(max(handed_over, started), arrived)
        credited = min(sent - started, rules.hand_over_most_ms)
        if round_trip_ms is not None:
            # Not one `min` of four: compiled, only that of two needs no call.
            most = min(rules.network_most_ms, min(bank, arrived - sent))
            network = min(max(round_trip_ms, 0), most)
    return credited + network, min(bank - network + rules.refill_ms, rules.bank_ms)


def most_credit(rules: CreditRules, bank: int) -> int:
    """Return the maximum credit that a move can still get with this bank, in milliseconds."""
    return rules.hand_over_most_ms + min(rules.network_most_ms, bank)
