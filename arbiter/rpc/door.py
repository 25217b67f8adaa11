"""What all servicers share: who calls, from where, and pages of lists."""

from __future__ import annotations

from typing import Any, TypeAlias

import grpc

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.service.accounts import Accounts, Caller, Scope, invalid

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class Door:
    """Authentication and paging for the servicers."""

    def __init__(self, accounts: Accounts, limits: Limits) -> None:
        self._accounts = accounts
        self._limits = limits

    async def caller(self, context: Context, scope: Scope | None = None) -> Caller:
        """Return who calls. Raises Refusal TOKEN_INVALID, PLAYER_SUSPENDED, or SCOPE_MISSING without the scope."""
        caller = await self._accounts.authenticate(_token(context))
        if scope is not None:
            caller.require(scope)
        return caller

    async def reader(self, context: Context) -> Caller:
        """Return who calls to read: any token that may observe, play or organise will do. Raises as `caller` does."""
        caller = await self.caller(context)
        if not (caller.may(Scope.PLAY) or caller.may(Scope.ORGANISE)):
            caller.require(Scope.OBSERVE)
        return caller

    async def caller_if_any(self, context: Context) -> Caller | None:
        """Return who calls, or None for a call without a token; a wrong token is refused all the same."""
        secret = _token(context)
        return await self._accounts.authenticate(secret) if secret else None

    async def name(self, context: Context) -> str:
        """Return under which name a caller's budgets run: the player's, or where an anonymous call comes from."""
        try:
            caller = await self.caller_if_any(context)
        except Refusal as refusal:
            if refusal.reason is not Reason.TOKEN_INVALID:
                raise
            caller = None
        return f"player {caller.player}" if caller else f"peer {context.peer().rpartition(':')[0]}"

    def page_size(self, asked: int) -> int:
        """Return how many items a page has. Raises Refusal ARGUMENT_INVALID for a negative number."""
        if asked < 0:
            raise invalid(asked, "page_size", f"0 to {self._limits.largest_page_size}")
        return min(asked or self._limits.page_size, self._limits.largest_page_size)


def number_of_token(token: str, where: str = "page_token") -> int:
    """Return the number that a token of ours holds, 0 for none. Raises Refusal ARGUMENT_INVALID."""
    if not token:
        return 0
    if not (token.isascii() and token.isdigit() and len(token) <= 18):
        raise invalid(token, where, "a token that this server gave, or nothing")
    return int(token)


def _token(context: Context) -> str | None:
    for key, value in context.invocation_metadata() or ():
        if key == "authorization" and isinstance(value, str):
            kind, _, secret = value.partition(" ")
            return secret.strip() if kind.lower() == "bearer" else None
    return None
