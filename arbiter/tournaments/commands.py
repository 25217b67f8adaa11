"""Commands to a tournament.

Those with a `request` come from external callers, and change a tournament at most once for each request id of a caller.
The others come from the arbiter itself, which runs the tournament.
"""

from __future__ import annotations

from dataclasses import dataclass

from arbiter.tournaments.corrections import Correction
from arbiter.tournaments.events import Decision
from arbiter.tournaments.game_ends import Winner
from arbiter.tournaments.meetings import Pair


@dataclass(frozen=True, slots=True)
class Enter:
    """Enter a player.

    rating: whole Elo points for seeding, 0 if unrated; byes: rounds that it asks to sit out. badge: whether this
    version of its bot has passed the conformance kit. team, category: '' for none.
    """

    player: str
    caller: str
    request: str
    version: str = ""
    rating: int = 0
    byes: tuple[int, ...] = ()
    badge: bool = False
    team: str = ""
    category: str = ""


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Withdraw a player."""

    player: str
    caller: str
    request: str


@dataclass(frozen=True, slots=True)
class ChangeEntry:
    """Change a player's entry. rating: for seeding; byes: all the rounds that it sits out; None: unchanged.

    version: of its bot from now on, '' if unchanged.
    """

    player: str
    caller: str
    request: str
    rating: int | None = None
    byes: tuple[int, ...] | None = None
    version: str = ""


@dataclass(frozen=True, slots=True)
class GoOn:
    """Start with what was played elsewhere. The fields are those of `events.PlayedElsewhere`."""

    caller: str
    request: str
    report: str
    players: tuple[str, ...]
    versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """Start the tournament."""

    caller: str
    request: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Pause: start no further games."""

    caller: str
    request: str


@dataclass(frozen=True, slots=True)
class Continue:
    """Continue after a pause."""

    caller: str
    request: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel: end the tournament now; results so far stay valid.

    series_goes_on: the next tournament of its series is made before, if there is none yet.
    """

    caller: str
    request: str
    note: str = ""
    series_goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule on a game that has a result. The fields are those of `events.Ruled`.

    revision: of the tournament that the caller has seen, 0 for any: refused if the result of this game has changed
    since.
    """

    caller: str
    request: str
    game: int
    decision: Decision
    points: tuple[int, ...] = ()
    note: str = ""
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Correct:
    """Correct the tournament. The fields are those of `events.Corrected`.

    revision: of the tournament that the caller has seen, 0 for any: refused if an organiser has decided something since
    (for a game to be played again: if its result has changed).
    """

    caller: str
    request: str
    what: Correction
    note: str = ""
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Arrange:
    """Pair players as a pairer proposed. `revision`: the tournament's revision for which the proposal was made.

    idle: fewer than two players play this round, since others sit it out: it is a round all the same.
    """

    revision: int
    round: int
    pairs: tuple[Pair, ...]
    byes: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Begin:
    """The match of a game was created; `opening`: its first moves; `position`, `entry`: as in `events.Begun`."""

    game: int
    attempt: int
    match: str
    opening: tuple[str, ...] = ()
    position: str = ""
    entry: int = 0


@dataclass(frozen=True, slots=True)
class ReportResult:
    """The match of a game has ended; `winner` None means that it was void. `moves`: as in `events.EndedGame`.

    absent: the seats of the players because of whose absence it ended. `arbiter.tournaments.game_ends` decides what
    this means for the game. stopped: the tournament has ended the match itself, because it ends. versions: as
    in `events.EndedGame`.
    """

    game: int
    match: str
    winner: Winner | None
    reason: str
    cause: str
    moves: str = ""
    absent: tuple[int, ...] = ()
    stopped: bool = False
    versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decide:
    """A trial is over, for a reason given in words. decided: its sequential test ends it, not the end of its games."""

    note: str
    decided: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """Check whether the tournament is due to start or is over: time has passed, or something has changed."""


AfterTheEnd = Rule | Correct
"""Requests that a tournament may accept after its end."""

Request = Enter | Withdraw | ChangeEntry | GoOn | Start | Pause | Continue | Cancel | AfterTheEnd
"""Commands of external callers, with a request id."""

Command = Request | Arrange | Begin | ReportResult | Decide | Tick
"""Every command to a tournament that exists."""
