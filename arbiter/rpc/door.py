"""What all servicers share: who calls, from where, and pages of lists."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, TypeAlias

import grpc

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.service.accounts import Accounts, Caller, Scope, invalid, shut_out

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class Unreadable(NamedTuple):
    """Stands for a message that is too large, or none at all."""

    refusal: Refusal


class Door:
    """Authentication and paging for the servicers."""

    def __init__(self, accounts: Accounts, limits: Limits) -> None:
        self._accounts = accounts
        self._limits = limits
        self._held: set[Callable[[Refusal], None]] = set()

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

    @asynccontextmanager
    async def holding(self, caller: Caller) -> AsyncIterator[None]:
        """Hold a stream open. What runs in this context ends with a refusal once its caller is shut out or we drain."""
        self._accounts.check(caller)
        scope = asyncio.timeout(None)
        ended: list[Refusal] = []

        def end(refusal: Refusal) -> None:
            if not ended:
                ended.append(refusal)
                scope.reschedule(asyncio.get_running_loop().time())

        def shut(player: str, token_id: str) -> None:
            if player == caller.player and token_id in ("", caller.token_id):
                end(shut_out(player, token_id))

        forget = self._accounts.on_shut_out(shut)
        self._held.add(end)
        try:
            async with scope:
                yield
        except TimeoutError:
            if not scope.expired():
                raise
            raise ended[0] from None
        finally:
            self._held.discard(end)
            forget()

    def end_streams(self, refusal: Refusal) -> None:
        """End every stream that is held open, with a reason."""
        for end in list(self._held):
            end(refusal)

    def page_size(self, asked: int) -> int:
        """Return how many items a page has. Raises Refusal ARGUMENT_INVALID for a negative number."""
        if asked < 0:
            raise invalid(asked, "page_size", f"0 to {self._limits.largest_page_size}")
        return min(asked or self._limits.page_size, self._limits.largest_page_size)


async def next_message(context: Context) -> Any:
    """Return the next message of a stream, or EOF. Raises Refusal for one that could not be read."""
    message = await context.read()
    if isinstance(message, Unreadable):
        raise message.refusal
    return message


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
