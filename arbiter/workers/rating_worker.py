"""A worker process for ratings: `python -m arbiter.workers.rating_worker`; see `arbiter.workers.jobs`.

It caches the last few fits, so that a comparison needs no new fit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from arbiter.workers.jobs import Jobs, work
from arbiter.workers.rating import unpacked

if TYPE_CHECKING:
    from arbiter.ratings.answers import Comparison, RatingList, RatingPoint
    from arbiter.service.ratings.ports import ComparisonRequest

# All matrices here are small. Threads that share one would spend more time waiting for each other than they save, and
# would take processors away from live matches. This must be set before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from arbiter.ratings.rating_list import rating_list as rating_list_of_results
from arbiter.service.ratings.worker import comparison_of, history_of, rating_list_of


def rating_list(tallies: Sequence[bytes], anchors: Mapping[str, float]) -> RatingList:
    """Compute the ratings from a record."""
    return rating_list_of(unpacked(tallies), anchors)


def fit(results: Sequence[bytes]) -> RatingList:
    """Compute the ratings from a record of its own, without anchors."""
    return rating_list_of_results(unpacked(results), {})


def history(
    tallies: Sequence[bytes], period_ms: int, periods: Sequence[int], anchors: Mapping[str, float]
) -> Mapping[int, Mapping[str, RatingPoint]]:
    """Return the past ratings of all players."""
    return history_of(unpacked(tallies), period_ms, periods, anchors)


def comparison(
    contest: ComparisonRequest, tallies: Sequence[bytes], encounters: Sequence[bytes], anchors: Mapping[str, float]
) -> Comparison:
    """Compare two players."""
    return comparison_of(contest, unpacked(tallies), unpacked(encounters), anchors)


JOBS: Final[Jobs] = {"rating_list": rating_list, "fit": fit, "history": history, "comparison": comparison}


if __name__ == "__main__":
    work(JOBS)
