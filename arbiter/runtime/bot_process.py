"""Bots as processes: in a sandbox or without one, each tied to this process, with an environment of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, Self

from arbiter.runtime import launch
from arbiter.runtime.sandbox import Sandbox, folders_named

KEPT: Final = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "VIRTUAL_ENV", "PYTHONPATH", "JAVA_HOME")
"""What a bot inherits of the environment of who runs it: where programs lie, and how texts and times are written.

All else may be secret, or of another server.
"""

ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""A bot thinks on one core, unless its author says otherwise: the others are other bots'."""

PIECE: Final = 65_536  #: bytes that a relay takes at a time
END_WAIT_S: Final = 5.0  #: what a bot gets to end by itself


class Program(NamedTuple):
    """A bot's program: command line, folder that it starts in, what it finds in its environment beside the usual."""

    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]


class Walls(NamedTuple):
    """A sandbox, and what is hidden in it beside the usual."""

    sandbox: Sandbox
    hidden: tuple[Path, ...]


class BotProcess:
    """A bot that runs. `output` is what it writes, on standard output and on standard error."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._relay: asyncio.Server | None = None
        assert process.stdout is not None
        self.output: asyncio.StreamReader = process.stdout

    @classmethod
    async def start(cls, program: Program, host: str, port: int, walls: Walls | None) -> Self:
        """Start a bot that finds its arbiter on a port of the loopback. Raises OSError."""
        ours, its = socket.socketpair()
        with ours:
            with its:
                bot = cls(await _spawned(program, its.fileno(), host, port, walls))
            if walls is not None:
                try:
                    await bot._relay_from(ours, host, port)
                except BaseException:
                    bot.kill()
                    raise
        return bot

    async def wait(self) -> int:
        """Wait until the bot has ended; return its exit code, or the negative number of the signal."""
        ended = self._process.returncode is not None
        code = await self._process.wait()
        if not ended:
            self._signal(signal.SIGKILL)  # what it has started and left behind
        if self._relay is not None:
            self._relay.close()
        return code

    async def end(self) -> None:
        """End the bot, and all that it has started. In a sandbox that is sudden: nothing it does there would stay."""
        if self._process.returncode is None:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.wait(), END_WAIT_S)
        self.kill()
        await self._process.wait()

    def kill(self) -> None:
        """End the bot at once."""
        if self._process.returncode is None:
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    async def _relay_from(self, channel: socket.socket, host: str, port: int) -> None:
        """Take to the arbiter whatever comes in on the socket that the sandbox hands out, if it comes to that."""
        listener = await _listener(channel)
        if listener is not None:
            self._relay = await _relayed(listener, host, port)


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return a bot's environment."""
    return {**{name: os.environ[name] for name in KEPT if name in os.environ}, **ONE_THREAD, **given}


async def _spawned(
    program: Program, door: int, host: str, port: int, walls: Walls | None
) -> asyncio.subprocess.Process:
    """Start a bot's process; in a sandbox it hands the socket that it listens on out through `door`."""
    command = [sys.executable, "-I", "-S", launch.__file__]
    command += ["--door", str(door), host, str(port)] if walls else []
    command += ["--", *program.command]
    if walls is not None:
        named = folders_named(program.command, program.folder)
        shown = [program.folder, *named, Path(sys.prefix), Path(launch.__file__).parents[2]]
        command = walls.sandbox.command(command, shown, walls.hidden)
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=program.folder,
        env=environment(program.environment),
        pass_fds=(door,) if walls else (),
        process_group=0,  # a Ctrl-C in the terminal is for us; we end the bot
    )


async def _listener(channel: socket.socket) -> socket.socket | None:
    """Take the listening socket that comes through a channel, or None if the other side ends before."""
    loop = asyncio.get_running_loop()
    channel.setblocking(False)
    ready = asyncio.Event()
    loop.add_reader(channel, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(channel)
    _, numbers, _, _ = socket.recv_fds(channel, 1, 1)
    return socket.socket(fileno=numbers[0]) if numbers else None


async def _relayed(listener: socket.socket, host: str, port: int) -> asyncio.Server:
    """Take to the arbiter whatever comes in on a socket."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):  # one side is gone: then both are
            there, back = await asyncio.open_connection(host, port)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(_pump(reader, back))
                    group.create_task(_pump(there, writer))
            except* OSError:
                pass
            finally:
                back.close()
        writer.close()

    return await asyncio.start_server(carry, sock=listener)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(PIECE):
        writer.write(piece)
        await writer.drain()
    writer.write_eof()
