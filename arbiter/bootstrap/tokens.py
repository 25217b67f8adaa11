"""Tokens that are made directly in a database, by operators who can write there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arbiter.bootstrap.store import open_store
from arbiter.config import Limits
from arbiter.runtime.clock import SystemClock
from arbiter.runtime.ids import SystemIds
from arbiter.service.players.accounts import Accounts, Caller, Scope

#: maximum tokens of a player; generous, because this operator can write in the database anyway
UNCOUNTED = 1_000_000_000


async def create_token(store_url: str, player: str, scopes: Sequence[str], note: str) -> str:
    """Create a token directly in a database, for operators who can write there. Return its secret.

    Raises OperatorError, StoreTooNew, and Refusal for a name or note that is not allowed.
    """
    return (await create_tokens(store_url, {player: scopes}, note))[player]


async def create_tokens(store_url: str, scopes: Mapping[str, Sequence[str]], note: str) -> dict[str, str]:
    """Create a token with scopes for each of some players, as `create_token` does. Return the secrets by player."""
    async with open_store(store_url) as store:
        clock = SystemClock()
        accounts = Accounts(store.directory, SystemIds(clock), clock, "closed", Limits(tokens_of_player=UNCOUNTED))
        operator = Caller("", "", frozenset({Scope.ADMIN.value}))
        secrets = {}
        for player, names in scopes.items():
            _, secrets[player] = await accounts.create_token(operator, player, [Scope(name) for name in names], note)
        return secrets
