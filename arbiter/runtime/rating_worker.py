"""A worker process for ratings: `python -m arbiter.runtime.rating_worker`; see `arbiter.runtime.jobs`.

It keeps the last few fits, so that a comparison costs none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from arbiter.runtime.jobs import Jobs, work
from arbiter.runtime.rating import unpacked

if TYPE_CHECKING:
    from arbiter.ratings.answers import Board, Comparison, Mark
    from arbiter.service.ratings.ports import Contest

# Each matrix here is small: threads that share one would spend more on waiting for each other than they save, and take
# processors from live matches. To be said before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from arbiter.service.ratings.worker import board_of, comparison_of, history_of


def board(tallies: Sequence[bytes], anchors: Mapping[str, float]) -> Board:
    """Return the ratings of a record."""
    return board_of(unpacked(tallies), anchors)


def history(
    tallies: Sequence[bytes], period_ms: int, periods: Sequence[int], anchors: Mapping[str, float]
) -> Mapping[int, Mapping[str, Mark]]:
    """Return the ratings of all players as they were."""
    return history_of(unpacked(tallies), period_ms, periods, anchors)


def comparison(
    contest: Contest, tallies: Sequence[bytes], encounters: Sequence[bytes], anchors: Mapping[str, float]
) -> Comparison:
    """Return two players side by side."""
    return comparison_of(contest, unpacked(tallies), unpacked(encounters), anchors)


JOBS: Final[Jobs] = {"board": board, "history": history, "comparison": comparison}


if __name__ == "__main__":
    work(JOBS)
