"""The rules of a league, and what the server fills in for each of its seasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from arbiter.options import Option
from arbiter.tournaments.groups import Named


@dataclass(frozen=True, slots=True)
class LeagueRules:
    """The divisions of a league, and who moves between them after a season (`arbiter.tournaments.league`)."""

    divisions: Annotated[
        tuple[str, ...],
        Option(
            "The names of the divisions, two or more, the highest one first.",
            bounds=(0, 20),
        ),
    ] = ()
    size: Annotated[int, Option("The players of each division; the last one has all others.", bounds=(2, 1_000))] = 8
    move: Annotated[
        int,
        Option(
            "How many go up, and how many down, after a season; at most half of the size.",
            bounds=(0, 500),
        ),
    ] = 1
    missing: Annotated[
        int,
        Option("A player without a game in this many successive seasons drops out; 0: nobody does.", bounds=(0, 20)),
    ] = 2


@dataclass(frozen=True, slots=True)
class LeagueSeason:
    """What the server fills in for a tournament of a league; nobody else can.

    before: how many seasons there were before this one. division: which one, 0 for the highest. first: the tournament
    of the highest division in this season, '' in that one itself. places: the players of each division, the best ones
    first; moves: the players by what has brought them there (`league.Move`). The last two are only in the lower
    divisions, which are created when the season begins.
    """

    before: int = 0
    division: int = 0
    first: str = ""
    places: Named = field(default_factory=dict)
    moves: Named = field(default_factory=dict)
