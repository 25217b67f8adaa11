"""The calls about the web hooks of tournaments, for every API."""

from __future__ import annotations

from arbiter.matches.requests import check_request_id
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.rights import Action, Relation
from arbiter.service.gate.tournament_calls import check_organises, relation_to
from arbiter.service.players.accounts import Caller
from arbiter.service.ports.web_hooks import WebHook
from arbiter.service.tournaments.tournament_registry import TournamentRegistry
from arbiter.service.tournaments.web_hooks import TournamentWebHooks
from arbiter.tournaments.tournament import Tournament


class WebHookGate:
    """The calls about web hooks. Each raises what `Admission.caller` raises, and what its own docstring says.

    Each raises TOURNAMENT_NOT_FOUND, and SCOPE_MISSING for another caller's tournament.
    """

    def __init__(self, admission: Admission, tournaments: TournamentRegistry, hooks: TournamentWebHooks) -> None:
        self._admission = admission
        self._tournaments = tournaments
        self._hooks = hooks

    async def create(self, call: Call, tournament_id: str, url: str, request_id: str) -> WebHook:
        """Make a web hook. Raises Refusal as `TournamentWebHooks.create` does."""
        caller, tournament = await self._organised(call, Action.CREATE_WEB_HOOK, tournament_id)
        check_request_id(request_id)
        return await self._hooks.create(tournament, url, caller.player, request_id)

    async def list(self, call: Call, tournament_id: str) -> list[WebHook]:
        """Return the web hooks of a tournament, the oldest first."""
        caller, tournament = await self._organised(call, Action.LIST_WEB_HOOKS, tournament_id)
        found = await self._hooks.of_tournament(tournament.id)
        self._admission.charge(caller, len(found))
        return found

    async def retry(self, call: Call, tournament_id: str, hook_id: str) -> WebHook:
        """Make the next attempt of a web hook now. Raises Refusal ARGUMENT_INVALID if there is no such web hook."""
        _, tournament = await self._organised(call, Action.RETRY_WEB_HOOK, tournament_id)
        return await self._hooks.retry(tournament.id, hook_id)

    async def delete(self, call: Call, tournament_id: str, hook_id: str) -> WebHook:
        """Remove a web hook; return it. Raises Refusal ARGUMENT_INVALID if there is no such web hook."""
        _, tournament = await self._organised(call, Action.DELETE_WEB_HOOK, tournament_id)
        return await self._hooks.remove(tournament.id, hook_id)

    async def _organised(self, call: Call, action: Action, tournament_id: str) -> tuple[Caller, Tournament]:
        """Return the caller and a tournament that it runs. Raises Refusal SCOPE_MISSING."""
        caller = await self._admission.caller(call, action)
        tournament = await self._tournaments.get(tournament_id)
        check_organises(caller, action, relation_to(caller, tournament, Relation.OWN), tournament)
        return caller, tournament
