"""A program's process, and the pipes to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

PIECE: Final = 4_096  #: bytes that are read at a time: others get their turn between two pieces
TICK_S: Final = 0.004  #: how much later than its stamp something may have been written: a tick of Debian's kernel


class Child(Protocol):
    """A process that was started for a bridge. into, out: our ends of the pipes to its standard input and output."""

    into: int
    out: int

    @property
    def returncode(self) -> int | None:
        """Its exit code, or the negative number of the signal that has ended it; None while it runs."""

    async def wait(self) -> None:
        """Wait until it has ended."""

    def kill(self) -> None:
        """End it at once, and every process that it has started."""


Start = Callable[[], Awaitable[Child]]
"""Starts a program. Raises OSError."""


class OwnChild:
    """A child of this process, in a session of its own: Ctrl-C ends the bridge, which ends it."""

    def __init__(self, process: asyncio.subprocess.Process, into: int, out: int) -> None:
        self.into = into
        self.out = out
        self._process = process

    @property
    def returncode(self) -> int | None:
        """Its exit code, or the negative number of the signal that has ended it; None while it runs."""
        return self._process.returncode

    async def wait(self) -> None:
        """Wait until it has ended."""
        await self._process.wait()

    def kill(self) -> None:
        """End it at once, and every process that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def starting(command: Sequence[str]) -> Start:
    """Return what starts a program as a child of this process."""

    async def start() -> Child:
        its_input, into, out, its_output = new_pipes()
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=its_input, stdout=its_output, start_new_session=True
            )
        except BaseException:
            os.close(into)
            os.close(out)
            raise
        finally:
            os.close(its_input)
            os.close(its_output)
        return OwnChild(process, into, out)

    return start


def new_pipes() -> tuple[int, int, int, int]:
    """Return the ends of two pipes: of standard input the process's and ours, of its output ours and the process's."""
    its_input, into = os.pipe()
    try:
        return (its_input, into, *os.pipe())
    except OSError:
        os.close(its_input)
        os.close(into)
        raise


class Pipes:
    """Our ends of the pipes to a process, in the running event loop.

    heard: called with what it writes, piece by piece, and with b'' at the end of its output. Nothing stands between the
    pipes and this: what is written goes out at once as far as the pipe has room for it.
    """

    def __init__(self, into: int, out: int, heard: Callable[[bytes], None]) -> None:
        self._into: int | None = into
        self._out: int | None = out
        self._heard = heard
        self._unsent = b""
        self._loop = asyncio.get_running_loop()
        self._changed_s = os.fstat(out).st_ctime
        for handle in (into, out):
            os.set_blocking(handle, False)
        self._loop.add_reader(out, self.read)

    def write(self, data: bytes) -> None:
        """Write. Raises BrokenPipeError if nobody reads it any more."""
        if self._into is None:
            raise BrokenPipeError
        if self._unsent:
            self._unsent += data
            return
        try:
            sent = os.write(self._into, data)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            self._unsent = data[sent:]
            self._loop.add_writer(self._into, self._write_on)

    def _write_on(self) -> None:
        assert self._into is not None
        try:
            self._unsent = self._unsent[os.write(self._into, self._unsent) :]
        except BlockingIOError:
            return
        except OSError:  # nobody reads it any more
            self._unsent = b""
        if not self._unsent:
            self._loop.remove_writer(self._into)

    def read(self) -> bool:
        """Read a piece of what has been written, if there is any; return whether there was."""
        if self._out is None:
            return False
        try:
            data = os.read(self._out, PIECE)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.close_output()
        self._heard(data)
        return bool(data)

    def written_s(self) -> float | None:
        """Return when (`time.monotonic`) the process wrote what was read last, or up to TICK_S later.

        None if the system does not say it. Ask once for what was just read. A pipe's inode has the time of its last
        change: a write, or what the process does to the inode itself, which also has the time at which it was done.
        Linux 6.15 and later stamp named pipes alone.
        """
        if self._out is None:
            return None
        changed_s, before_s = os.fstat(self._out).st_ctime, self._changed_s
        self._changed_s = changed_s
        return None if changed_s == before_s else time.monotonic() - max(0.0, time.time() - changed_s - TICK_S)

    def close_input(self) -> None:
        """Close its standard input; what was not sent is dropped."""
        if self._into is not None:
            self._loop.remove_writer(self._into)
            os.close(self._into)
            self._into = None
            self._unsent = b""

    def close_output(self) -> None:
        """Hear nothing more."""
        if self._out is not None:
            self._loop.remove_reader(self._out)
            os.close(self._out)
            self._out = None
