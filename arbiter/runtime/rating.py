"""Ratings in a process of its own: however long a fit takes, the event loop goes on."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from arbiter.ratings.answers import Board, Comparison, Mark
from arbiter.runtime.jobs import JobProcess
from arbiter.service.ports.journal import MatchSummary, Tally
from arbiter.service.ratings.ports import Contest, RatingFailed

LONGEST_S: Final = 60.0  #: a job that takes longer is given up
PACKED: Final = 1_000  #: items that are packed at a time: a fraction of a millisecond


class RatingProcess:
    """A worker process behind the port `arbiter.service.ratings.ports.RatingWorker`."""

    def __init__(self) -> None:
        self._jobs = JobProcess("arbiter.runtime.rating_worker", "fits ratings", LONGEST_S, RatingFailed)

    async def close(self) -> None:
        """Stop the worker; jobs under way fail."""
        await self._jobs.close()

    async def board(self, tallies: Sequence[Tally], anchors: Mapping[str, float]) -> Board:
        """Return the ratings of a record; see the port."""
        board: Board = await self._jobs.ask("board", (await packed(tallies), dict(anchors)))
        return board

    async def history(
        self, tallies: Sequence[tuple[int, Tally]], period_ms: int, periods: Sequence[int], anchors: Mapping[str, float]
    ) -> Mapping[int, Mapping[str, Mark]]:
        """Return the ratings of all players as they were; see the port."""
        arguments = (await packed(tallies), period_ms, tuple(periods), dict(anchors))
        marks: Mapping[int, Mapping[str, Mark]] = await self._jobs.ask("history", arguments)
        return marks

    async def comparison(
        self,
        contest: Contest,
        tallies: Sequence[Tally],
        encounters: Sequence[tuple[MatchSummary, bytes]],
        anchors: Mapping[str, float],
    ) -> Comparison:
        """Return two players side by side; see the port."""
        arguments = (contest, await packed(tallies), await packed(encounters), dict(anchors))
        comparison: Comparison = await self._jobs.ask("comparison", arguments)
        return comparison


async def packed(items: Iterable[Any]) -> list[bytes]:
    """Return items as a job carries them: packed beside the event loop, and in parts, so that it is never held up."""
    rest = iter(items)

    def pack() -> list[bytes]:
        return [pickle.dumps(part) for part in iter(lambda: list(islice(rest, PACKED)), [])]

    return await asyncio.to_thread(pack)


def unpacked(parts: Iterable[bytes]) -> list[Any]:
    """Return the items that were packed."""
    return [item for part in parts for item in pickle.loads(part)]
