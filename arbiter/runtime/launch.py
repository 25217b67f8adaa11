"""The first steps of a bot's process, before it becomes the bot: a script that knows the standard library alone.

    python launch.py -- PROGRAM [ARGUMENT …]        tied to the process that started it: it ends with that one
    python launch.py CHANNEL JOB -- PROGRAM [ARGUMENT …]     in a sandbox; JOB is written by `arbiter.runtime.guard`

In a sandbox it has a network of its own in which nobody else is. It listens there at the arbiter's address and hands
the socket out through CHANNEL, with a handle of its process: who guards it takes what comes in to the arbiter, so that
this is all the bot can reach. It then takes its limits upon itself, and becomes another user where it is told to.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
from typing import Any, Final

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


def hand_out(channel: int, address: tuple[str, int] | None) -> None:
    """Send this process, and a socket that listens on an address if there is one, through a channel; close that."""
    with contextlib.ExitStack() as open_:
        out = open_.enter_context(socket.socket(fileno=channel))
        process = os.pidfd_open(os.getpid())
        open_.callback(os.close, process)
        handles = [process]
        if address is not None:
            listener = open_.enter_context(socket.socket())
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
            handles.append(listener.fileno())
        socket.send_fds(out, [b"."], handles)


def confine(job: dict[str, Any]) -> None:
    """Keep to the limits of a job, and become its user."""
    import resource

    for kind, most in job["limits"]:
        _, hard = resource.getrlimit(kind)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))
    if job["user"] is not None:
        os.setgroups([])
        os.setresgid(job["user"], job["user"], job["user"])
        os.setresuid(job["user"], job["user"], job["user"])


def main() -> None:
    """Do what the command line says, and become the program."""
    given = sys.argv[1:]
    program = given[given.index("--") + 1 :]
    if given[0] == "--":
        tie()
    else:
        job = json.loads(given[1])
        hand_out(int(given[0]), tuple(job["address"]) if job["address"] else None)
        confine(job)
    try:
        os.execvp(program[0], program)
    except OSError as error:
        sys.stderr.write(f"can't run {program[0]}: {error.strerror}\n")
        sys.exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE)


if __name__ == "__main__":
    main()
