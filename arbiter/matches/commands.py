"""Commands to a match. The caller is authenticated before a command is created.

A command with a request id changes a match at most once. If the same player (or organiser) sends the same id again, the
answer is the same as the first time, or REQUEST_ID_REUSED if the request differs. Instants are UTC epoch milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from arbiter.games.contract import Seat
from arbiter.matches.adjudication import AdjudicationRules
from arbiter.matches.comments import Comment
from arbiter.matches.policy import Policy


class ResultKind(StrEnum):
    """The kind of a result: a seat won, a draw, or a match that does not count."""

    WIN = "win"
    DRAW = "draw"
    VOID = "void"


class CommandName(StrEnum):
    """The names of commands in records and logs. They are literals, so that renaming a class does not change them."""

    PLAY = "Play"
    OFFER_DRAW = "OfferDraw"
    ANSWER_DRAW = "AnswerDraw"
    CLAIM_DRAW = "ClaimDraw"
    RESIGN = "Resign"
    ABORT = "Abort"
    ADJUDICATE = "Adjudicate"
    ARRIVE = "Arrive"
    LEAVE = "Leave"
    INTERRUPT = "Interrupt"
    FAULT = "Fault"
    TICK = "Tick"


@dataclass(init=False, slots=True, unsafe_hash=True)
class Text:
    """The text of a move that was not played: at most its first 200 characters.

    If it was cut, the SHA-256 of the whole.
    """

    shown: str
    digest: str

    def __init__(self, shown: str, digest: str = "") -> None:
        self.shown = shown
        self.digest = digest


@dataclass(init=False, slots=True, unsafe_hash=True)
class RequestContent:
    """What a request asks for: its name and its arguments, without the times at which it was sent.

    ply and move are those of Play, accept is that of AnswerDraw, note that of Abort and Adjudicate, result, winner
    and by_tables are those of Adjudicate. Requests of organisers are never rejected, so the record holds none of their
    arguments.
    """

    command: CommandName
    ply: int | None
    move: Text | None
    accept: bool | None
    result: ResultKind | None
    winner: int
    note: str
    by_tables: bool

    def __init__(
        self,
        command: CommandName,
        ply: int | None = None,
        move: Text | None = None,
        accept: bool | None = None,
        result: ResultKind | None = None,
        winner: int = 0,
        note: str = "",
        by_tables: bool = False,
    ) -> None:
        self.command = command
        self.ply = ply
        self.move = move
        self.accept = accept
        self.result = result
        self.winner = winner
        self.note = note
        self.by_tables = by_tables


class Interruption(StrEnum):
    """Why a match was interrupted: the server was unavailable (down or blocked) and is back, or it is shutting down."""

    RESTART = "restart"
    DRAIN = "drain"


@dataclass(frozen=True, slots=True)
class Create:
    """Create a match; it starts from the game's initial position or another, and after its opening.

    game and time are notations (time: of one control, or of one for each seat); players are player ids, by seat; label
    is free text of at most 100 characters.
    chosen: the policy fields that the caller chose. The others are the server's defaults and not part of the request.
    position: the text of the start position; '' for the game's initial one.
    opening: the first moves, which nobody plays and which cost no time (`arbiter.matches.evolution`).
    adjudication: when the match ends by rule (`arbiter.matches.adjudication`).
    Both seats may belong to one player. Such a match is never rated, and neither is one with time odds.
    """

    game: str
    players: tuple[str, str]
    time: str
    creator: str
    request: str
    policy: Policy = field(default_factory=Policy)
    rated: bool = False
    label: str = ""
    chosen: tuple[str, ...] = ()
    opening: tuple[str, ...] = ()
    adjudication: AdjudicationRules | None = None
    position: str = ""


@dataclass(frozen=True, slots=True)
class Arrive:
    """A player is present: it is reachable on a live stream, or has just made a call.

    version: of its bot; '' if unknown.
    """

    seat: Seat
    version: str = ""


@dataclass(frozen=True, slots=True)
class Leave:
    """A player is no longer present."""

    seat: Seat


@dataclass(init=False, slots=True, unsafe_hash=True)
class Play:
    """Play a move.

    ply: the number of moves played before it, as the player knows it.
    arrived: the instant at which the move reached the server.
    handed_over: the instant at which the turn was first sent on a live Play stream, if the move came over one.
    round_trip_ms: the network round trip that the server measured on that stream.
    comment: the bot's comment on the move; a repeated request may have another one.
    """

    seat: Seat
    request: str
    ply: int
    move: str
    arrived: int
    handed_over: int | None
    round_trip_ms: int | None
    comment: Comment | None

    def __init__(
        self,
        seat: Seat,
        request: str,
        ply: int,
        move: str,
        arrived: int,
        handed_over: int | None = None,
        round_trip_ms: int | None = None,
        comment: Comment | None = None,
    ) -> None:
        self.seat = seat
        self.request = request
        self.ply = ply
        self.move = move
        self.arrived = arrived
        self.handed_over = handed_over
        self.round_trip_ms = round_trip_ms
        self.comment = comment


@dataclass(frozen=True, slots=True)
class OfferDraw:
    """Offer the opponent a draw, at any ply."""

    seat: Seat
    request: str


@dataclass(frozen=True, slots=True)
class AnswerDraw:
    """Accept or decline the opponent's open draw offer."""

    seat: Seat
    request: str
    accept: bool


