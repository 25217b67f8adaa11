"""A series: before a tournament with a rhythm starts, the next one is made, under a request id that follows from it.

So there is exactly one next tournament, whichever servers make it and whatever dies in between: the store has no second
one of the same request, and no tournament starts, or is cancelled at its start time, before the next one is stored.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from arbiter.errors import Reason, Refusal
from arbiter.service.ports.environment import Clock
from arbiter.service.tournaments import rhythm
from arbiter.tournaments.spec import Spec
from arbiter.tournaments.tournament import Tournament, TournamentPhase

NEXT: Final = "next after "  #: the request ids of later tournaments of a series begin with it

Create = Callable[[Spec, str, str], Awaitable[Tournament]]
"""Creates a tournament of a specification for a creator, by the creator's request id."""


class Succession:
    """Makes the next tournament of a series, once the one before is about to start."""

    def __init__(self, create: Create, clock: Clock) -> None:
        self._create = create
        self._clock = clock
        self._is_made = False

    def is_due(self, tournament: Tournament) -> bool:
        """Return whether the next tournament is still to be made before this one can start by its time."""
        schedule = tournament.spec.schedule
        waits = tournament.phase is TournamentPhase.ENTRY and not self._is_made
        return bool(schedule.every) and waits and self._clock.now_ms() >= schedule.start_ms

    async def make(self, tournament: Tournament) -> None:
        """Make the next tournament of a series, if there is none yet. Raises Refusal as `TournamentRegistry.create`."""
        if not tournament.spec.schedule.every or self._is_made:
            return
        spec = rhythm.following(tournament.spec, self._clock.now_ms())
        try:
            await self._create(spec, tournament.created.creator, f"{NEXT}{tournament.id}")
        except Refusal as refusal:
            if refusal.reason is not Reason.REQUEST_ID_REUSED:  # it was made for an earlier time
                raise
        self._is_made = True
