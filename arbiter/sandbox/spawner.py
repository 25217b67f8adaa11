"""Starts one program as often as it is asked to: a script that uses the standard library alone.

    python spawner.py PROGRAM [ARGUMENT …]

Standard input is a Unix socket. Each message on it carries three handles: the standard input and the standard output of
one more process of the program, and a socket on which its exit code is written once it has ended (a negative number is
that of a signal). When the other end of that socket is closed, the process is killed, with all that it has started.
When the other end of standard input is closed, all of them are. `arbiter.sandbox.spawning` has the other ends.

In a sandbox, `arbiter.sandbox.guard` starts this script. So whoever asks for the processes needs neither to be in the
sandbox nor to stand between a process and its pipes.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
from typing import Final

GAMES: Final = "/usr/games:/usr/local/games"  #: where Debian puts engines; the PATH of a service often lacks it
NOT_FOUND: Final = 127  #: a shell's exit code if the program does not exist
HANDLES: Final = 3
DEATH_SIGNAL: Final = 1  #: PR_SET_PDEATHSIG of <linux/prctl.h>
LIBRARY: Final = ctypes.CDLL(None)


class _Running:
    """A process, and the socket on which its end is told."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self.process = process
        self.control = control
        self.ended = os.pidfd_open(process.pid)

    def kill(self) -> None:
        """End it, and all that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Tell how it ended, as soon as it has."""
        self.kill()  # processes that it has left behind
        code = self.process.wait()
        with contextlib.suppress(OSError):
            self.control.send(b"%d" % code)
        self.control.close()
        os.close(self.ended)


def serve(channel: socket.socket, command: list[str]) -> None:
    """Start the program for each message of a channel, until it ends."""
    running: dict[int, _Running] = {}  # by both handles that are waited for
    with selectors.DefaultSelector() as selector:
        selector.register(channel, selectors.EVENT_READ)
        try:
            while True:
                for key, _ in selector.select():
                    if key.fileobj is channel:
                        message, handles, _, _ = socket.recv_fds(channel, 1, HANDLES)
                        if not message:
                            return
                        each = _started(command, handles)
                        if each is not None:
                            for handle in (each.control.fileno(), each.ended):
                                running[handle] = each
                                selector.register(handle, selectors.EVENT_READ)
                    elif key.fd in running:
                        each = running[key.fd]
                        if key.fd != each.ended:  # whoever asked for it does not want it any more
                            each.kill()
                        for handle in (each.control.fileno(), each.ended):
                            del running[handle]
                            selector.unregister(handle)
                        each.close()
        finally:
            for each in running.values():
                each.kill()


def _started(command: list[str], handles: list[int]) -> _Running | None:
    """Start the program with its handles, which are closed here; None if it can't be started: then say why."""
    try:
        if len(handles) != HANDLES:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        process = subprocess.Popen(
            command, stdin=handles[0], stdout=handles[1], start_new_session=True, preexec_fn=_tie
        )
        return _Running(process, socket.socket(fileno=handles.pop()))
    except OSError as error:
        sys.stderr.write(f"can't run {command[0]}: {error.strerror}\n")
        return None
    finally:
        for handle in handles:
            os.close(handle)


def _tie() -> None:
    """Let the kernel kill this process when the spawner ends (Linux only); a sandbox does so anyway."""
    with contextlib.suppress(AttributeError, OSError):
        LIBRARY.prctl(DEATH_SIGNAL, signal.SIGKILL)


def found(program: str) -> str | None:
    """Return the path of an engine, or None if there is none."""
    return shutil.which(program) or shutil.which(program, path=GAMES)


def main() -> None:
    """Start the program of the command line whenever a message asks for it."""
    name, *words = sys.argv[1:]
    program = found(name)
    if program is None:
        sys.stderr.write(f"there is no program {name}: give its path, and see that it may be executed\n")
        sys.exit(NOT_FOUND)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    channel = socket.socket(fileno=os.dup(0))
    serve(channel, [program, *words])


if __name__ == "__main__":
    main()
