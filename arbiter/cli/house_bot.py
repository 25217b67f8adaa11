"""The bots that come with the Python client, as processes beside a command."""

from __future__ import annotations

import asyncio
import os
import pkgutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from arbiter_client import NO_TLS, Tls, bots
from arbiter_client.channel import TLS_VARIABLES

from arbiter.cli.failure import Failure

PATIENCE_S: Final = 5.0  #: what a bot gets to say goodbye


def names() -> tuple[str, ...]:
    """Return the names of the bots."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(bots.__path__)))


def check(name: str) -> None:
    """Raise Failure for a bot that there is not."""
    if name not in names():
        raise Failure(f"there is no bot {name!r}: the bots are {', '.join(names())}")


class HouseBot:
    """A bot's process."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: int) -> None:
        self.name = name
        self._process = process
        self._log = log

    async def fell(self) -> str:
        """Return, once the process has ended, what it said last."""
        code = await self._process.wait()
        os.lseek(self._log, 0, os.SEEK_SET)
        said = os.read(self._log, 65_536).decode(errors="replace").strip().splitlines()
        return f"the bot {self.name} has ended with code {code}" + (f": {said[-1]}" if said else "")


@asynccontextmanager
async def playing(name: str, server: str, token: str, tls: Tls | None) -> AsyncIterator[HouseBot]:
    """Run a bot on a server, as the player of a token, for as long as the context lasts.

    Its transport security is what the environment says, unless `tls` is NO_TLS.
    """
    surroundings = {"ARBITER_TOKEN": token}  # not as an argument, where every user could read it
    if tls is NO_TLS:
        surroundings |= dict.fromkeys(TLS_VARIABLES, "")
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "arbiter.runtime.tied", f"arbiter_client.bots.{name}", "--server", server),
            env={**os.environ, **surroundings},
            stdin=asyncio.subprocess.PIPE,  # nothing is said on it: the bot ends with us, however we end
            stdout=log,
            stderr=log,
            start_new_session=True,  # a Ctrl-C in the terminal is for us; we end the bot
        )
        try:
            yield HouseBot(name, process, log.fileno())
        finally:
            if process.returncode is None:
                process.terminate()
                try:
                    await asyncio.wait_for(process.wait(), PATIENCE_S)
                except TimeoutError:
                    process.kill()
                    await process.wait()
