"""The input of a running tournament's pairer: which players are free, since when, and how strong each one is."""

from __future__ import annotations

import asyncio
from typing import Final

from arbiter.errors import Refusal
from arbiter.service.ports.log import Logger
from arbiter.service.tournaments.tournament_ports import Dependencies
from arbiter.tournaments import formats
from arbiter.tournaments.tournament import Tournament

RATED_EVERY_S: Final = 10.0  #: time between two reads of the strengths of a ladder's players


class PairingInput:
    """The players of one tournament, as input of its pairer."""

    def __init__(self, pairer: formats.Pairer, dependencies: Dependencies, log: Logger) -> None:
        self._pairer = pairer
        self._capacity = dependencies.capacity
        self._ratings = dependencies.ratings
        self._clock = dependencies.clock
        self._log = log
        self._free_since: dict[str, int] = {}
        self._strengths: dict[str, formats.Strength] = {}
        self._shares = formats.Shares()
        self._rated_at = -RATED_EVERY_S

    def now(self, tournament: Tournament) -> formats.FreePlayers:
        """Return the free players, if the format pairs free players."""
        if not self._pairer.pairs_whoever_is_free:
            return formats.FreePlayers()
        now, busy, capacity = self._clock.now_ms(), tournament.busy(), self._capacity
        free = [player for player in tournament.players if player not in busy and capacity.is_free(player)]
        self._free_since = {player: self._free_since.get(player, now) for player in free}
        free.sort(key=self._free_since.__getitem__)
        present = [*free, *(player for player in busy if capacity.is_present(player))]
        sharing = self._pairer.sharing(tournament, present)
        games = {player: tournament.meetings_played(player) for player in sharing}
        ahead = self._shares.ahead(sharing, games)
        return formats.FreePlayers(tuple(free), dict(self._free_since), self._strengths, now, ahead)

    def rating_is_due(self) -> bool:
        """Return whether the strengths must be read again; after True, not before RATED_EVERY_S have passed."""
        now = asyncio.get_running_loop().time()
        if not self._pairer.pairs_by_strength or now - self._rated_at < RATED_EVERY_S:
            return False
        self._rated_at = now
        return True

    async def rate(self, tournament: Tournament) -> None:
        """Read the strengths of the players. If that fails, the previous ones stay."""
        try:
            self._strengths = dict(await self._ratings.strengths(tournament.spec.games))
        except Refusal as failure:
            self._log.warning("not_rated", error=str(failure))
