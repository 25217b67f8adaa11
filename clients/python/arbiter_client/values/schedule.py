"""When a tournament takes place, and what the table over its series counts: parts of a specification."""

from __future__ import annotations

from dataclasses import dataclass

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
