"""The rules of a series of tournaments: what the table over it counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from arbiter.options import Option


@dataclass(frozen=True, slots=True)
class SeriesRules:
    """What the table over a series counts; see `arbiter.tournaments.series_table`."""

    best: Annotated[int, Option("How many of a player's results count, the best ones; 0: all.", bounds=(0, 100))] = 0
    last: Annotated[
        int,
        Option("Of how many tournaments, the last ones that took place and have ended.", bounds=(1, 100)),
    ] = 100
    place_points: Annotated[
        tuple[int, ...],
        Option(
            "What a place in a tournament counts, the first place first; without any, points count.",
            bounds=(0, 100),
            allowed="a list of at most 100 whole numbers from 0 to 10000",
            example="`place_points = [10, 7, 5, 3]`",
        ),
    ] = ()
