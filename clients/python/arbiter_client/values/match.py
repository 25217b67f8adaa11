"""Matches and what happens in them: what MatchService says. Instants are UTC in milliseconds since 1970."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import islice

from arbiter_protos.v1 import match_pb2

from arbiter_client.errors import Reason, reason_of
from arbiter_client.values.reading import ELSEWHERE, OpenEnum, read

CERTAIN = 1_000  #: the evaluation of a position that the mover is sure to win
MOST_LINE_MOVES = 32
LONGEST_LINE = 500  #: characters of all moves of a line


class Phase(OpenEnum):
    """Where a match is in its life."""

    UNSPECIFIED = 0
    PENDING = 1  #: waiting for both players to be present
    ACTIVE = 2  #: being played; a clock runs
    PAUSED = 3  #: interrupted; no clock runs
    ENDED = 4


class ResultKind(OpenEnum):
    """What kind of end a match had."""

    UNSPECIFIED = 0
    WIN = 1
    DRAW = 2
    VOID = 3  #: it does not count


class Cause(OpenEnum):
    """What brought the end about."""

    UNSPECIFIED = 0
    RULES = 1
    AGREEMENT = 2
    RESIGNATION = 3
    TIME = 4
    RULE_VIOLATION = 5
    ABSENCE = 6
    ORGANISER = 7
    ARBITER = 8


class Party(OpenEnum):
    """Who is responsible for the end, seen from the match."""

    UNSPECIFIED = 0
    PLAYER = 1
    PLAYERS = 2
    ARBITER = 3
    ORGANISER = 4


class StartRule(OpenEnum):
    """When a match starts."""

    UNSPECIFIED = 0
    WHEN_PRESENT = 1  #: once both players are present
    AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Result:
    """How a match ended. `winner` and `responsible_seat` are seats, or 0; `note` is the organiser's."""

    kind: ResultKind
    winner: int
    reason: str
    cause: Cause
    party: Party
    responsible_seat: int
    note: str

    def score(self, seat: int) -> float | None:
        """Return a seat's points: 1, ½ or 0, or None where the match does not count."""
        if self.kind == ResultKind.WIN:
            return 1.0 if self.winner == seat else 0.0
        return 0.5 if self.kind == ResultKind.DRAW else None


@dataclass(frozen=True, slots=True)
class Clock:
    """A player's clock: time left, and how long it may think on its next move before its flag falls."""

    remaining_ms: int
    available_ms: int
    periods_left: int
    moves_left: int


@dataclass(frozen=True, slots=True)
class Policy:
    """What a match does about absent players and wrong moves; None: the server's figure."""

    illegal_moves: int | None = None
    no_show_ms: int | None = None
    abandon_ms: int | None = None
    move_cap_ms: int | None = None
    kept_refusals: int | None = None


@dataclass(frozen=True, slots=True)
class MoveComment:
    """What a bot said with its move: the score it expected, in permille (500 is even), and the line it expected."""

    evaluation: int | None
    line: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommentedMove:
    """What a bot said with the move at a ply."""

    ply: int
    comment: MoveComment


def comment_message(evaluation: object, line: Iterable[object]) -> match_pb2.MoveComment | None:
    """Return the message of what is said with a move, or None if that is nothing.

    What does not fit is left out, whatever it is: a comment must not cost the move.
    """
    score = evaluation if isinstance(evaluation, int) and 0 <= evaluation <= CERTAIN else None
    kept: list[str] = []
    for move in islice(line, MOST_LINE_MOVES):
        if not isinstance(move, str) or not move.isascii() or len(move) > LONGEST_LINE:
            break
        kept.append(move)
    return match_pb2.MoveComment(evaluation=score, line=kept) if score is not None or kept else None


