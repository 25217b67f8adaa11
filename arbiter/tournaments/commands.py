"""Commands: what a tournament can be asked to do.

Those with a `request` come from people and programs outside, and change a tournament at most once for each id of a
caller. The others come from the arbiter itself, which drives the tournament.
"""

from __future__ import annotations

from dataclasses import dataclass

from arbiter.tournaments.meetings import Pair, Winner


@dataclass(frozen=True, slots=True)
class Enter:
    """Let a player in.

    rating: whole Elo points to seed it by, 0 if unrated; byes: rounds that it asks to sit out. badge: whether this
    version of its bot has passed the conformance kit.
    """

    player: str
    caller: str
    request: str
    version: str = ""
    rating: int = 0
    byes: tuple[int, ...] = ()
    badge: bool = False


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Take a player out."""

    player: str
    caller: str
    request: str


@dataclass(frozen=True, slots=True)
class Start:
    """Begin to play."""

    caller: str
    request: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Begin no further games."""

    caller: str
    request: str


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on after a pause."""

    caller: str
    request: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """End the tournament now; what has been played stands."""

    caller: str
    request: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Arrange:
    """Pair players as a pairer proposed; `revision` is the tournament's that the proposal was made for."""

    revision: int
    round: int
    pairs: tuple[Pair, ...]
    byes: tuple[str, ...] = ()
    free: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Begin:
    """The match of a game has been made."""

    game: int
    attempt: int
    match: str


@dataclass(frozen=True, slots=True)
class Report:
    """The match of a game has ended; `winner` None means that it was void. `moves`: as in `events.EndedGame`."""

    game: int
    match: str
    winner: Winner | None
    reason: str
    cause: str
    moves: str = ""


@dataclass(frozen=True, slots=True)
class Decide:
    """The sequential test of a trial has an answer, in words."""

    note: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed, or something has: see whether the tournament is to begin or is over."""


Request = Enter | Withdraw | Start | Pause | Continue | Cancel
"""Commands from outside, with a request id."""

Command = Request | Arrange | Begin | Report | Decide | Tick
"""Every command to a tournament that exists."""
