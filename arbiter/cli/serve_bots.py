"""The bots that come with the arbiter, playing on the server that a command runs: somebody to play against."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from arbiter_client import NO_TLS

from arbiter.bootstrap import RunningServer, replace_token
from arbiter.cli import bundled_bot
from arbiter.cli.terminal import say

NOTE: Final = "bot of arbiter serve"


@asynccontextmanager
async def playing(names: Sequence[str], running: RunningServer, address: str, secured: bool) -> AsyncIterator[None]:
    """Run bots on a server inside the context, each as the player of its name. Raises Failure."""
    async with AsyncExitStack() as stack:
        ends = []
        for name in names:
            token = await replace_token(running.arbiter.accounts, name, NOTE)
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
