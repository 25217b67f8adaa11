"""Who meets whom next in a running tournament: what its format proposes, at once or from another process."""

from __future__ import annotations

import asyncio
from typing import Final

from arbiter.errors import Refusal
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.tasks import Tasks
from arbiter.service.tournaments.command_queue import CommandQueue
from arbiter.service.tournaments.live_log import TournamentLog
from arbiter.service.tournaments.tournament_ports import Dependencies, PairingFailed
from arbiter.tournaments import commands as do
from arbiter.tournaments import formats
from arbiter.tournaments.tournament import Tournament

RATED_EVERY_S: Final = 10.0  #: time between two reads of the strengths of a ladder's players


class Pairings:
    """The proposals of one tournament's format, and what they need to know of players who are free."""

    def __init__(self, dependencies: Dependencies, state: TournamentLog, queue: CommandQueue, tasks: Tasks) -> None:
        self._pairer = formats.of(state.newest.spec)
        self._capacity = dependencies.capacity
        self._ratings = dependencies.ratings
        self._clock = dependencies.clock
        self._worker = dependencies.pairing
        self._state = state
        self._queue = queue
        self._tasks = tasks
        self._log = dependencies.log.bind(tournament=state.id)
        self._under_way = False  # in another process
        self._free_since: dict[str, int] = {}
        self._strengths: dict[str, formats.Strength] = {}
        self._shares = formats.Shares()
        self._rated_at = -RATED_EVERY_S

    def field(self, tournament: Tournament) -> formats.FreePlayers:
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

    def at_once(self) -> do.Command | None:
        """Return the pairing that follows from the newest state, if it takes no time to make; else None."""
        tournament = self._state.newest
        if not tournament.may_pair:
            return None
        field = self.field(tournament)
        if self._under_way or self._pairer.heavy(tournament, field):
            return None
        return self._pairer.propose(tournament, field)

    def start_due(self) -> None:
        """Let another process pair, if that is due and takes long, and read strengths that have become old."""
        tournament = self._state.newest
        field = self.field(tournament)
        due = len(field.free) > 1 if self._pairer.pairs_whoever_is_free else tournament.all_decided()
        if due and not self._under_way and self._pairer.heavy(tournament, field):
            self._under_way = True
            self._tasks.start(self._pair(field))
        now = asyncio.get_running_loop().time()
        if self._pairer.pairs_by_strength and now - self._rated_at >= RATED_EVERY_S:
            self._rated_at = now
            self._tasks.start(self._rate(tournament))

    async def _pair(self, field: formats.FreePlayers) -> None:
        try:
            proposal = await self._worker.propose(self._state.durable, field)
            if proposal is not None:
                await self._queue.submit(proposal)
                self._queue.wake()  # more may follow, or it may have come too late
        except (PairingFailed, StoreFailed) as failure:
            self._log.error("not_paired", error=str(failure))
        finally:
            self._under_way = False  # the next check may pair again

    async def _rate(self, tournament: Tournament) -> None:
        """Read the strengths of the players. If that fails, the previous ones stay."""
        try:
            self._strengths = dict(await self._ratings.strengths(tournament.spec.games))
        except Refusal as failure:
            self._log.warning("not_rated", error=str(failure))
