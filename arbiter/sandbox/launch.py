"""The first steps of a bot's process, before it runs the bot: a script that uses the standard library alone.

    python launch.py -- PROGRAM [ARGUMENT …]        the process ends when the process that started it ends
    python launch.py CHANNEL JOB -- PROGRAM [ARGUMENT …]     in a sandbox; `arbiter.sandbox.guard` writes JOB

A sandbox has a network namespace of its own, with nobody else in it. There this script listens at the arbiter's
address. It passes the socket, and a handle of its process, to the guard through CHANNEL. The guard forwards each
connection to the arbiter, so the bot can reach the arbiter and nothing else. Then the script sets its resource limits
and, if the job says so, changes its user. Then it executes the program.
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
NOT_FOUND: Final = 127  #: a shell's exit code if the program does not exist
NOT_RUNNABLE: Final = 126


def tie() -> None:
    """Let the kernel kill this process when its parent ends (Linux only)."""
    starter = os.getppid()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != starter:  # the parent ended before the call took effect
        sys.exit(1)


def hand_out(channel: int, address: tuple[str, int] | None) -> None:
    """Send a handle of this process, and a listening socket if there is an address, through a channel.

    Close the channel.
    """
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
    """Set the limits of a job on this process, and change to its user."""
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
    """Do what the command line says, then execute the program."""
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
