"""Events: everything that happens in a match, in the form that is stored, streamed, hashed and replayed.

An event value holds the fields of its kind. `arbiter.matches.record` adds the match's id, the revision and the hash of
the previous event. The JSON form is in `arbiter.matches.codec`. All instants (`at`, and those of a ledger) are UTC
epoch milliseconds. An event's instant is never earlier than that of the previous event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from arbiter.errors import Reason
from arbiter.games.contract import Seat
from arbiter.matches.adjudication import AdjudicationRules
from arbiter.matches.clock import Ledger, SeatClock
from arbiter.matches.commands import Interruption, RequestContent, ResultKind, Text
from arbiter.matches.policy import Policy

FORMAT = 1
"""The version of the record's format, in every `created` event."""

FIRST_PREVIOUS = "0" * 64
"""The hash of the previous event in a match's first event."""

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


class MatchEndReason(StrEnum):
    """Reasons for an end that do not come from a game. Each game adds its own reasons."""

    RESIGNATION = "resignation"
    DRAW_AGREED = "draw_agreed"
    TIME = "time"
    ILLEGAL_MOVES = "illegal_moves"
    NO_SHOW = "no_show"
    ABANDONMENT = "abandonment"
    ABORTED = "aborted"
    ADJUDICATED = "adjudicated"  #: by the organiser's own decision; the following ones by rules that it set beforehand
    ADJUDICATED_LENGTH = "adjudicated_length"
    ADJUDICATED_MATERIAL = "adjudicated_material"
    ADJUDICATED_EVALUATION = "adjudicated_evaluation"
    ADJUDICATED_LEVEL = "adjudicated_level"
    ARBITER_FAULT = "arbiter_fault"


class Cause(StrEnum):
    """What caused an end: the closed list for programs. Further reasons may be added later."""

    RULES = "rules"  #: an end reason of the game, or a claimed draw
    AGREEMENT = "agreement"
    RESIGNATION = "resignation"
    TIME = "time"
    RULE_VIOLATION = "rule_violation"
    ABSENCE = "absence"
    ORGANISER = "organiser"
    ARBITER = "arbiter"


class Party(StrEnum):
    """Who is responsible for an end.

    PLAYER goes with the responsible seat: the seat whose move, claim, resignation, flag or absence ended the match.
    Seen from one seat that is the player itself or its opponent. PLAYERS means both: they agreed, or both were absent.
    """

    PLAYER = "player"
    PLAYERS = "players"
    ARBITER = "arbiter"
    ORGANISER = "organiser"


class Event:
    """What all events share: `kind`, `at`, and a cache for the serialized form."""

    __slots__ = ("_sealed",)
    kind: ClassVar[EventKind]
    at: int


@dataclass(frozen=True, slots=True)
class Created(Event):
    """The match was created. `match` is its id; game, time and policy are canonical; players are ids, by seat.

    opening: the first moves, which nobody played. adjudication: when the match ends by rule.
    """

    kind: ClassVar[EventKind] = EventKind.CREATED
    at: int
    match: str
    game: str
    players: tuple[str, str]
    time: str
    policy: Policy
    rated: bool
    label: str
    creator: str
    request: str
    opening: tuple[str, ...] = ()
    adjudication: AdjudicationRules | None = None


@dataclass(frozen=True, slots=True)
class Arrived(Event):
    """A player is present, or its bot has changed its version.

    version: the bot's version from the hello of its stream; '' if the bot sent none, or has no stream.
    """

    kind: ClassVar[EventKind] = EventKind.ARRIVED
    at: int
    seat: Seat
    version: str = ""


@dataclass(frozen=True, slots=True)
class Left(Event):
    """A player is no longer present."""

    kind: ClassVar[EventKind] = EventKind.LEFT
    at: int
    seat: Seat


@dataclass(frozen=True, slots=True)
class Started(Event):
    """The first turn began: its clock starts at `at`."""

    kind: ClassVar[EventKind] = EventKind.STARTED
    at: int
    turn: Seat
    position: str
    clocks: Clocks


@dataclass(slots=True, unsafe_hash=True)
class Moved(Event):
    """A move was played; the clock of the next turn starts at `at`.

    Treat it as immutable, like the other events. It is not frozen, because a frozen dataclass takes four times as long
    to create.

    ply: the number of moves played before it. position: the text after it. turn: the seat to move next.
    clocks: both clocks after the move. comment: the bot's comment, encrypted (`arbiter.matches.comments`); '' if there
    is none. after: the rules' position, if it is already computed; not part of the record.
    """

    kind: ClassVar[EventKind] = EventKind.MOVED
    at: int
    ply: int
    seat: Seat
    move: str
    position: str
    request: str
    ledger: Ledger
    turn: Seat
    clocks: Clocks
    comment: str = ""
    after: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Refused(Event):
    """An illegal or malformed move was counted against a player; the clock continues.

    strikes: the player's number of strikes now. message: an explanation for people.
    """

    kind: ClassVar[EventKind] = EventKind.REFUSED
    at: int
    seat: Seat
    ply: int
    request: str
    move: Text
    reason: Reason
    message: str
    strikes: int


@dataclass(frozen=True, slots=True)
class Rejected(Event):
    """A player's request was refused without a penalty. It is recorded so that a repeated request gets the same answer.

    reason, message and facts (name and text, by name) are those of the answer.
    """

    kind: ClassVar[EventKind] = EventKind.REJECTED
    at: int
    seat: Seat
    request: str
    asked: RequestContent
    reason: Reason
    message: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DrawOffered(Event):
    """A player offers a draw. The offer stands until it is answered, the opponent moves or the match ends."""

    kind: ClassVar[EventKind] = EventKind.DRAW_OFFERED
    at: int
    seat: Seat
    ply: int
    request: str


@dataclass(frozen=True, slots=True)
class DrawDeclined(Event):
    """The player of `seat` declines the opponent's offer."""

    kind: ClassVar[EventKind] = EventKind.DRAW_DECLINED
    at: int
    seat: Seat
    request: str


@dataclass(frozen=True, slots=True)
class Interrupted(Event):
    """The server was unavailable, or is shutting down.

    Both players count as absent; no clock runs; no time is charged.
    """

    kind: ClassVar[EventKind] = EventKind.INTERRUPTED
    at: int
    reason: Interruption


@dataclass(frozen=True, slots=True)
class Resumed(Event):
    """The interrupted turn starts again: its clock starts at `at`, with the time from when the turn first began."""

    kind: ClassVar[EventKind] = EventKind.RESUMED
    at: int
    ply: int
    turn: Seat
    clocks: Clocks


class LateMove(NamedTuple):
    """A move that arrived after its flag had fallen, with the ledger that shows it."""

    ply: int
    move: Text
    ledger: Ledger


@dataclass(frozen=True, slots=True)
class Ended(Event):
    """The match is over.

    winner: 1, 2 or 0; reason: an end reason of the game or an `MatchEndReason`.
    seat: the responsible seat if `party` is PLAYER, else None.
    request: the id of the command that ended it, if it has one; by: the organiser's id; note: the organiser's note (or,
    for a fault, the arbiter's). late: the move that came too late, if there was one. key: the key of the match's
    comments, if there are any, in hexadecimal digits.
    """

    kind: ClassVar[EventKind] = EventKind.ENDED
    at: int
    winner: int
    result: ResultKind
    reason: str
    cause: Cause
    party: Party
    seat: Seat | None = None
    request: str = ""
    by: str = ""
    note: str = ""
    late: LateMove | None = None
    key: str = ""
