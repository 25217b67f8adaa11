"""The matches that ended last, in memory: for repeated requests and late readers."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from arbiter.matches.match import Match

MOST: Final = 1_000  #: matches that are kept


class EndedMatches:
    """A cache of ended matches; the journal has them all."""

    def __init__(self) -> None:
        self._matches: OrderedDict[str, Match] = OrderedDict()

    def get(self, match_id: str) -> Match | None:
        """Return a match, or None if it is not in the cache."""
        return self._matches.get(match_id)

    def keep(self, match: Match) -> None:
        """Put a match into the cache; the oldest leaves it."""
        self._matches[match.id] = match
        if len(self._matches) > MOST:
            self._matches.popitem(last=False)
