"""A worker process and the pipes to it, as its parent sees them (frames: `arbiter.workers.process`)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import IO, Self, cast

from arbiter.workers.process import HEAD

STARTING_S = 60.0  #: time limit for a process to become ready


class Worker:
    """A worker process and the pipes to it."""

    __slots__ = ("_answers", "_jobs", "_process", "_ready", "_transport")

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        jobs: asyncio.StreamWriter,
        answers: asyncio.StreamReader,
        transport: asyncio.BaseTransport,
    ) -> None:
        self._process = process
        self._jobs = jobs
        self._answers = answers
        self._transport = transport
        self._ready: asyncio.Future[None] | None = None

    @classmethod
    async def start(cls, module: str, *arguments: str) -> Self:
        """Start a process for a module's jobs; `ready` waits until it takes them. arguments: see `process`."""
        # Not by the event loop: uvloop forks, and gRPC's threads may hold locks then. Popen executes without such a
        # fork.
        process = subprocess.Popen(  # noqa: ASYNC220 - it returns once the program runs, after a millisecond or so
            [sys.executable, "-m", "arbiter.workers.process", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal is for the server to handle
        )
        connecting = asyncio.ensure_future(cls._connected(process))
        try:
            return await asyncio.shield(connecting)
        except asyncio.CancelledError:  # nobody else knows the process, and it can be ended once its pipes are there
            await (await connecting).end()
            raise

    @classmethod
    async def _connected(cls, process: subprocess.Popen[bytes]) -> Self:
        """Return a process with its pipes in the event loop."""
        loop = asyncio.get_running_loop()
        answers = asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(answers), cast("IO[bytes]", process.stdout)
        )
        pipe, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, cast("IO[bytes]", process.stdin)
        )
        return cls(process, asyncio.StreamWriter(pipe, protocol, None, loop), answers, transport)

    @property
    def gone(self) -> bool:
        """Whether the process has ended by itself."""
        return self._process.poll() is not None

    async def ready(self) -> None:
        """Wait until the process takes jobs. Raises OSError, EOFError or TimeoutError if that fails."""
        if self._ready is None:
            self._ready = asyncio.ensure_future(self._begun())
        await asyncio.shield(self._ready)

    async def _begun(self) -> None:
        async with asyncio.timeout(STARTING_S):
            await self._frames()

    async def exchange(self, job: bytes) -> list[bytes]:
        """Send a job; return the bodies of the frames that answer it. Raises OSError or EOFError if the worker died."""
        self._jobs.write(job)
        await self._jobs.drain()
        return await self._frames()

    async def _frames(self) -> list[bytes]:
        frames: list[bytes] = []
        last = False
        while not last:
            last, length = HEAD.unpack(await self._answers.readexactly(HEAD.size))
            frames.append(await self._answers.readexactly(length))
        return frames

    async def end(self) -> None:
        """Kill the process, and wait for its end."""
        self._process.kill()
        if self._ready is not None:
            self._ready.cancel()
        self._jobs.close()
        self._transport.close()
        await asyncio.to_thread(self._process.wait)
