"""A cache of the last ended matches: for repeated requests and late readers."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from arbiter.matches.match import Match

MOST: Final = 1_000  #: matches in the cache


class EndedMatches:
    """A cache of ended matches; the journal has all of them."""

    def __init__(self) -> None:
        self._matches: OrderedDict[str, Match] = OrderedDict()

    def get(self, match_id: str) -> Match | None:
        """Return a match, or None if it is not in the cache."""
        return self._matches.get(match_id)

    def keep(self, match: Match) -> None:
        """Put a match into the cache. If the cache is full, the oldest match is removed."""
        self._matches[match.id] = match
        if len(self._matches) > MOST:
            self._matches.popitem(last=False)
