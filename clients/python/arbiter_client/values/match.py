"""Matches and their events: the values of MatchService. Instants are UTC in milliseconds since 1970."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import islice

from arbiter_protos.v1 import match_pb2

from arbiter_client.errors import Reason, reason_of
from arbiter_client.values.reading import ELSEWHERE, OpenEnum, read

CERTAIN = 1_000  #: the evaluation by a player that is sure to win
MOST_LINE_MOVES = 32
LONGEST_LINE = 500  #: characters of all moves of a line


class Phase(OpenEnum):
    """The phase of a match."""

    UNSPECIFIED = 0
    PENDING = 1  #: waiting for both players to be present
    ACTIVE = 2  #: being played; a clock runs
    PAUSED = 3  #: interrupted; no clock runs
    ENDED = 4


class ResultKind(OpenEnum):
    """The kind of a match's end."""

    UNSPECIFIED = 0
    WIN = 1
    DRAW = 2
    VOID = 3  #: void: it is not counted


class Cause(OpenEnum):
    """The reason of a match's end."""

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
    """The party that is responsible for the end of a match."""

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
        """Return a seat's points: 1, ½ or 0, or None if the match is void."""
        if self.kind == ResultKind.WIN:
            return 1.0 if self.winner == seat else 0.0
        return 0.5 if self.kind == ResultKind.DRAW else None


@dataclass(frozen=True, slots=True)
class Clock:
    """A player's clock: the time left, and the time that it may use for its next move before its flag falls."""

    remaining_ms: int
    available_ms: int
    periods_left: int
    moves_left: int


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy of a match for absent players and wrong moves; None: the server's value."""

    illegal_moves: int | None = None
    no_show_ms: int | None = None
    abandon_ms: int | None = None
    move_cap_ms: int | None = None
    kept_refusals: int | None = None
    ready_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Searched:
    """What an engine says of the search that found its move; None: it does not say.

    centipawns: its score. mate: moves until it mates, negative if it is mated. depth: in plies. nodes: positions that
    it has looked at. time_ms: how long it has searched.
    """

    centipawns: int | None = None
    mate: int | None = None
    depth: int | None = None
    nodes: int | None = None
    time_ms: int | None = None


@dataclass(frozen=True, slots=True)
class MoveComment(Searched):
    """The comment of a bot on its move: the expected score in permille (500 is even), the expected line, its search."""

    evaluation: int | None = None
    line: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommentedMove:
    """The comment of a bot on the move at a ply."""

    ply: int
    comment: MoveComment


def comment_message(
    evaluation: object, line: Iterable[object], search: Searched | None = None
) -> match_pb2.MoveComment | None:
    """Return the message of a comment, or None if it is empty.

    What does not fit into the limits is left out, since a comment must not cost the move.
    """
    score = evaluation if isinstance(evaluation, int) and 0 <= evaluation <= CERTAIN else None
    kept: list[str] = []
    for move in islice(line, MOST_LINE_MOVES):
        if not isinstance(move, str) or not move.isascii() or len(move) > LONGEST_LINE:
            break
        kept.append(move)
    if score is None and not kept and search is None:
        return None
    said = search or Searched()
    return match_pb2.MoveComment(
        evaluation=score,
        line=kept,
        centipawns=said.centipawns,
        mate=said.mate,
        depth=said.depth,
        nodes=said.nodes,
        time_ms=said.time_ms,
    )


@dataclass(frozen=True, slots=True)
class Match:
    """The state of a match. Players and clocks are by seat, seat 1 first; `moves` only if requested.

    `opening_plies`: how many of the first moves are the opening, which nobody played. `versions`: the versions of the
    players' bots for which the match counts, by seat; '' if one is not known. `time_controls`: by seat; `time_control`
    has both, with a colon between two that differ. `comments`: those of the bots on their moves; present together with
    the moves, once the match has ended. `start_position`: that from which the moves begin; '' for the initial one.
    `unrated_by`: the number of the ruling by which a rated match does not count for ratings, 0 without one.
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
    start_position: str = ""
    unrated_by: int = 0


@dataclass(frozen=True, slots=True)
class Ledger:
    """The time accounting of a move: instants, time not charged, charged, left, and the network's round trip."""

    started_ms: int
    handed_over_ms: int
    arrived_ms: int
    credited_ms: int
    charged_ms: int
    left_ms: int
    round_trip_ms: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to a request that has been carried out durably. `result` is set once the match has ended."""

    request_id: str
    match_id: str
    revision: int
    ply: int
    ledger: Ledger | None
    result: Result | None


@dataclass(frozen=True, slots=True)
class MatchCreated:
    """A match was made. `position`: its start, '' for the initial one; `opening`: first moves that nobody played."""

    game: str
    players: tuple[str, ...]
    time_control: str
    rated: bool
    label: str
    opening: tuple[str, ...] = ()
    position: str = ""


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
    """An illegal or malformed move was counted against a player: `strikes` is the number so far, `reason` the cause."""

    seat: int
    ply: int
    move: str
    strikes: int
    reason: Reason = field(default=Reason.UNKNOWN, metadata=ELSEWHERE)


@dataclass(frozen=True, slots=True)
class RequestRejected:
    """A player's request was refused without a penalty; `reason` and `words` are those of its answer.

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
    """A player connected or disconnected, offered or declined a draw: see the event's kind.

    version: that of the bot that connected, '' if it is not known.
    """

    seat: int
    version: str = ""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The match was interrupted by a `restart` or `drain`; the interrupted turn is not charged to anybody."""

    reason: str


Happening = MatchCreated | TurnStarted | MovePlayed | StrikeCounted | RequestRejected | SeatEvent | Interrupted | Result
"""The content of an event of a match."""

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
    """An event of a match. `what` is None if the event's kind is newer than this client.

    `record` holds the exact bytes of the record if they were requested; `token` resumes a stream after this event.
    `plies`: how many moves the match has had at its end; 0 for any other event.
    """

    match_id: str
    revision: int
    at_ms: int
    kind: str
    record: bytes
    what: Happening | None = field(default=None, metadata=ELSEWHERE)
    token: str = field(default="", metadata=ELSEWHERE)
    plies: int = 0


def read_event(message: match_pb2.MatchEvent, token: str) -> MatchEvent:
    """Return an event of a match, with the token of its message."""
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
        plies=message.plies,
    )
