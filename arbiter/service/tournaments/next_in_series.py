"""A series: before a tournament with a rhythm starts, the next one is made, under a request id that follows from it.

So there is exactly one next tournament, whichever servers make it and whatever dies in between: the store has no second
one of the same request, and no tournament starts, or is cancelled at its start time, before the next one is stored. In
a league the players are placed before that.
"""

from __future__ import annotations

import asyncio

from arbiter.errors import Reason, Refusal
from arbiter.service.tasks import Tasks
from arbiter.service.tournaments import rhythm
from arbiter.service.tournaments.command_queue import CommandQueue
from arbiter.service.tournaments.game_matches import RETRY_S
from arbiter.service.tournaments.league_seasons import SeasonStart, Tournaments
from arbiter.service.tournaments.request_ids import NEXT
from arbiter.service.tournaments.tournament_ports import Dependencies
from arbiter.tournaments import commands as do
from arbiter.tournaments import engine
from arbiter.tournaments.tournament import Tournament, TournamentPhase


class Succession:
    """Makes the next tournament of a series, once the one before is about to start."""

    def __init__(self, tournaments: Tournaments, dependencies: Dependencies, queue: CommandQueue, tasks: Tasks) -> None:
        self._tournaments = tournaments
        self._season = SeasonStart(tournaments, dependencies.journal)
        self._clock = dependencies.clock
        self._queue = queue
        self._tasks = tasks
        self._log = dependencies.log
        self._is_made = False
        self._under_way = False

    def is_due(self, tournament: Tournament) -> bool:
        """Return whether something is still to be made before a tournament can start by its time."""
        schedule = tournament.spec.schedule
        if not schedule.every or tournament.phase is not TournamentPhase.ENTRY:
            return False
        to_make = not self._is_made or self._season.is_due(tournament)
        return to_make and self._clock.now_ms() >= schedule.start_ms

    def lacks_places(self, tournament: Tournament) -> bool:
        """Return whether players of a league's season are still to be placed before it may start."""
        return tournament.phase is TournamentPhase.ENTRY and self._season.is_due(tournament)

    async def prepare(self, tournament: Tournament, command: do.Request) -> None:
        """Make what a request needs that starts a tournament, or leaves it out of its series.

        Raises Refusal as `SeasonStart.place` and `TournamentRegistry.create`.
        """
        if tournament.phase is not TournamentPhase.ENTRY:
            return
        if isinstance(command, do.Start):
            await self._place(tournament)
        starts = isinstance(command, do.Start) and not engine.too_few(tournament)
        is_left_out = isinstance(command, do.Cancel) and command.series_goes_on
        if starts or is_left_out:
            await self._make(tournament)

    def start_due(self, tournament: Tournament) -> None:
        """Make what is due."""
        if self.is_due(tournament) and not self._under_way:
            self._under_way = True
            self._tasks.start(self._make_due(tournament))

    async def _make_due(self, tournament: Tournament) -> None:
        try:
            await self._place(tournament)
            await self._make(tournament)
        except Refusal as failure:
            self._log.warning("next_not_made", tournament=tournament.id, error=str(failure))
            await asyncio.sleep(RETRY_S)
        finally:
            self._under_way = False
            self._queue.wake()

    async def _place(self, tournament: Tournament) -> None:
        """Place the players of a league's season, if that is still to be done."""
        if self.lacks_places(tournament):
            await self._season.place(tournament)

    async def _make(self, tournament: Tournament) -> None:
        """Make the next tournament of a series, if there is none yet."""
        if not tournament.spec.schedule.every or self._is_made:
            return
        spec = rhythm.following(tournament.spec, self._clock.now_ms())
        try:
            await self._tournaments.create(spec, tournament.created.creator, f"{NEXT}{tournament.id}")
        except Refusal as refusal:
            if refusal.reason is not Reason.REQUEST_ID_REUSED:  # it was made for an earlier time
                raise
        self._is_made = True
