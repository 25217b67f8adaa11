"""Events of a tournament: all that happens in it, as it is stored and replayed. Instants are UTC epoch milliseconds.

As with matches the log is the only truth: whatever a tournament shows follows from its events, and anyone who has them
can work it out again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from arbiter.tournaments.meetings import Meeting, Winner
from arbiter.tournaments.spec import Spec


class TournamentEventKind(StrEnum):
    """The kinds of events, as `kind` says in the record."""

    CREATED = "tournament_created"
    ENTERED = "entered"
    WITHDRAWN = "withdrawn"
    STARTED = "tournament_started"
    PAUSED = "paused"
    CONTINUED = "continued"
    PAIRED = "paired"
    BEGUN = "game_begun"
    ENDED_GAME = "game_ended"
    VOIDED = "game_voided"
    ENDED = "tournament_ended"


class End(StrEnum):
    """Why a tournament ended."""

    COMPLETE = "complete"  #: everything that its format asks for has been played
    TIME = "time"  #: its duration was over: games under way were aborted, those that ended before that count
    DECIDED = "decided"  #: the sequential test has an answer, or can get none from these openings: the note says which
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Created:
    """A tournament was made, by an organiser's request."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.CREATED
    at: int
    tournament: str
    spec: Spec
    creator: str
    request: str


@dataclass(frozen=True, slots=True)
class Entered:
    """A player entered. `rating` seeds it, whole Elo points (0: unrated); `byes` are rounds that it sits out."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.ENTERED
    at: int
    player: str
    version: str
    rating: int
    byes: tuple[int, ...]
    caller: str
    request: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A player goes no further: it is paired no more, and what it was still to play is lost by walkover."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.WITHDRAWN
    at: int
    player: str
    caller: str
    request: str


@dataclass(frozen=True, slots=True)
class Started:
    """Play begins, with the players in the order of their seeds: by rating, best first, then by entry.

    rules: by which published rules, of which edition, the format pairs; '' where there are none, and in older records.
    """

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.STARTED
    at: int
    seeds: tuple[str, ...]
    caller: str
    request: str
    rules: str = ""


@dataclass(frozen=True, slots=True)
class Paused:
    """No further game is begun; those under way go on."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.PAUSED
    at: int
    caller: str
    request: str


@dataclass(frozen=True, slots=True)
class Continued:
    """Games are begun again."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.CONTINUED
    at: int
    caller: str
    request: str


@dataclass(frozen=True, slots=True)
class Paired:
    """Players were paired. `byes` sit out with a full point. `free`: who could have been paired, where it matters."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.PAIRED
    at: int
    round: int
    meetings: tuple[Meeting, ...]
    byes: tuple[str, ...] = ()
    free: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Begun:
    """The match of a game was made. `attempt` counts from 1: a void match is played again."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.BEGUN
    at: int
    game: int
    attempt: int
    match: str


@dataclass(frozen=True, slots=True)
class EndedGame:
    """A game has its result, by its match or, with `match` '', by walkover.

    moves: tells whether two games had the same moves, those of the opening too: the first 16 hexadecimal digits of the
    SHA-256 of the moves, joined by spaces, as UTF-8. '' for a walkover, and in records of servers that did not say it.
    """

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.ENDED_GAME
    at: int
    game: int
    match: str
    winner: Winner
    reason: str
    cause: str
    moves: str = ""


@dataclass(frozen=True, slots=True)
class Voided:
    """A game's match was void: it is played again."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.VOIDED
    at: int
    game: int
    attempt: int
    match: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The tournament is over; `caller` and `request` are those of an organiser who cancelled it."""

    kind: ClassVar[TournamentEventKind] = TournamentEventKind.ENDED
    at: int
    end: End
    caller: str = ""
    request: str = ""
    note: str = ""


Event = Created | Entered | Withdrawn | Started | Paused | Continued | Paired | Begun | EndedGame | Voided | Ended
"""Every event of a tournament that exists."""

WALKOVER = "walkover"
"""The reason of a game that was lost because a player was not there any more; its cause is absence."""
