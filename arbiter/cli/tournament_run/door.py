"""The run's side of the door by which its engines come into the server's process: `engines_here` is the other side.

A server that is started again has a new door. Each engine is brought through it again, and goes on.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final

from arbiter.cli.tournament_run.engines_here import END
from arbiter.sandbox.bot_process import memory_file

PIECE: Final = 65_536  #: bytes


class Door:
    """The door of the server that runs now."""

    def __init__(self) -> None:
        self._ours = socket.socket()  # which leads nowhere
        self._new = asyncio.Event()

    def renew(self) -> socket.socket:
        """Return the other end of a new door, for the server that is about to start."""
        self.close()
        self._ours, its = socket.socketpair()
        self._ours.setblocking(False)
        new, self._new = self._new, asyncio.Event()
        new.set()
        return its

    def close(self) -> None:
        """Bring no more engines."""
        self._ours.close()

    async def play(self, job: Mapping[str, Any], spawner: socket.socket, wrote: Callable[[bytes], None]) -> None:
        """Have an engine played by the server, and by each one that follows it, until it fails for its own reasons.

        job: as `engines_here` reads it. spawner: the channel by which its processes are started. wrote: called with the
        log of its bot.
        """
        while True:
            new = self._new
            talk, its = socket.socketpair()
            with its:
                gone = not self._brought(job, spawner, its)
            if gone:
                talk.close()
                await new.wait()
                continue
            reader, writer = await asyncio.open_connection(sock=talk)
            try:
                data = b""
                while piece := await reader.read(PIECE):
                    data = piece
                    wrote(data.removesuffix(END))
            finally:
                writer.close()
            if data.endswith(END):
                return

    def _brought(self, job: Mapping[str, Any], spawner: socket.socket, talk: socket.socket) -> bool:
        """Bring an engine through the door; return whether there is a server behind it."""
        handle = memory_file(job)
        try:
            socket.send_fds(self._ours, [b"."], [handle, spawner.fileno(), talk.fileno()])
        except OSError:
            return False
        finally:
            os.close(handle)
        return True
