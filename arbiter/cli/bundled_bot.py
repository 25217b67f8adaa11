"""The bots that come with the Python client, run as child processes of a command."""

from __future__ import annotations

import asyncio
import os
import pkgutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from arbiter_client import NO_TLS, Tls, bots
from arbiter_client.addresses import server_addresses
from arbiter_client.channel import TLS_VARIABLES

from arbiter.cli.failure import Failure
from arbiter.errors import OperatorError
from arbiter.runtime.loopback import HOST
from arbiter.sandbox.bot_process import BotProcess
from arbiter.sandbox.bubblewrap import Program, Sandbox, find

LAST_WORDS: Final = 65_536  #: maximum bytes of a bot's output that are kept
PIECE: Final = 4_096
ASKING: Final = ("wire",)  #: the bots that ask the server about positions, so that they need a connection


def names() -> tuple[str, ...]:
    """Return the names of the bots."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(bots.__path__)))


def check(name: str) -> None:
    """Raise Failure if there is no bot of this name."""
    if name not in names():
        raise Failure(f"there is no bot {name!r}: the bots are {', '.join(names())}")


class BundledBot:
    """A bot's process."""

    def __init__(self, name: str, process: BotProcess) -> None:
        self.name = name
        self._process = process
        self._said = b""
        self.hearing = asyncio.create_task(self._read_output())

    async def _read_output(self) -> None:
        while piece := await self._process.output.read(PIECE):
            self._said = (self._said + piece)[-LAST_WORDS:]

    async def wait_for_exit(self) -> str:
        """Wait for the process to end; return a message with its exit code and its last line of output."""
        code = await self._process.wait()
        await asyncio.wait({self.hearing}, timeout=1)  # its child processes may keep the pipe open
        said = self._said.decode(errors="replace").strip().splitlines()
        return f"the bot {self.name} has ended with code {code}" + (f": {said[-1]}" if said else "")


@asynccontextmanager
async def playing(name: str, server: str, token: str, tls: Tls | None) -> AsyncIterator[BundledBot]:
    """Run a bot on a server inside the context, as the player of a token; in a sandbox if one is available.

    The environment gives its transport security, unless `tls` is NO_TLS.
    """
    addresses = server_addresses(server)
    host, _, port = addresses[0].rpartition(":")
    files = {} if tls is NO_TLS else {each: os.environ[each] for each in TLS_VARIABLES if os.environ.get(each)}
    sandbox = _sandbox(host, bool(files)) if len(addresses) == 1 else None  # which shows a bot one address
    inside = f"{HOST}:{port}" if sandbox is not None and not files else server
    command = (sys.executable, "-m", f"arbiter_client.bots.{name}", "--server", inside)
    # The token is not an argument, because every user could read it there.
    program = Program(command, Path("/"), {"ARBITER_TOKEN": token, **files}, tuple(map(Path, files.values())))
    try:
        process = await BotProcess.start(program, host.strip("[]"), int(port), sandbox)
    except (OSError, OperatorError) as error:
        raise Failure(f"the bot {name} can't be started: {error}") from None
    bot = BundledBot(name, process)
    try:
        yield bot
    finally:
        bot.hearing.cancel()
        await process.end()


def _sandbox(host: str, secured: bool) -> Sandbox | None:
    """Return the sandbox for a bot on a server, or None. The bots are bundled, so they may also run without one.

    A certificate for an IP address does not match the sandbox's own loopback address; a host name works there as well.
    """
    if secured:
        try:
            ip_address(host.strip("[]"))
            return None
        except ValueError:
            pass
    found = find()
    return found if isinstance(found, Sandbox) else None
