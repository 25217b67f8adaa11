"""The web hooks of tournaments, as their organisers make, see and remove them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from arbiter.errors import Reason, Refusal, argument_invalid, limit_reached, shortened
from arbiter.plain_text import check_plain
from arbiter.service.lookup import findable
from arbiter.service.ports.environment import Clock, Ids
from arbiter.service.ports.web_hooks import WebHook
from arbiter.service.tournaments.deliveries import Deliveries
from arbiter.service.tournaments.web_hook_message import new_secret
from arbiter.tournaments.tournament import Tournament

LONGEST_URL: Final = 500  #: characters


class TournamentWebHooks:
    """The web hooks of all tournaments. Each call also raises Refusal STORE_UNAVAILABLE."""

    def __init__(self, deliveries: Deliveries, ids: Ids, clock: Clock) -> None:
        self._hooks = deliveries.hooks
        self.of_tournament: Final = deliveries.hooks.of_tournament
        self._deliveries = deliveries
        self._ids = ids
        self._clock = clock

    async def create(self, tournament: Tournament, url: str, creator: str, request: str) -> WebHook:
        """Make a web hook, which gets all events from now on; or return the one that the same request has made.

        Raises Refusal ARGUMENT_INVALID, REQUEST_ID_REUSED, and RATE_LIMITED if the tournament has too many.
        """
        check_plain(url, "url", LONGEST_URL)
        try:
            self._deliveries.sender.check(url)
        except ValueError as error:
            raise argument_invalid(shortened(url), "url", str(error)) from None
        made = WebHook(
            self._ids.new("w"),
            tournament.id,
            url,
            new_secret(self._ids.secret()),
            creator,
            request,
            self._clock.now_ms(),
            tournament.revision,
        )
        most = self._deliveries.settings.of_tournament
        stored = await self._hooks.add(made, most)
        if stored is None:
            raise limit_reached(f"tournament {tournament.id} has {most} web hooks, the maximum: remove one first", most)
        if (stored.tournament_id, stored.url) != (tournament.id, url):
            raise Refusal(
                Reason.REQUEST_ID_REUSED,
                f"request id {request!r} has made another web hook: choose a new one",
                request_id=request,
            )
        return stored

    async def get(self, tournament_id: str, hook_id: str) -> WebHook:
        """Return a web hook of a tournament. Raises Refusal ARGUMENT_INVALID if there is none."""
        found = await self._hooks.get(hook_id) if findable(hook_id) else None
        if found is None or found.tournament_id != tournament_id:
            raise argument_invalid(shortened(hook_id), "web_hook_id", f"the id of a web hook of {tournament_id}")
        return found

    async def retry(self, tournament_id: str, hook_id: str) -> WebHook:
        """Make the next attempt of a web hook now, also if it has stopped. Raises Refusal ARGUMENT_INVALID."""
        while True:
            found = await self.get(tournament_id, hook_id)
            again = replace(found, tries=0, due_ms=min(found.due_ms, self._clock.now_ms()), stopped=False)
            if await self._hooks.change(again, found):
                self._deliveries.look_at(found.tournament_id)
                return again

    async def remove(self, tournament_id: str, hook_id: str) -> WebHook:
        """Remove a web hook: it gets nothing more, apart from an attempt under way. Raises Refusal ARGUMENT_INVALID."""
        found = await self.get(tournament_id, hook_id)
        await self._hooks.remove(hook_id)
        return found
