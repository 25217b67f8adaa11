"""Processes that `arbiter.sandbox.spawner` starts, in a sandbox or not, with the other ends of their pipes here."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import tempfile
from pathlib import Path
from typing import Final, Self

CODE_BYTES: Final = 16  #: of an exit code
IN_MEMORY: Final = Path("/dev/shm")


class SpawnerGone(Exception):
    """A spawner has ended, and with it every process that it has started."""


class SpawnedProcess:
    """A process of a spawner. into, out: our ends of the pipes to its standard input and output."""

    def __init__(self, control: socket.socket, into: int, out: int) -> None:
        self.into = into
        self.out = out
        self._returncode: int | None = None
        self._control = control
        self._ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(control, self._told)

    @classmethod
    def start(cls, spawner: socket.socket) -> Self:
        """Start a process by the channel of a spawner, the other end of its standard input.

        Raises SpawnerGone, and OSError if there are no handles to spare, or the spawner does not read.
        """
        with contextlib.ExitStack() as its, contextlib.ExitStack() as ours:
            control, its_control = socket.socketpair()
            ours.callback(control.close)
            its.callback(its_control.close)
            control.setblocking(False)
            spawner.setblocking(False)
            its_input, into = os.pipe()
            its.callback(os.close, its_input)
            ours.callback(os.close, into)
            out, its_output = _stamped_pipe()
            its.callback(os.close, its_output)
            ours.callback(os.close, out)
            try:
                socket.send_fds(spawner, [b"."], [its_input, its_output, its_control.fileno()])
            except (BrokenPipeError, ConnectionResetError):
                raise SpawnerGone from None
            ours.pop_all()
            return cls(control, into, out)

    @property
    def returncode(self) -> int | None:
        """Its exit code, or the negative number of the signal that has ended it; None while it runs.

        If its spawner has ended first, it was killed.
        """
        return self._returncode

    async def wait(self) -> None:
        """Wait until it has ended."""
        await self._ended.wait()

    def kill(self) -> None:
        """End it at once, and every process that it has started."""
        if self._returncode is None:
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)

    def _told(self) -> None:
        """Read how it has ended."""
        try:
            said = self._control.recv(CODE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        # A program may have got hold of its spawner, and say anything.
        self._returncode = int(said) if said.removeprefix(b"-").isdigit() else -signal.SIGKILL
        asyncio.get_running_loop().remove_reader(self._control)
        self._control.close()
        self._ended.set()


def _stamped_pipe() -> tuple[int, int]:
    """Return the ends of a pipe whose inode says when something was written, if there is one. Raises OSError.

    That is a named one whose name is gone, since Linux no longer stamps others; in memory, so that no disk is written.
    """
    if not IN_MEMORY.is_dir():
        return os.pipe()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        place = f"{folder}/pipe"
        os.mkfifo(place, 0o600)
        out = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.set_blocking(out, True)  # as an unnamed one
            return out, os.open(place, os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            os.close(out)
            raise
