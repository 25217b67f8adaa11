"""The bots that come with the arbiter, playing on the server that a command runs: somebody to play against."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from arbiter_client import NO_TLS

from arbiter.bootstrap.operator_tokens import replace_token
from arbiter.bootstrap.running_server import RunningServer
from arbiter.cli import bundled_bot
from arbiter.cli.failure import Failure
from arbiter.cli.terminal import say
from arbiter.errors import Refusal
from arbiter.runtime.supervision import again_and_again

NOTE: Final = "bot of arbiter serve"
AGAIN_S: Final = 1.0  #: before a bot that has ended is started again, the first time; then twice as long each time
MOST_AGAIN_S: Final = 60.0  #: the longest such time; after a bot that has run for longer it is AGAIN_S again


@asynccontextmanager
async def playing(names: Sequence[str], running: RunningServer, address: str, secured: bool) -> AsyncIterator[None]:
    """Run bots on a server inside the context, each as the player of its name. Raises Failure if one can't be started.

    One that ends is started again: on a busy machine it may not have reached the server in its time.
    """
    bots = [_Bot(name, running, address, secured) for name in names]
    tasks = [asyncio.create_task(bot.keep()) for bot in bots]
    try:
        for bot, task in zip(bots, tasks, strict=True):
            await asyncio.wait((bot.started, task), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                await task
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Bot:
    """A bot that plays for as long as the server runs. `started` is done once it runs."""

    def __init__(self, name: str, running: RunningServer, address: str, secured: bool) -> None:
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._name = name
        self._running = running
        self._address = address
        self._tls = None if secured else NO_TLS

    async def keep(self) -> None:
        """Run it, again and again. Raises Failure, or a Refusal of its token, if it can't be started the first time."""
        await again_and_again(self._run_or_say_why, self._tell, AGAIN_S, MOST_AGAIN_S)

    def _tell(self, ended: str, again_in_s: float) -> None:
        say(f"{ended}; it is started again in {again_in_s:g} s.")

    async def _run_or_say_why(self) -> str:
        try:
            return await self._run()
        except (Failure, Refusal) as wrong:
            if not self.started.done():
                raise
            return str(wrong)

    async def _run(self) -> str:
        """Run it until it ends; return how it did."""
        token = await replace_token(self._running.arbiter.accounts, self._name, NOTE)
        async with bundled_bot.playing(self._name, self._address, token, self._tls) as bot:
            if not self.started.done():
                self.started.set_result(None)
            return await bot.wait_for_exit()
