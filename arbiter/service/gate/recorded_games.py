"""The games that calls about the record may name: those that are installed, and those that were."""

from __future__ import annotations

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.registry import LONGEST_VARIANT
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.ports.journal import Filter


async def recorded(matches: MatchRegistry, name: str) -> str:
    """Return the canonical name of a variant, '' for ''. Its rules need not be installed if a match of it is stored.

    Raises Refusal GAME_UNKNOWN, PARAMETER_INVALID, and as `MatchRegistry.summaries`.
    """
    try:
        return registry.game(name).variant if name else ""
    except Refusal as refusal:
        missing = refusal.reason is Reason.GAME_UNKNOWN and len(name) <= LONGEST_VARIANT and name.isprintable()
        if missing and await matches.summaries(Filter(game=name), 0, 1):
            return name
        raise
