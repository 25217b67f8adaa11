"""The history of ratings: the ratings at chosen instants, each a fit of the matches that had ended by then.

Nothing is carried from one instant to the next. So each point is what anybody would have computed on that day, and the
last one is today's rating. A curve moves because games were played, by this player or by others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from arbiter.ratings.answers import RatingPoint
from arbiter.ratings.fit import FittedRatings, fit
from arbiter.ratings.model import Prior
from arbiter.ratings.record import Result, counts_of


class Dated(NamedTuple):
    """A result and the end of its match, in milliseconds since 1970."""

    ended_ms: int
    result: Result


class Moment(NamedTuple):
    """The ratings at an instant, in milliseconds since 1970."""

    at_ms: int
    ratings: FittedRatings


def history(
    results: Iterable[Dated],
    instants: Sequence[int],
    game: str | None = None,
    prior: Prior | None = None,
    anchors: Mapping[str, float] | None = None,
) -> tuple[Moment, ...]:
    """Return the ratings at some instants, in order of time.

    Results may be in any order; those of an instant are included.

    `game`: of one game, or (None) across games. It costs one fit for each instant. Raises Refusal ARGUMENT_INVALID as
    `counts_of` and `fit` do.
    """
    ordered = sorted(results)
    moments, ended, place = [], list[Result](), 0
    for at_ms in sorted(set(instants)):
        while place < len(ordered) and ordered[place].ended_ms <= at_ms:
            ended.append(ordered[place].result)
            place += 1
        moments.append(Moment(at_ms, fit(counts_of(ended, game), prior, anchors)))
    return tuple(moments)


def evenly(first_ms: int, last_ms: int, points: int) -> tuple[int, ...]:
    """Return this many instants at equal distances, including both ends; fewer if there are not enough milliseconds."""
    steps = max(1, points - 1)
    return tuple(sorted({first_ms + (last_ms - first_ms) * step // steps for step in range(steps + 1)}))


def of_player(moments: Iterable[Moment], player: str) -> tuple[RatingPoint, ...]:
    """Return a player's ratings at the instants, from its first rated game on."""
    rated = ((at_ms, ratings.of(player)) for at_ms, ratings in moments if ratings.has(player))
    return tuple(RatingPoint(at_ms, each.rating, each.low, each.high) for at_ms, each in rated if each.games)
