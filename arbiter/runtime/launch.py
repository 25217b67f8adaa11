"""The first steps of a bot's process, before it becomes the bot: a script that knows the standard library alone.

    python launch.py [--door FD HOST PORT] -- PROGRAM [ARGUMENT …]

Without `--door` the process is tied to the one that started it: Linux kills it when that one ends. With `--door` it is
in a sandbox, with a network of its own in which nobody else is. Then it listens there on HOST:PORT and hands the socket
out through FD: whoever started it takes what comes in to the arbiter, so that this is all the bot can reach.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
from typing import Final

DEATH_SIGNAL: Final = 1  #: PR_SET_PDEATHSIG of <linux/prctl.h>
BACKLOG: Final = 64
NOT_FOUND: Final = 127  #: exit code of a shell for a program that there is not
NOT_RUNNABLE: Final = 126


def tie() -> None:
    """Have this process killed when the one that started it ends; on Linux only."""
    starter = os.getppid()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != starter:  # it ended before this process was tied
        sys.exit(1)


def hand_out(channel: int, host: str, port: int) -> None:
    """Listen on an address, and send the listening socket through a channel, which is closed then."""
    with socket.socket(fileno=channel) as out, socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
        socket.send_fds(out, [b"."], [listener.fileno()])


def main() -> None:
    """Do what the command line says, and become the program."""
    given = sys.argv[1:]
    program = given[given.index("--") + 1 :]
    if given[0] == "--door":
        hand_out(int(given[1]), given[2], int(given[3]))
    else:
        tie()
    try:
        os.execvp(program[0], program)
    except OSError as error:
        sys.stderr.write(f"can't run {program[0]}: {error.strerror}\n")
        sys.exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE)


if __name__ == "__main__":
    main()
