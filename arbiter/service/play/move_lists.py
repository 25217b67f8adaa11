"""Lists the legal moves that a bot wants with its turns. The rules workers do it, apart from the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from arbiter.config import Limits
from arbiter.errors import Refusal
from arbiter.matches.match import Match
from arbiter.service.play.session import Extras, TurnListing
from arbiter.service.ports.log import Logger
from arbiter.service.ports.rules import RulesWorker
from arbiter.service.tasks import Tasks


class MoveLists:
    """Lists the legal moves of turns. longest_ms: the time limit; then the turn is sent without its list."""

    def __init__(self, rules: RulesWorker, limits: Limits, longest_ms: int, log: Logger) -> None:
        self._rules = rules
        self._limits = limits
        self._longest_ms = longest_ms
        self._tasks = Tasks()
        self._log = log

    def request(self, match: Match, extras: Extras, then: Callable[[TurnListing | None], None]) -> None:
        """Call `then` with the legal moves of a match, or with None if they can't be listed in time."""
        self._tasks.start(self._list(match, extras, then))

    async def _list(self, match: Match, extras: Extras, then: Callable[[TurnListing | None], None]) -> None:
        listed = None
        try:
            # The bot can still request a list that was left out.
            async with asyncio.timeout(self._longest_ms / 1000):
                listing = await self._rules.legal_moves(
                    f"turn {match.id}", match.created.game, match.created.position, match.moves, extras.steps
                )
        except (TimeoutError, Refusal):
            pass
        except Exception:  # an error in the arbiter must not cost the player its turn
            self._log.exception("turn_not_listed", match=match.id, ply=match.ply)
        else:
            most = min(extras.legal_moves_up_to, self._limits.turn_moves)
            sent = tuple(move for chunk in listing.chunks for move in chunk) if listing.total <= most else ()
            listed = TurnListing(listing.total, sent)
        then(listed)
