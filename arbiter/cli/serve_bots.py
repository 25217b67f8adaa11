"""The bots that come with the arbiter, playing on the server that a command runs: somebody to play against."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from arbiter_client import NO_TLS

from arbiter.bootstrap import RunningServer
from arbiter.cli import bundled_bot
from arbiter.cli.terminal import say
from arbiter.service.players.accounts import PLAYER_SCOPES, Accounts, Caller, Scope

NOTE: Final = "bot of arbiter serve"
MOST_TOKENS: Final = 1_000  #: of a bot that are looked through for those of earlier starts

_OPERATOR: Final = Caller("", "", frozenset({Scope.ADMIN.value}))


@asynccontextmanager
async def playing(names: Sequence[str], running: RunningServer, address: str, secured: bool) -> AsyncIterator[None]:
    """Run bots on a server inside the context, each as the player of its name. Raises Failure."""
    async with AsyncExitStack() as stack:
        ends = []
        for name in names:
            token = await _token(running.arbiter.accounts, name)
            bot = await stack.enter_async_context(
                bundled_bot.playing(name, address, token, None if secured else NO_TLS)
            )
            ends.append(asyncio.create_task(_report(bot)))
        try:
            yield
        finally:
            for task in ends:
                task.cancel()


async def _report(bot: bundled_bot.BundledBot) -> None:
    say(f"{await bot.wait_for_exit()}; the server goes on without it.")


async def _token(accounts: Accounts, name: str) -> str:
    """Return a new token of a bot's player; those of earlier starts are revoked."""
    for token in await accounts.tokens(_OPERATOR, name, "", MOST_TOKENS):
        if token.note == NOTE and not token.revoked:
            await accounts.revoke(_OPERATOR, token.token_id)
    _, secret = await accounts.create_token(_OPERATOR, name, PLAYER_SCOPES, NOTE)
    return secret
