"""A series: before a tournament with a rhythm starts, the next one is made, under a request id that follows from it.

So there is exactly one next tournament, whichever servers make it and whatever dies in between: the store has no second
one of the same request, and no tournament starts, or is cancelled at its start time, before the next one is stored. In
a league the players are placed before that.
"""

from __future__ import annotations

from arbiter.errors import Reason, Refusal
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import Journal
from arbiter.service.tournaments import rhythm
from arbiter.service.tournaments.league_seasons import SeasonStart, Tournaments
from arbiter.service.tournaments.request_ids import NEXT
from arbiter.tournaments.tournament import Tournament, TournamentPhase


class Succession:
    """Makes the next tournament of a series, once the one before is about to start."""

    def __init__(self, tournaments: Tournaments, journal: Journal, clock: Clock) -> None:
        self._tournaments = tournaments
        self._season = SeasonStart(tournaments, journal)
        self._clock = clock
        self._is_made = False

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

    async def place(self, tournament: Tournament) -> None:
        """Place the players of a league's season, if that is still to be done. Raises as `SeasonStart.place`."""
        if self.lacks_places(tournament):
            await self._season.place(tournament)

    async def make(self, tournament: Tournament) -> None:
        """Make the next tournament of a series, if there is none yet. Raises Refusal as `TournamentRegistry.create`."""
        if not tournament.spec.schedule.every or self._is_made:
            return
        spec = rhythm.following(tournament.spec, self._clock.now_ms())
        try:
            await self._tournaments.create(spec, tournament.created.creator, f"{NEXT}{tournament.id}")
        except Refusal as refusal:
            if refusal.reason is not Reason.REQUEST_ID_REUSED:  # it was made for an earlier time
                raise
        self._is_made = True
