"""The tournaments that have ended and were asked for last, for example for their standings."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from arbiter.tournaments.tournament import Tournament

KEPT: Final = 16


class EndedTournaments:
    """A cache of tournaments that have ended."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Tournament] = OrderedDict()

    def get(self, tournament_id: str) -> Tournament | None:
        """Return a tournament, None if it is not here."""
        return self._kept.get(tournament_id)

    def keep(self, tournament: Tournament) -> None:
        """Keep a tournament, unless a later state of it is here: there may have been a ruling meanwhile."""
        known = self._kept.get(tournament.id)
        if known is not None and known.revision > tournament.revision:
            return
        self._kept[tournament.id] = tournament
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def grown(self, tournament_id: str, revision: int) -> bool:
        """Return whether a tournament is here; forget it if its log has gone on: there was a ruling elsewhere."""
        known = self._kept.get(tournament_id)
        if known is not None and revision > known.revision:
            del self._kept[tournament_id]
        return known is not None
