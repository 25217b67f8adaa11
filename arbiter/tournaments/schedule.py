"""When a tournament takes place, and what the table over a series of tournaments counts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from arbiter.options import Option, Written

DATE: Final = "2026-12-01T18:00:00Z"  #: how a date and time is written in a file
_INSTANT: Final = (0, 1 << 53)


class TooFew(StrEnum):
    """What happens if a tournament's start time comes with too few players."""

    WAIT = "wait"  #: it starts as soon as there are enough
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Schedule:
    """When things happen."""

    start_ms: Annotated[
        int,
        Option(
            "When it starts; 0: when the organiser says so.",
            bounds=_INSTANT,
            allowed="milliseconds since 1970, UTC",
            example=f"`start = {DATE}`",
            written=Written.INSTANT,
        ),
    ] = 0
    entry_closes_ms: Annotated[
        int,
        Option(
            "When entry closes; 0: with the start.",
            bounds=_INSTANT,
            allowed="milliseconds since 1970, UTC",
            written=Written.INSTANT,
        ),
    ] = 0
    too_few: Annotated[TooFew, Option("What happens with too few players then.")] = TooFew.WAIT
    every: Annotated[
        str,
        Option(
            "When it takes place again and again: first at `start`, or else at the next such time.",
            allowed="a weekday or `daily` and a time, or a cron expression; then a time zone",
            example='`every = "friday 18:00 Europe/Berlin"`, `"0 18 1 * * Europe/Berlin"`',
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class SeriesRules:
    """What the table over a series counts; see `arbiter.tournaments.series_table`."""

    best: Annotated[int, Option("How many of a player's best results count; 0: all.", bounds=(0, 100))] = 0
    last: Annotated[
        int,
        Option("How many of the last tournaments that took place count.", bounds=(1, 100)),
    ] = 100
    place_points: Annotated[
        tuple[int, ...],
        Option(
            "What each place counts, the first one first; without any, points count.",
            bounds=(0, 100),
            allowed="up to 100 whole numbers from 0 to 10000",
        ),
    ] = ()
