"""The tournaments that have ended and were asked for last, for example for their standings."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from arbiter.tournaments.tournament import Tournament

KEPT: Final = 16
HEARD: Final = 1_000  #: tournaments of which the last revision is remembered


class EndedTournaments:
    """A cache of tournaments that have ended."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Tournament] = OrderedDict()
        self._heard: OrderedDict[str, int] = OrderedDict()  # the last revisions in the log, by other servers

    def get(self, tournament_id: str) -> Tournament | None:
        """Return a tournament, None if it is not here."""
        return self._kept.get(tournament_id)

    def keep(self, tournament: Tournament) -> None:
        """Keep a tournament, unless its log has gone on: there may have been a ruling while it was read."""
        known = self._kept.get(tournament.id)
        newest = max(known.revision if known is not None else 0, self._heard.get(tournament.id, 0))
        if newest > tournament.revision:
            return
        self._kept[tournament.id] = tournament
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def grown(self, tournament_id: str, revision: int) -> bool:
        """Return whether a tournament is here; forget it if its log has gone on: there was a ruling elsewhere."""
        self._heard[tournament_id] = max(revision, self._heard.pop(tournament_id, 0))
        if len(self._heard) > HEARD:
            self._heard.popitem(last=False)
        known = self._kept.get(tournament_id)
        if known is not None and revision > known.revision:
            del self._kept[tournament_id]
        return known is not None
