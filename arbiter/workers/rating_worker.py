"""Ratings in a worker process, so that a long fit never blocks the event loop."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from arbiter.ratings.rated_matches import Result
from arbiter.ratings.rating_results import Comparison, RatingList, RatingPoint
from arbiter.service.ports.journal import MatchSummary, Tally
from arbiter.service.ports.meter import NO_METER, Meter
from arbiter.service.ratings.rating_ports import ComparisonRequest, RatingFailed
from arbiter.workers.pool import JobProcess
from arbiter.workers.process import Jobs

LONGEST_S: Final = 60.0  #: time limit of a job
PACKED: Final = 1_000  #: items to serialize at a time: takes a fraction of a millisecond


class RatingProcess(JobProcess):
    """A worker process behind the port `arbiter.service.ratings.rating_ports.RatingWorker`."""

    def __init__(self, meter: Meter = NO_METER) -> None:
        super().__init__("arbiter.workers.rating_worker", "fits ratings", LONGEST_S, RatingFailed, meter=meter)

    async def rating_list(self, tallies: Sequence[Tally], anchors: Mapping[str, float]) -> RatingList:
        listed: RatingList = await self.ask("rating_list", (await packed(tallies), dict(anchors)))
        return listed

    async def fit(self, results: Sequence[Result]) -> RatingList:
        listed: RatingList = await self.ask("fit", (await packed(results),))
        return listed

    async def history(
        self, tallies: Sequence[tuple[int, Tally]], period_ms: int, periods: Sequence[int], anchors: Mapping[str, float]
    ) -> Mapping[int, Mapping[str, RatingPoint]]:
        arguments = (await packed(tallies), period_ms, tuple(periods), dict(anchors))
        marks: Mapping[int, Mapping[str, RatingPoint]] = await self.ask("history", arguments)
        return marks

    async def comparison(
        self,
        contest: ComparisonRequest,
        tallies: Sequence[Tally],
        encounters: Sequence[tuple[MatchSummary, bytes]],
        anchors: Mapping[str, float],
    ) -> Comparison:
        arguments = (contest, await packed(tallies), await packed(encounters), dict(anchors))
        comparison: Comparison = await self.ask("comparison", arguments)
        return comparison


async def packed(items: Iterable[Any]) -> list[bytes]:
    """Serialize items for a job in a thread and in small parts, so that the event loop is never blocked."""
    rest = iter(items)

    def pack() -> list[bytes]:
        return [pickle.dumps(part) for part in iter(lambda: list(islice(rest, PACKED)), [])]

    return await asyncio.to_thread(pack)


def unpacked(parts: Iterable[bytes]) -> list[Any]:
    """Deserialize the items of a job."""
    return [item for part in parts for item in pickle.loads(part)]


def jobs() -> Jobs:
    """Return the job handlers, by kind. The worker caches the last few fits, so that a comparison needs no new fit."""
    # A server does not need what these need: numpy and scipy.
    from arbiter.ratings.rating_list import rating_list
    from arbiter.service.ratings.rating_work import comparison_of, history_of, rating_list_of

    return {
        "rating_list": lambda tallies, anchors: rating_list_of(unpacked(tallies), anchors),
        "fit": lambda results: rating_list(unpacked(results), {}),
        "history": lambda tallies, *rest: history_of(unpacked(tallies), *rest),
        "comparison": lambda contest, tallies, encounters, anchors: comparison_of(
            contest, unpacked(tallies), unpacked(encounters), anchors
        ),
    }
