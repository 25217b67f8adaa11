"""Events of a tournament: everything that happens in it, as stored and replayed. Instants are UTC epoch milliseconds.

As with matches, the log is the source of truth: the whole state of a tournament follows from its events, and anyone who
has them can recompute it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from arbiter.event_json.codec import Sparse
from arbiter.tournaments.corrections import Correction
from arbiter.tournaments.game_ends import Winner
from arbiter.tournaments.meetings import Meeting
from arbiter.tournaments.spec import Spec


class TournamentEventKind(StrEnum):
    """The kinds of events: the values of `kind` in the record."""

    CREATED = "tournament_created"
    ENTERED = "entered"
    WITHDRAWN = "withdrawn"
    ENTRY_CHANGED = "entry_changed"
    START_MISSED = "start_missed"
    PLAYED_ELSEWHERE = "played_elsewhere"
    STARTED = "tournament_started"
    PAUSED = "paused"
    CONTINUED = "continued"
    PAIRED = "paired"
    BEGUN = "game_begun"
    ENDED_GAME = "game_ended"
    VOIDED = "game_voided"
    RULED = "ruled"
    CORRECTED = "corrected"
    ENDED = "tournament_ended"


class End(StrEnum):
    """Why a tournament ended."""

    COMPLETE = "complete"  #: all games of the format have been played
    TIME = "time"  #: its time has run out: running games were aborted, games that had ended count
    DECIDED = "decided"  #: the sequential test has a decision, or cannot reach one with these openings: see the note
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Created:
    """An organiser's request created a tournament."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.CREATED
    at: int
    tournament: str
    spec: Spec
    creator: str
    request: str


@dataclass(frozen=True, slots=True)
class Entered:
    """A player entered. `rating` seeds it, whole Elo points (0: unrated); `byes` are rounds that it sits out.

    team: of a tournament of teams, '' in others. category: beside those of the specification.
    """

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.ENTERED
    at: int
    player: str
    version: Sparse[str]
    rating: int
    byes: Sparse[tuple[int, ...]]
    caller: Sparse[str]
    request: Sparse[str]
    team: Sparse[str] = ""
    category: Sparse[str] = ""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A player withdrew: it is not paired any more, and loses its remaining games (`arbiter.tournaments.walkovers`)."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.WITHDRAWN
    at: int
    player: str
    caller: Sparse[str]
    request: Sparse[str]


@dataclass(frozen=True, slots=True)
class EntryChanged:
    """A player's entry was changed: its rating for seeding and its byes from now on, whether they changed or not.

    version: of its bot from now on; '' if it is still the one of its entry, and in older records.
    """

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.ENTRY_CHANGED
    at: int
    player: str
    rating: int
    byes: Sparse[tuple[int, ...]]
    caller: Sparse[str]
    request: Sparse[str]
    version: Sparse[str] = ""


@dataclass(frozen=True, slots=True)
class StartMissed:
    """The start time has come with too few players: the tournament waits for more. Recorded once.

    players: how many there are; needed: how many the format needs.
    """

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.START_MISSED
    at: int
    players: int
    needed: int


@dataclass(frozen=True, slots=True)
class PlayedElsewhere:
    """An organiser has the tournament go on that a report is of: all that follows it at the same instant is from there.

    report: a tournament report (`arbiter.tournaments.trf`) without the names of its players. players: who they are
    here, by their numbers in the report; versions: of their bots.
    """

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.PLAYED_ELSEWHERE
    at: int
    report: str
    players: tuple[str, ...]
    versions: tuple[str, ...]
    caller: Sparse[str]
    request: Sparse[str]


@dataclass(frozen=True, slots=True)
class Started:
    """Play starts, with the players in the order of their seeds: by rating, best first, then by entry.

    rules: the published rules, with their edition, by which the format pairs; '' if there are none, and in older
    records.
    """

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.STARTED
    at: int
    seeds: Sparse[tuple[str, ...]]
    caller: Sparse[str]
    request: Sparse[str]
    rules: Sparse[str] = ""


@dataclass(frozen=True, slots=True)
class Paused:
    """Paused: no further games start; running ones continue."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.PAUSED
    at: int
    caller: Sparse[str]
    request: Sparse[str]


@dataclass(frozen=True, slots=True)
class Continued:
    """Resumed: games start again."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.CONTINUED
    at: int
    caller: Sparse[str]
    request: Sparse[str]


@dataclass(frozen=True, slots=True)
class Paired:
    """Players were paired. `byes` sit out with a full point.

    `free`: the players that could be paired, if it matters.
    """

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.PAIRED
    at: int
    round: int
    meetings: tuple[Meeting, ...]
    byes: Sparse[tuple[str, ...]] = ()
    free: Sparse[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Begun:
    """The match of a game was created. `attempt` counts from 1: a void match is played again.

    opening: the moves with which the match begins. () for the initial position, and in older records. position: the
    text of the position before them, '' for the initial one. entry: of the book, from 1; 0 if there is no book.
    """

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.BEGUN
    at: int
    game: int
    attempt: int
    match: str
    opening: Sparse[tuple[str, ...]] = ()
    position: Sparse[str] = ""
    entry: int = 0


@dataclass(frozen=True, slots=True)
class EndedGame:
    """A game has its result: from its match or, with `match` '', without one that counts, as by walkover.

    moves: equal for two games with the same moves, the opening included: the first 16 hexadecimal digits of the SHA-256
    of the moves, joined by spaces, as UTF-8. '' for a walkover, and in records of older servers without it. versions:
    of the players' bots for which the match counts, by seat, each '' if unknown; () for a walkover, and in older ones.
    """

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.ENDED_GAME
    at: int
    game: int
    match: str
    winner: Winner
    reason: str
    cause: str
    moves: Sparse[str] = ""
    versions: Sparse[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Voided:
    """A game's match was void: it is played again, unless this was the last attempt."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.VOIDED
    at: int
    game: int
    attempt: int
    match: str
    reason: str


class Decision(StrEnum):
    """What an organiser rules on a game that has a result."""

    POINTS = "points"  #: it has other points
    VOID = "void"  #: it does not count
    STANDS = "stands"  #: its result counts, and earlier rulings do not


@dataclass(frozen=True, slots=True)
class Ruled:
    """An organiser has ruled on a game that had a result, also after the end of the tournament. Nothing is edited.

    decision: one of `Decision`. points: half points by seat; () unless it is `points`. note: why, for everybody.
    """

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.RULED
    at: int
    game: int
    decision: Decision
    points: Sparse[tuple[int, ...]]
    note: Sparse[str]
    caller: Sparse[str]
    request: Sparse[str]


@dataclass(frozen=True, slots=True)
class Corrected:
    """An organiser has corrected the tournament, some of it also after its end. note: why, for everybody."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.CORRECTED
    at: int
    what: Correction
    note: Sparse[str]
    caller: Sparse[str]
    request: Sparse[str]


@dataclass(frozen=True, slots=True)
class Ended:
    """The tournament is over. If an organiser cancelled it, `caller` and `request` are the organiser's."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.ENDED
    at: int
    end: End
    caller: Sparse[str] = ""
    request: Sparse[str] = ""
    note: Sparse[str] = ""


Event = (
    Created
    | Entered
    | Withdrawn
    | EntryChanged
    | StartMissed
    | PlayedElsewhere
    | Started
    | Paused
    | Continued
    | Paired
    | Begun
    | EndedGame
    | Voided
    | Ruled
    | Corrected
    | Ended
)
"""Every event of a tournament that exists."""
