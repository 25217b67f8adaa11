"""Events: everything that happens in a match, in the form that is stored, streamed, hashed and replayed.

An event value holds the fields of its kind. `arbiter.matches.record` adds the match's id, the revision and the hash of
the previous event. The JSON form is in `arbiter.matches.codec`. All instants (`at`, and those of a ledger) are UTC
epoch milliseconds. An event's instant is never earlier than that of the previous event.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from arbiter.errors import Reason
from arbiter.event_json.codec import Sparse
from arbiter.games.contract import Seat
from arbiter.games.registry import Code
from arbiter.matches.adjudication import AdjudicationRules
from arbiter.matches.clock import Ledger
from arbiter.matches.commands import Interruption, RequestContent, ResultKind, Text
from arbiter.matches.moved import Clocks as Clocks
from arbiter.matches.moved import EventKind as EventKind
from arbiter.matches.moved import Moved as Moved
from arbiter.matches.policy import Policy

FORMAT = 1
"""The version of the record's format, in every `created` event."""

FIRST_PREVIOUS = "0" * 64
"""The hash of the previous event in a match's first event."""


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
    ADJUDICATED_TABLEBASE = "adjudicated_tablebase"  #: by endgame tables, which the record does not contain
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


class _Sealable:
    """What all events share: a cache for the serialized form."""

    __slots__ = ("_sealed",)


@dataclass(frozen=True, slots=True)
class Created(_Sealable):
    """The match was created. `match` is its id; game, time and policy are canonical; players are ids, by seat.

    position: the text of the start position, or '' for the game's initial one. opening: the first moves after it, which
    nobody played. adjudication: when the match ends by rule. code: the rules' package, its version and hash; None in
    records from before it was noted.
    """

    kind: ClassVar[EventKind] = EventKind.CREATED
    at: int
    match: str
    game: str
    players: tuple[str, str]
    time: str
    policy: Policy
    rated: bool
    label: Sparse[str]
    creator: str
    request: str
    opening: Sparse[tuple[str, ...]] = ()
    adjudication: Sparse[AdjudicationRules | None] = None
    position: Sparse[str] = ""
    code: Code | None = None


@dataclass(frozen=True, slots=True)
class Arrived(_Sealable):
    """A player is present, or its bot has changed its version.

    version: the bot's version from the hello of its stream; '' if the bot sent none, or has no stream.
    """

    kind: ClassVar[EventKind] = EventKind.ARRIVED
    at: int
    seat: Seat
    version: Sparse[str] = ""


@dataclass(frozen=True, slots=True)
class Left(_Sealable):
    """A player is no longer present."""

    kind: ClassVar[EventKind] = EventKind.LEFT
    at: int
    seat: Seat


@dataclass(frozen=True, slots=True)
class Started(_Sealable):
    """The first turn began: its clock starts at `at`."""

    kind: ClassVar[EventKind] = EventKind.STARTED
    at: int
    turn: Seat
    position: str
    clocks: Clocks


@dataclass(frozen=True, slots=True)
class Refused(_Sealable):
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
class Rejected(_Sealable):
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
class DrawOffered(_Sealable):
    """A player offers a draw. The offer stands until it is answered, the opponent moves or the match ends."""

    kind: ClassVar[EventKind] = EventKind.DRAW_OFFERED
    at: int
    seat: Seat
    ply: int
    request: str


@dataclass(frozen=True, slots=True)
class DrawDeclined(_Sealable):
    """The player of `seat` declines the opponent's offer."""

    kind: ClassVar[EventKind] = EventKind.DRAW_DECLINED
    at: int
    seat: Seat
    request: str


@dataclass(frozen=True, slots=True)
class Interrupted(_Sealable):
    """The server was unavailable, or is shutting down.

    Both players count as absent; no clock runs; no time is charged.
    """

    kind: ClassVar[EventKind] = EventKind.INTERRUPTED
    at: int
    reason: Interruption


@dataclass(frozen=True, slots=True)
class Resumed(_Sealable):
    """The interrupted turn starts again: its clock starts at `at`, with the time from when the turn first began."""

    kind: ClassVar[EventKind] = EventKind.RESUMED
    at: int
    ply: int
    turn: Seat
    clocks: Clocks


@dataclass(frozen=True, slots=True)
class LateMove:
    """A move that arrived after its flag had fallen, with the ledger that shows it."""

    ply: int
    move: Text
    ledger: Ledger


@dataclass(frozen=True, slots=True)
class Ended(_Sealable):
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
    request: Sparse[str] = ""
    by: Sparse[str] = ""
    note: Sparse[str] = ""
    late: LateMove | None = None
    key: Sparse[str] = ""


Event = (
    Created
    | Arrived
    | Left
    | Started
    | Moved
    | Refused
    | Rejected
    | DrawOffered
    | DrawDeclined
    | Interrupted
    | Resumed
    | Ended
)
"""An event of any kind. All have a `kind`, and `at`, the instant at which it happened."""
