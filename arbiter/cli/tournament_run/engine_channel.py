"""The run's end of the channel by which it gives its engines to the server's process; `hosted_engines` has the other.

A server that is started again has a new channel. Each engine is sent over it again, and goes on.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final

from arbiter.cli.tournament_run.hosted_engines import END
from arbiter.sandbox.bot_process import memory_file

PIECE: Final = 65_536  #: bytes


class EngineChannel:
    """The channel to the server that runs now."""

    def __init__(self) -> None:
        self._ours = socket.socket()  # which leads nowhere
        self._new = asyncio.Event()

    def renew(self) -> socket.socket:
        """Return the other end of a new channel, for the server that is about to start."""
        self.close()
        self._ours, its = socket.socketpair()
        self._ours.setblocking(False)
        new, self._new = self._new, asyncio.Event()
        new.set()
        return its

    def close(self) -> None:
        """Send no more engines."""
        self._ours.close()

    async def play(self, job: Mapping[str, Any], spawner: socket.socket, wrote: Callable[[bytes], None]) -> None:
        """Have an engine played by the server, and by each one that follows it, until it fails for its own reasons.

        job: as `hosted_engines` reads it. spawner: the socket by which its processes are started. wrote: called with
        the log of its bot.
        """
        while True:
            new = self._new
            log, its = socket.socketpair()
            with its:
                gone = not self._sent(job, spawner, its)
            if gone:
                log.close()
                await new.wait()
                continue
            reader, writer = await asyncio.open_connection(sock=log)
            try:
                data = b""
                while piece := await reader.read(PIECE):
                    data = piece
                    wrote(data.removesuffix(END))
            finally:
                writer.close()
            if data.endswith(END):
                return

    def _sent(self, job: Mapping[str, Any], spawner: socket.socket, log: socket.socket) -> bool:
        """Send an engine to the server; return whether there is one."""
        handle = memory_file(job)
        try:
            socket.send_fds(self._ours, [b"."], [handle, spawner.fileno(), log.fileno()])
        except OSError:
            return False
        finally:
            os.close(handle)
        return True
