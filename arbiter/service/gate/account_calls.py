"""The calls by which a player, or an admin, renames, retires, hides or deletes it, for every API."""

from __future__ import annotations

from typing import Final, NamedTuple

from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.player_calls import PlayerView
from arbiter.service.gate.rights import Action, Relation, check_relation
from arbiter.service.play.sessions import Sessions
from arbiter.service.players.accounts import Accounts
from arbiter.service.tournaments.departures import withdraw_everywhere
from arbiter.service.tournaments.tournament_registry import TournamentRegistry


class AccountChange(NamedTuple):
    """What is to change about a player; None changes nothing."""

    new_name: str | None = None
    retired: bool | None = None
    hidden: bool | None = None


class AccountGate:
    """The calls about accounts. Each raises what `Admission.caller` raises, and what its own docstring says."""

    def __init__(
        self, admission: Admission, accounts: Accounts, sessions: Sessions, tournaments: TournamentRegistry
    ) -> None:
        self._admission = admission
        self._accounts = accounts
        self.recorded: Final = accounts.names.key  #: the name in records of the player that a name leads to
        self.shown: Final = accounts.names.shown  #: the name under which pages show a player
        self._sessions = sessions
        self._tournaments = tournaments

    async def change(self, call: Call, name: str, wanted: AccountChange) -> PlayerView:
        """Rename, retire or hide a player, '' for the caller.

        A player that retires is withdrawn from all tournaments. Raises Refusal PLAYER_NOT_FOUND, PLAYER_EXISTS,
        ARGUMENT_INVALID, RATE_LIMITED, and SCOPE_MISSING for another player.
        """
        name = await self._owned(call, Action.CHANGE_PLAYER, name)
        profiles, player = self._accounts.profiles, await self._accounts.player(name)
        if wanted.new_name is not None:
            player = await profiles.rename(name, wanted.new_name)
        if wanted.retired is not None or wanted.hidden is not None:
            player = await profiles.show(name, wanted.retired, wanted.hidden)
        if wanted.retired:
            await withdraw_everywhere(self._tournaments, player.name)
        return PlayerView(player, self._sessions.is_live(player.name))

    async def delete(self, call: Call, name: str, preview: bool = False) -> PlayerView:
        """Delete a player, '' for the caller: `arbiter.service.players.profiles` says what goes and what stays.

        preview: only return the player that would be deleted.

        Raises Refusal PLAYER_NOT_FOUND, and SCOPE_MISSING for another player.
        """
        name = await self._owned(call, Action.DELETE_PLAYER, name)
        if preview:
            return PlayerView(await self._accounts.player(name), self._sessions.is_live(name))
        player = await self._accounts.profiles.delete(name)
        await withdraw_everywhere(self._tournaments, player.name)
        return PlayerView(player, self._sessions.is_live(player.name))

    async def _owned(self, call: Call, action: Action, name: str) -> str:
        """Return the name in records of a player that the caller may change. Raises Refusal SCOPE_MISSING."""
        caller = await self._admission.caller(call, action)
        key = self._accounts.names.key(name or caller.player)
        relation = Relation.OWN if key == caller.player else Relation.OTHERS
        check_relation(caller, action, relation, "an account of another player", "that player")
        return key
