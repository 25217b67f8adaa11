"""The standings of tournaments, computed in a thread, so that they delay no live match."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from arbiter.errors import Refusal
from arbiter.service.ports.log import Logger
from arbiter.service.shielding import Shielded
from arbiter.service.tournaments.own_ratings import Rater, fitted, own_results
from arbiter.tournaments.formats import Rating
from arbiter.tournaments.standings import Table, standings
from arbiter.tournaments.state_copy import copied
from arbiter.tournaments.tournament import Tournament

KEPT: Final = 100  #: tournaments in the cache, the last used ones


class StandingsCache:
    """Standings, computed once for all requests between two events, one tournament at a time.

    rater: fits the ratings; None for standings without ratings.
    """

    def __init__(self, log: Logger, rater: Rater | None = None) -> None:
        self._log = log
        self._rater = rater
        self._kept: OrderedDict[str, Table] = OrderedDict()
        self._working: dict[str, asyncio.Task[Table]] = {}
        self._turn = asyncio.Lock()
        self._shielded = Shielded()  # else the next thread would begin beside that of a caller who has left

    async def of(self, tournament: Tournament) -> Table:
        """Return the standings of a tournament in its current state or a later one."""
        wanted = tournament.revision
        while True:
            known = self._kept.get(tournament.id)
            if known is not None and known.revision >= wanted:
                self._kept.move_to_end(tournament.id)
                return known
            working = self._working.get(tournament.id)
            if working is None:
                working = self._working[tournament.id] = asyncio.create_task(self._work(tournament))
            await asyncio.shield(working)  # other callers wait for it too

    async def after(self, changed: Tournament) -> Table:
        """Return the standings of a copy of a tournament that nobody else has; they are not kept."""
        return await self._shielded.run(self._after(changed))

    async def _after(self, changed: Tournament) -> Table:
        async with self._turn:
            return await asyncio.to_thread(standings, changed, await self._rated(changed))

    async def _rated(self, tournament: Tournament) -> Mapping[str, Rating]:
        if self._rater is None:
            return {}
        try:
            return await fitted(await asyncio.to_thread(own_results, tournament), self._rater)
        except Refusal as failure:
            self._log.warning("standings_not_rated", tournament=tournament.id, error=str(failure))
            return {}

    async def _work(self, tournament: Tournament) -> Table:
        try:
            async with self._turn:
                now = copied(tournament)
                table = await asyncio.to_thread(standings, now, await self._rated(now))
        finally:
            del self._working[tournament.id]
        self._kept[tournament.id] = table
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return table
