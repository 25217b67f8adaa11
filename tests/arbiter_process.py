"""Processes of `arbiter` that are forked from one that has imported it: imports are most of what a process costs."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from functools import cache
from importlib import import_module
from pathlib import Path
from subprocess import PIPE
from typing import IO, Any

from arbiter.runtime.loop import GRPC_ENVIRONMENT

IMPORTED = ("app", "accounts", "match", "serve_here", "serve", "tournament_corrections", "tournament_run.command")
SET_CHILD_SUBREAPER = 36  #: of prctl: orphans among the descendants of this process become its children
LONGEST = 1 << 17  #: bytes of a command with its environment


class ArbiterProcess(subprocess.Popen[str]):
    """`arbiter WORDS` as a child of this process. Only its command line in /proc is another one: that of its parent."""

    def __init__(self, *words: str, env: dict[str, str], **given: Any) -> None:
        super().__init__(words, env=env, text=True, **given)

    def _execute_child(self, *given: Any) -> None:
        words, _, _, _, _, folder, environment, _, _, _, *pipes = given[:16]
        ends = [end if end >= 0 else place for place, end in enumerate((pipes[0], pipes[3], pipes[5]))]
        self.pid = _Parent.started().fork([words, str(folder or Path.cwd()), environment], ends)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def ran(*words: str, typed: str = "", **given: Any) -> subprocess.CompletedProcess[str]:
    """Run `arbiter WORDS` to its end."""
    with ArbiterProcess(*words, stdin=PIPE, stdout=PIPE, stderr=PIPE, **given) as process:
        said, complaint = process.communicate(typed)
    return subprocess.CompletedProcess(words, process.returncode, said, complaint)


class _Parent:
    """The process that has imported the arbiter. It ends with this one."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._one = threading.Lock()
        with theirs:
            handle = theirs.fileno()
            environment = {**os.environ, **GRPC_ENVIRONMENT, "GRPC_VERBOSITY": "NONE"}  # gRPC reads it when imported
            command = [sys.executable, "-P", __file__, str(handle)]
            self._process = subprocess.Popen(command, pass_fds=(handle,), env=environment)
        atexit.register(self._end)

    def _end(self) -> None:
        self._ours.close()
        self._process.wait()

    @classmethod
    @cache
    def started(cls) -> _Parent:
        """Return that of this process."""
        return cls()

    def fork(self, command: list[Any], ends: list[int]) -> int:
        """Start a command with these handles as its standard input, output and error; return its number."""
        with self._one:
            _adopt(orphans=True)
            socket.send_fds(self._ours, [json.dumps(command).encode()], ends)
            process = int(self._ours.recv(LONGEST))
            _adopt(orphans=False)
        return process


def _adopt(orphans: bool) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)


def _fork_commands(channel: socket.socket) -> None:
    """Return in a new process for each command, as `arbiter` begins."""
    while True:
        command, ends, _, _ = socket.recv_fds(channel, LONGEST, 3)
        if not command:
            sys.exit()
        pid, tell = os.pipe()
        between = os.fork()
        if not between:
            child = os.fork()
            if not child:
                channel.close()
                os.close(pid)
                os.close(tell)
                _become(ends, *json.loads(command))
                return
            os.write(tell, str(child).encode())
            os._exit(0)
        os.close(tell)
        os.waitpid(between, 0)  # now its child is that of the test's process
        channel.send(os.read(pid, LONGEST))
        for end in (*ends, pid):
            os.close(end)


def _become(ends: list[int], words: list[str], folder: str, environment: dict[str, str]) -> None:
    for place, end in enumerate(ends):
        os.dup2(end, place)
        os.close(end)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.argv = ["arbiter", *words]
    at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
    sys.stdin, sys.stdout, sys.stderr = (_opened(place, how, at_once or place == 2) for place, how in enumerate("rww"))


def _opened(place: int, how: str, at_once: bool) -> IO[str]:
    return open(place, how, buffering=1 if at_once else -1, closefd=False)


if __name__ == "__main__":
    from arbiter.__main__ import main

    for name in IMPORTED:
        import_module(f"arbiter.cli.{name}")
    _fork_commands(socket.socket(fileno=int(sys.argv[1])))
    main()
