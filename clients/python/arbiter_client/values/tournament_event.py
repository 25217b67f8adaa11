"""Events of tournaments, as Observe sends them together with the events of their matches."""

from __future__ import annotations

from dataclasses import dataclass, field

from arbiter_protos.v1 import match_pb2

from arbiter_client.values.correction import Correction
from arbiter_client.values.reading import ELSEWHERE, read


@dataclass(frozen=True, slots=True)
class TournamentCreated:
    """A tournament was made: entry is open."""

    name: str
    games: tuple[str, ...]
    time_control: str
    rated: bool
    creator: str


@dataclass(frozen=True, slots=True)
class EntrantEvent:
    """A player entered or withdrew: see the event's kind. version, rating, team, category: at its entry."""

    player: str
    version: str
    rating: int
    caller: str
    team: str = ""
    category: str = ""


@dataclass(frozen=True, slots=True)
class EntryChanged:
    """The entry of a player was changed: the rating for its seeding and its byes from now on.

    version: of its bot, '' if it is still the one of its entry.
    """

    player: str
    rating: int
    byes: tuple[int, ...]
    caller: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class StartMissed:
    """The start time has come with too few players: the tournament waits until it has as many as are needed."""

    players: int
    needed: int


@dataclass(frozen=True, slots=True)
class TournamentStarted:
    """Play begins. seeds: the players in the order of their seeds; caller: the organiser, '' if it started by time.

    rules: the published rules by which the format pairs, with their edition; '' for a format without.
    """

    seeds: tuple[str, ...]
    caller: str
    rules: str = ""


@dataclass(frozen=True, slots=True)
class PlayedElsewhere:
    """A tournament goes on that was begun elsewhere. report: a TRF without names; players: by their numbers in it."""

    report: str
    players: tuple[str, ...]
    caller: str


@dataclass(frozen=True, slots=True)
class OrganiserEvent:
    """An organiser paused or resumed the tournament: see the event's kind."""

    caller: str


@dataclass(frozen=True, slots=True)
class PairedGame:
    """A game to be played; players by seat."""

    number: int
    players: tuple[str, ...]
    game: str


@dataclass(frozen=True, slots=True)
class GamesPaired:
    """Games were paired. byes: players who do not play in this round, and get a full point."""

    round: int
    games: tuple[PairedGame, ...]
    byes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GameBegun:
    """The match of a game was made. attempt: 1, and one more for every match of it that was void.

    opening: the moves with which it begins, from `position`, '' for the initial one. entry: of the tournament's book, 0
    if it has none.
    """

    number: int
    match_id: str
    attempt: int
    opening: tuple[str, ...] = ()
    position: str = ""
    entry: int = 0


@dataclass(frozen=True, slots=True)
class GameEnded:
    """A game has its result. match_id: '' for a walkover; winner: a seat, or 0.

    versions: of the bots in this match, by seat, each '' if unknown; () for a walkover. moves: equal for two games with
    the same moves; '' if unknown.
    """

    number: int
    match_id: str
    winner: int
    reason: str
    cause: str
    versions: tuple[str, ...] = ()
    moves: str = ""


@dataclass(frozen=True, slots=True)
class GameVoided:
    """A game's match was void: it is played again."""

    number: int
    match_id: str
    attempt: int
    reason: str


@dataclass(frozen=True, slots=True)
class GameRuled:
    """The organiser has ruled on a game that had a result. The newest ruling on a game counts.

    decision: `points` (half_points: of seat 1 and seat 2), `void` (it does not count) or `stands` (its result counts).
    """

    number: int
    decision: str
    half_points: tuple[int, ...]
    note: str
    caller: str


@dataclass(frozen=True, slots=True)
class TournamentCorrected:
    """The organiser has corrected the tournament. note: why, for everybody."""

    correction: Correction
    note: str
    caller: str


@dataclass(frozen=True, slots=True)
class TournamentEnded:
    """The tournament is over. end: `complete`, `time`, `decided` or `cancelled`; caller: the one who cancelled it."""

    end: str
    note: str
    caller: str


TournamentHappening = (
    TournamentCreated
    | EntrantEvent
    | EntryChanged
    | StartMissed
    | PlayedElsewhere
    | TournamentStarted
    | OrganiserEvent
    | GamesPaired
    | GameBegun
    | GameEnded
    | GameVoided
    | GameRuled
    | TournamentCorrected
    | TournamentEnded
)
"""The content of an event of a tournament."""

_HAPPENINGS: dict[str, type[TournamentHappening]] = {
    "created": TournamentCreated,
    "entrant": EntrantEvent,
    "entry_changed": EntryChanged,
    "start_missed": StartMissed,
    "played_elsewhere": PlayedElsewhere,
    "started": TournamentStarted,
    "organiser": OrganiserEvent,
    "paired": GamesPaired,
    "begun": GameBegun,
    "game_ended": GameEnded,
    "voided": GameVoided,
    "ruled": GameRuled,
    "corrected": TournamentCorrected,
    "ended": TournamentEnded,
}


@dataclass(frozen=True, slots=True)
class TournamentEvent:
    """An event of a tournament. `what` is None if the event's kind is newer than this client.

    `record` holds the exact bytes of the record if they were requested; `token` resumes a stream after this event.
    """

    tournament_id: str
    revision: int
    at_ms: int
    kind: str
    record: bytes
    what: TournamentHappening | None = field(default=None, metadata=ELSEWHERE)
    token: str = field(default="", metadata=ELSEWHERE)


def read_tournament_event(message: match_pb2.TournamentEvent, token: str) -> TournamentEvent:
    """Return an event of a tournament, with the token of its message."""
    arm = message.WhichOneof("event")
    return TournamentEvent(
        tournament_id=message.tournament_id,
        revision=message.revision,
        at_ms=message.at_ms,
        kind=message.kind,
        record=message.record,
        what=read(_HAPPENINGS[arm], getattr(message, arm)) if arm in _HAPPENINGS else None,
        token=token,
    )
