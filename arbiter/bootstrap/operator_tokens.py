"""Tokens that an operator makes: directly in a database, or on a server of the same process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from arbiter.bootstrap.store import open_store
from arbiter.config import Limits
from arbiter.runtime.ids import SystemIds
from arbiter.runtime.system_clock import SystemClock
from arbiter.service.players.accounts import PLAYER_SCOPES, Accounts, Caller, Scope

#: maximum tokens of a player; generous, because this operator can write in the database anyway
UNCOUNTED = 1_000_000_000
MOST_SEARCHED: Final = 1_000  #: tokens of a player that are searched for those with a note

_OPERATOR: Final = Caller("", "", frozenset({Scope.ADMIN.value}))


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
        secrets = {}
        for player, names in scopes.items():
            _, secrets[player] = await accounts.create_token(_OPERATOR, player, [Scope(name) for name in names], note)
        return secrets


async def replace_token(accounts: Accounts, player: str, note: str) -> str:
    """Create a token with the scopes of a player, and revoke its tokens with the same note; return the secret.

    Raises Refusal for a name or note that is not allowed.
    """
    for token in await accounts.tokens(_OPERATOR, player, "", MOST_SEARCHED):
        if token.note == note and not token.revoked:
            await accounts.revoke(_OPERATOR, token.token_id)
    _, secret = await accounts.create_token(_OPERATOR, player, PLAYER_SCOPES, note)
    return secret