@dataclass(frozen=True, slots=True)
class ClaimDraw:
    """Claim a draw that the rules of the game grant to the seat to move."""

    seat: Seat
    request: str


@dataclass(frozen=True, slots=True)
class Resign:
    """Resign."""

    seat: Seat
    request: str


@dataclass(frozen=True, slots=True)
class Abort:
    """Abort a match, so that it does not count. `by`: the organiser's id.

    `note`: its reason, at most 500 characters.
    """

    by: str
    request: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Adjudicate:
    """End a match with a result that the organiser sets. `winner` is a seat for a win, else 0.

    by_tables: endgame tables say so.
    """

    by: str
    request: str
    result: ResultKind
    winner: int = 0
    note: str = ""
    by_tables: bool = False


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The server was unavailable, or is shutting down: stop the clock, and treat both players as absent.

    player: if it is given, nothing happens unless the clock of this player runs, in a turn that began no later than
    `began_by` (None: whenever it began).
    """

    reason: Interruption
    player: str = ""
    began_by: int | None = None


@dataclass(frozen=True, slots=True)
class ReportFault:
    """The arbiter itself failed in this match, as `note` describes: the match is void."""

    note: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed; see `arbiter.matches.match.deadline`."""


SeatRequest = Play | OfferDraw | AnswerDraw | ClaimDraw | Resign
"""Commands of a player that carry a request id."""

OrganiserRequest = Abort | Adjudicate
"""Commands of an organiser that carry a request id."""

Request = SeatRequest | OrganiserRequest
"""Commands that carry a request id."""

Command = SeatRequest | OrganiserRequest | Arrive | Leave | Interrupt | ReportFault | Tick
"""Every command to a match that exists."""

NAMES: Final[dict[type[Command], CommandName]] = {
    Play: CommandName.PLAY,
    OfferDraw: CommandName.OFFER_DRAW,
    AnswerDraw: CommandName.ANSWER_DRAW,
    ClaimDraw: CommandName.CLAIM_DRAW,
    Resign: CommandName.RESIGN,
    Abort: CommandName.ABORT,
    Adjudicate: CommandName.ADJUDICATE,
    Arrive: CommandName.ARRIVE,
    Leave: CommandName.LEAVE,
    Interrupt: CommandName.INTERRUPT,
    ReportFault: CommandName.FAULT,
    Tick: CommandName.TICK,
}
"""The name of each command."""
