"""Signing in and out with a browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.rights import Action, Relation, check_relation
from arbiter.service.players.accounts import Accounts, Caller
from arbiter.service.ports.directory import Token

NOTE: Final = "signed in with a browser"


class BrowserGate:
    """The calls about sessions.

    A session is good for the pages alone. It ends unused after `limits.session_idle_ms`, and in any case after
    `limits.session_ms`; the newest of too many ends the longest unused one. It may do what the scopes of its token
    allow, except make tokens: a thief of a session has no token that outlives it.

    longest_ms: how long a session lasts at most.
    """

    def __init__(self, admission: Admission, accounts: Accounts, longest_ms: int) -> None:
        self._admission = admission
        self._accounts = accounts
        self.longest_ms = longest_ms

    async def sign_in(self, call: Call) -> str:
        """Open a session with the scopes of the caller's token; return its secret."""
        caller = await self._admission.caller(call, Action.CREATE_TOKEN)
        return await self._accounts.browsers.open(caller.player, sorted(caller.scopes), NOTE)

    async def sign_out(self, call: Call) -> None:
        """End the calling session; its streams end."""
        caller = await self._admission.caller(call, Action.REVOKE_TOKEN)
        await self._accounts.revoke(caller, caller.token_id)

    async def sessions(self, call: Call, name: str) -> Sequence[Token]:
        """Return the sessions of a player, the last used first; '' for the caller's. Raises Refusal SCOPE_MISSING."""
        caller = await self._of_player(call, name)
        return await self._accounts.browsers.of(name or caller.player)

    async def sign_out_everywhere(self, call: Call, name: str) -> None:
        """End all sessions of a player; '' for the caller's. Raises Refusal SCOPE_MISSING."""
        caller = await self._of_player(call, name)
        await self._accounts.browsers.end_all(name or caller.player)

    async def _of_player(self, call: Call, name: str) -> Caller:
        caller = await self._admission.caller(call, Action.LIST_TOKENS)
        relation = Relation.OWN if name in ("", caller.player) else Relation.OTHERS
        check_relation(caller, Action.LIST_TOKENS, relation, "a session of another player", "that player")
        return caller
