"""Events: everything that happens in a match, as it is stored, streamed, hashed and replayed.

An event value holds what its kind says; the match's id, its revision and the hash of the event before are added where
it is sealed (`arbiter.matches.record`); its JSON is in `arbiter.matches.codec`. All instants (`at`, and those of a
ledger) are UTC epoch milliseconds. The instant of an event never precedes that of the event before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from arbiter.errors import Reason
from arbiter.games.contract import Seat
from arbiter.matches.adjudication import Rules
from arbiter.matches.clock import Clock
from arbiter.matches.commands import CommandName, Interruption, ResultKind
from arbiter.matches.policy import Policy

FORMAT = 1
"""The version of the record's format, in every `created` event."""

FIRST_PREVIOUS = "0" * 64
"""What the first event of a match has for the hash of the event before."""

Clocks = tuple[Clock, Clock]
"""The clocks of seat 1 and seat 2."""


class EventKind(StrEnum):
    """The kinds of events, as `kind` says in the record."""

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


class EndReason(StrEnum):
    """Reasons for an end that are not a game's own; a game's end reasons stand beside them."""

    RESIGNATION = "resignation"
    DRAW_AGREED = "draw_agreed"
    TIME = "time"
    ILLEGAL_MOVES = "illegal_moves"
    NO_SHOW = "no_show"
    ABANDONMENT = "abandonment"
    ABORTED = "aborted"
    ADJUDICATED = "adjudicated"  #: by the organiser's own word; the following by rules that it set beforehand
    ADJUDICATED_LENGTH = "adjudicated_length"
    ADJUDICATED_MATERIAL = "adjudicated_material"
    ADJUDICATED_EVALUATION = "adjudicated_evaluation"
    ADJUDICATED_LEVEL = "adjudicated_level"
    ARBITER_FAULT = "arbiter_fault"


class Cause(StrEnum):
    """What brought an end about. The closed list that programs act on; reasons may become more."""

    RULES = "rules"  #: an end reason of the game, a claimed draw too
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
    Seen from one seat that is the player itself or its opponent. PLAYERS are both: they agreed, or both were absent.
    """

    PLAYER = "player"
    PLAYERS = "players"
    ARBITER = "arbiter"
    ORGANISER = "organiser"


class Ledger(NamedTuple):
    """How the time of a move was reckoned: instants, and durations in milliseconds.

    started: when the turn's clock started.
    handed_over: when the turn was handed to the player's live Play stream, if there was one.
    arrived: when the move reached the server.
    round_trip: the network's round trip as the server measured it on that stream, if it did.
    credited: the time that was the server's or the network's; charged: the rest, which the player pays.
    left: what the player could still have thought before its flag fell; 0 if it had fallen.
    """

    started: int
    handed_over: int | None
    arrived: int
    round_trip: int | None
    credited: int
    charged: int
    left: int


class Text(NamedTuple):
    """The text of a move that was not played: at most 200 characters of it, and if it was cut the whole's SHA-256."""

    shown: str
    digest: str = ""


class Event:
    """What all events share: `kind`, `at`, and a place for the sealed form once it has been worked out."""

    __slots__ = ("_sealed",)
    kind: ClassVar[EventKind]
    at: int


@dataclass(frozen=True, slots=True)
class Created(Event):
    """The match was made. `match` is its id; game, time and policy are canonical; players are ids, by seat.

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
    adjudication: Rules | None = None


@dataclass(frozen=True, slots=True)
class Arrived(Event):
    """A player is present, or its bot has become another version.

    version: of its bot, as that said in the hello of its stream; '' if it said none, or is on no stream.
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

    Not to be changed, as the other events; it is not frozen, because a frozen one takes four times as long to make.

    ply: the number of moves played before it. position: the text after it. turn: the seat to move next.
    clocks: both clocks after the move. comment: what the bot said with it, sealed (`arbiter.matches.comments`); '' if
    it said nothing. after: the rules' position, where it is at hand; not part of the record.
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
    """An illegal or malformed move was counted against a player; the clock runs on.

    strikes: how many the player has now. message: what was said about it, for people.
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


class Asked(NamedTuple):
    """What a request asks for: its name, and its arguments where it has them, without the times at which it was sent.

    ply and move are those of Play, accept is that of AnswerDraw, note that of Abort and Adjudicate, result and winner
    are those of Adjudicate. The requests of organisers are never rejected, so the record holds none of their arguments.
    """

    command: CommandName
    ply: int | None = None
    move: Text | None = None
    accept: bool | None = None
    result: ResultKind | None = None
    winner: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rejected(Event):
    """A player's request was refused and costs nothing: on record so that the same request gets the same answer.

    reason, message and facts (name and text, by name) are those of the answer.
    """

    kind: ClassVar[EventKind] = EventKind.REJECTED
    at: int
    seat: Seat
    request: str
    asked: Asked
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
    """The server was away, or is going. Both players count as absent; no clock runs; nothing is charged."""

    kind: ClassVar[EventKind] = EventKind.INTERRUPTED
    at: int
    reason: Interruption


@dataclass(frozen=True, slots=True)
class Resumed(Event):
    """The interrupted turn begins anew: its clock starts at `at`, with what it had when the turn first began."""

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

    winner: 1, 2 or 0; reason: an end reason of the game or an `EndReason`.
    seat: the responsible seat where `party` is PLAYER, else None.
    request: of the command that ended it, if it was one that carries an id; by: the organiser's id; note: words of the
    organiser (or, for a fault, of the arbiter). late: the move that came too late, if one did. key: what opens the
    comments of the match, where there are any, in hexadecimal digits.
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
