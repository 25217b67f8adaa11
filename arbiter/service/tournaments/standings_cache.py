"""The standings of tournaments for all who ask: worked out in a thread, so that no clock waits for them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from arbiter.errors import Refusal
from arbiter.service.ports.log import Logger
from arbiter.service.tournaments.own_ratings import Rater, own_ratings
from arbiter.tournaments.formats import Rating
from arbiter.tournaments.snapshot import snapshot
from arbiter.tournaments.standings import Table, standings
from arbiter.tournaments.tournament import Tournament

KEPT: Final = 100  #: tournaments whose last standings are kept, those asked for last


class StandingsCache:
    """Standings, worked out once for all who ask between two events, and one tournament at a time.

    rater: who fits the ratings; without one there are none.
    """

    def __init__(self, log: Logger, rater: Rater | None = None) -> None:
        self._log = log
        self._rater = rater
        self._kept: OrderedDict[str, Table] = OrderedDict()
        self._working: dict[str, asyncio.Task[Table]] = {}
        self._turn = asyncio.Lock()

    async def of(self, tournament: Tournament) -> Table:
        """Return the standings of a tournament as it is now, or as it is by the time that they are worked out."""
        wanted = tournament.revision
        while True:
            known = self._kept.get(tournament.id)
            if known is not None and known.revision >= wanted:
                self._kept.move_to_end(tournament.id)
                return known
            working = self._working.get(tournament.id)
            if working is None:
                working = self._working[tournament.id] = asyncio.create_task(self._work(tournament))
            await asyncio.shield(working)  # others wait for it too

    async def _rated(self, tournament: Tournament) -> Mapping[str, Rating]:
        try:
            return {} if self._rater is None else await own_ratings(tournament, self._rater)
        except Refusal as failure:
            self._log.warning("standings_not_rated", tournament=tournament.id, error=str(failure))
            return {}

    async def _work(self, tournament: Tournament) -> Table:
        try:
            async with self._turn:
                now = snapshot(tournament)
                table = await asyncio.to_thread(standings, now, await self._rated(now))
        finally:
            del self._working[tournament.id]
        self._kept[tournament.id] = table
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return table
