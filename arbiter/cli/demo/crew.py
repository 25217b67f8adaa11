"""The processes of a demo: an arbiter and the bots, each on its own, started, watched and ended together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, NoReturn, Self

from arbiter.cli.demo.folder import Folder
from arbiter.cli.failure import Failure

HOST: Final = "127.0.0.1"
FIRST_PORT: Final = 7410
PORTS: Final = 200
SERVER: Final = "server"

END_WAIT_S: Final = 10.0  #: what processes get to end by themselves
RESTART_PAUSE_S: Final = 0.5
MOST_DEATHS: Final = 5  #: of one bot; a bot that dies more often is broken

_FORBIDDEN: Final = "ARBITER_"
"""Settings of whoever runs the demo are for another server."""


class Crew:
    """The processes of a run. Leaving the context ends them all and waits for them.

    tokens: by bot. note: is told, in a line, what a person should know.
    """

    def __init__(self, folder: Folder, port: int, tokens: Mapping[str, str], note: Callable[[str], None]) -> None:
        self._folder = folder
        self._tokens = tokens
        self._note = note
        self._port = port or free_port()
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._hurried = False

    @property
    def address(self) -> str:
        """The server's address, HOST:PORT."""
        return f"{HOST}:{self._port}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    def hurry(self) -> None:
        """End all processes at once, without a goodbye."""
        self._hurried = True
        self._signal(signal.SIGKILL)

    async def serve(self) -> None:
        """Start the server. It is not there yet when this returns."""
        arguments = ("--listen", self.address, "--store", self._folder.store, "--registration", "closed")
        quiet = ("--log-level", "warning", "--no-save-token")
        await self._start(SERVER, ("arbiter", "serve", *arguments, *quiet), {})

    async def watch_server(self) -> NoReturn:
        """Wait for the server to end, which it should not. Raises Failure."""
        code = await self._processes[SERVER].wait()
        words = f": {self._last_words(SERVER)}" if code > 0 else ""
        raise Failure(f"the arbiter ended by itself ({_ended(code)}){words}; its log is {self._folder.log(SERVER)}")

    async def keep(self, bot: str) -> NoReturn:
        """Run a bot, and start it again whenever it ends. Raises Failure if it ends again and again."""
        module = f"arbiter_client.bots.{bot}"
        arguments = (module, "--server", self.address, "--name", bot)
        for _ in range(MOST_DEATHS):
            await self._start(bot, arguments, {"ARBITER_TOKEN": self._tokens[bot]})
            code = await self._processes[bot].wait()
            self._note(f"{bot} ended by itself ({_ended(code)}) and is started again; see {self._folder.log(bot)}")
            await asyncio.sleep(RESTART_PAUSE_S)
        words = self._last_words(bot)
        raise Failure(
            f"{bot} ended by itself {MOST_DEATHS} times, at last: {words}; its log is {self._folder.log(bot)}"
        )

    async def _start(self, name: str, arguments: tuple[str, ...], more: Mapping[str, str]) -> None:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(_FORBIDDEN)}
        # A second thread for matrices of a handful of players costs more than it brings.
        environment = {**kept, "OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", **more}
        with self._folder.log(name).open("ab") as log:
            # In a process group of its own a child does not get the terminal's Ctrl-C: the server has to end first.
            self._processes[name] = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "arbiter.runtime.tied", *arguments),
                stdin=asyncio.subprocess.PIPE,  # nothing is said on it: it ends with us, however we end
                stdout=log,
                stderr=log,
                env=environment,
                process_group=0,
            )

    async def _end(self) -> None:
        """End everybody. The server comes first: with it all clocks stop, before a bot is missed at the board."""
        if not self._hurried:
            self._signal(signal.SIGTERM)
        waiting = [asyncio.create_task(process.wait()) for process in self._processes.values()]
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=END_WAIT_S)
            if late:
                self._signal(signal.SIGKILL)
                await asyncio.wait(late)

    def _signal(self, number: signal.Signals) -> None:
        for process in self._processes.values():
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(number)

    def _last_words(self, name: str) -> str:
        """Return the last line of a log."""
        lines = self._folder.log(name).read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def free_port() -> int:
    """Return a port of this machine that nobody listens on, the first one from 7410. Raises Failure."""
    for port in range(FIRST_PORT, FIRST_PORT + PORTS):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise Failure(f"no port from {FIRST_PORT} to {FIRST_PORT + PORTS - 1} is free: choose one with --port")


def _ended(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
