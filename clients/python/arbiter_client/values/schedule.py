"""When a tournament takes place, what the table over its series counts, its league: parts of a specification."""

from __future__ import annotations

from dataclasses import dataclass

from arbiter_client.values.groups import PlayerGroup
from arbiter_client.values.reading import OpenEnum


class TooFewRule(OpenEnum):
    """What happens if a tournament's start time comes with too few players."""

    UNSPECIFIED = 0  #: wait
    WAIT = 1  #: it starts as soon as there are enough
    CANCEL = 2


@dataclass(frozen=True, slots=True)
class Schedule:
    """The times of a tournament. 0: the organiser starts it, and entry closes with the start.

    too_few: what happens if it has too few players when it is to start. every: when it takes place again and again,
    such as `friday 18:00 Europe/Berlin`, or a cron expression and a time zone; '' for once.
    """

    start_ms: int = 0
    entry_closes_ms: int = 0
    too_few: TooFewRule = TooFewRule.WAIT
    every: str = ""


@dataclass(frozen=True, slots=True)
class SeriesRules:
    """What the table over a series counts.

    best: how many of a player's results, 0 for all. last: of how many tournaments. place_points: what a place counts,
    the first place first; empty if the points in a tournament count.
    """

    best: int = 0
    last: int = 100
    place_points: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LeagueRules:
    """The divisions of a league.

    divisions: their names, the highest one first; none if it is no league. size: how many players each has but the last
    one, which has all others. move: how many go up, and how many down, between two of them after a season. missing: in
    how many seasons in a row a player without a played game drops out, 0 for never.
    """

    divisions: tuple[str, ...] = ()
    size: int = 8
    move: int = 1
    missing: int = 2


@dataclass(frozen=True, slots=True)
class LeagueSeason:
    """A season of a league, as a tournament of it says it; the server fills it in.

    before: how many there were before. division: 0 for the highest one. first: the tournament of the highest one, ''
    in that one itself. places: the players by division. moves: by what has brought them there. The last two only in
    lower divisions.
    """

    before: int = 0
    division: int = 0
    first: str = ""
    places: tuple[PlayerGroup, ...] = ()
    moves: tuple[PlayerGroup, ...] = ()