@dataclass(frozen=True, slots=True)
class Match:
    """A match as it stands. Players and clocks are by seat, seat 1 first; `moves` only where they were asked for.

    `opening_plies`: how many of the first moves are the opening, which nobody played.
    `versions`: of the players' bots that the match counts for, by seat; '' where one is not known.
    `time_controls`: by seat; `time_control` is both, with a colon between two that differ.
    `comments`: what the bots said with their moves; told with the moves, once the match has ended.
    """

    match_id: str
    game: str
    players: tuple[str, ...]
    time_control: str
    rated: bool
    label: str
    phase: Phase
    revision: int
    ply: int
    turn: int
    position: str
    moves: tuple[str, ...]
    clocks: tuple[Clock, ...]
    turn_started_ms: int
    draw_offered_by: int
    result: Result | None
    created_ms: int
    ended_ms: int
    policy: Policy
    comments: tuple[CommentedMove, ...] = ()
    opening_plies: int = 0
    versions: tuple[str, ...] = ()
    time_controls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ledger:
    """How the time of a move was reckoned: instants, time not charged, charged, left, and the network's round trip."""

    started_ms: int
    handed_over_ms: int
    arrived_ms: int
    credited_ms: int
    charged_ms: int
    left_ms: int
    round_trip_ms: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """Says that a request has been carried out, durably. `result` is set once the match has ended."""

    request_id: str
    match_id: str
    revision: int
    ply: int
    ledger: Ledger | None
    result: Result | None


@dataclass(frozen=True, slots=True)
class MatchCreated:
    """A match was made. `opening`: the first moves, which nobody played."""

    game: str
    players: tuple[str, ...]
    time_control: str
    rated: bool
    label: str
    opening: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn's clock started: at the start of the match, or again after an interruption."""

    turn: int
    position: str
    clocks: tuple[Clock, ...]
    ply: int


@dataclass(frozen=True, slots=True)
class MovePlayed:
    """A move was played. `ply` counts the moves before it; `position`, `turn` and `clocks` are those after it."""

    ply: int
    seat: int
    move: str
    position: str
    turn: int
    ledger: Ledger | None
    clocks: tuple[Clock, ...]


@dataclass(frozen=True, slots=True)
class StrikeCounted:
    """An illegal or malformed move was counted against a player, who has `strikes` of them now; `reason` says which."""

    seat: int
    ply: int
    move: str
    strikes: int
    reason: Reason = field(default=Reason.UNKNOWN, metadata=ELSEWHERE)


@dataclass(frozen=True, slots=True)
class RequestRejected:
    """A player's request was refused and cost nothing; `reason` and `words` are those of its answer.

    command: Play (with ply and move), OfferDraw, AnswerDraw, ClaimDraw or Resign.
    """

    seat: int
    request_id: str
    command: str
    ply: int
    move: str
    reason: Reason = field(default=Reason.UNKNOWN, metadata=ELSEWHERE)
    words: str = field(default="", metadata=ELSEWHERE)


@dataclass(frozen=True, slots=True)
class SeatEvent:
    """A player came or went, offered or declined a draw: the event's kind says which.

    version: of the bot that came, '' if it is not known.
    """

    seat: int
    version: str = ""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The match stopped, for `restart` or `drain`; nobody is charged for the turn that was interrupted."""

    reason: str


Happening = MatchCreated | TurnStarted | MovePlayed | StrikeCounted | RequestRejected | SeatEvent | Interrupted | Result
"""What an event of a match says happened."""

_HAPPENINGS: dict[str, type[Happening]] = {
    "created": MatchCreated,
    "turn_started": TurnStarted,
    "moved": MovePlayed,
    "strike": StrikeCounted,
    "rejected": RequestRejected,
    "seat": SeatEvent,
    "interrupted": Interrupted,
    "ended": Result,
}


@dataclass(frozen=True, slots=True)
class MatchEvent:
    """An event of a match. `what` is None where the event's kind is newer than this client.

    `record` holds the exact bytes of the record if they were asked for; `token` resumes a stream of everything after
    this event.
    """

    match_id: str
    revision: int
    at_ms: int
    kind: str
    record: bytes
    what: Happening | None = field(default=None, metadata=ELSEWHERE)
    token: str = field(default="", metadata=ELSEWHERE)


def read_event(message: match_pb2.MatchEvent, token: str) -> MatchEvent:
    """Return an event of a match, and the token that stood beside it."""
    arm = message.WhichOneof("event")
    what = read(_HAPPENINGS[arm], getattr(message, arm)) if arm in _HAPPENINGS else None
    if isinstance(what, StrikeCounted):
        what = replace(what, reason=reason_of(message.strike.reason))
    if isinstance(what, RequestRejected):
        refusal = message.rejected.refusal
        what = replace(what, reason=reason_of(refusal.reason), words=refusal.message)
    return MatchEvent(
        match_id=message.match_id,
        revision=message.revision,
        at_ms=message.at_ms,
        kind=message.kind,
        record=message.record,
        what=what,
        token=token,
    )
