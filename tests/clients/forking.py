"""A program like `arbiter`, whose processes are forked from one that has imported what a server needs.

The imports take longer than all else that a server does in a client's tests. The program hands its words, folder,
environment and standard streams to the process that forks, passes signals on, and ends as its server does. If it is
killed, its server is killed before another one begins.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from arbiter.__main__ import main

PROGRAM = """#!{python} -IS
import json, os, signal, socket, sys
forks = socket.socket(socket.AF_UNIX)
forks.connect({path!r})
asked = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(forks, [len(asked).to_bytes(4, "big")], [0, 1, 2])
forks.sendall(asked)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, _: forks.send(bytes([number])))
status = os.waitstatus_to_exitcode(int.from_bytes(forks.recv(4), "big"))
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


class Asked(NamedTuple):
    """What a program was started with."""

    words: list[str]
    folder: str
    environment: dict[str, str]
    streams: list[int]


class Running(NamedTuple):
    """A program, its server's process, and a descriptor that tells when that has ended."""

    program: socket.socket
    server: int
    end: int


@contextmanager
def forking() -> Iterator[str]:
    """Yield the path of the program, which works while the context lasts."""
    with TemporaryDirectory(prefix="arbiter-forks-") as folder, socket.socket(socket.AF_UNIX) as listener:
        path, program = str(Path(folder, "socket")), Path(folder, "arbiter")
        listener.bind(path)
        listener.listen()
        program.write_text(PROGRAM.format(python=sys.executable, path=path))
        program.chmod(0o755)
        number = listener.fileno()
        command = (sys.executable, "-u", "-m", __name__, str(number))
        with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[number]):  # ends when its input ends
            yield str(program)


def fork(listener: socket.socket) -> Asked:
    """Fork a process for each program, and return there what was asked. Exit at the end of the input."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    running: set[Running] = set()
    while True:
        ready = [key for key, _ in selector.select()]
        for each in {key.data for key in ready if key.data}:
            if has_ended(each):
                running.remove(each)
                selector.unregister(each.program)
                selector.unregister(each.end)
                each.program.close()
                os.close(each.end)
        if any(key.fileobj is sys.stdin for key in ready):
            for each in running:
                os.kill(each.server, signal.SIGKILL)
            sys.exit()
        if any(key.fileobj is listener for key in ready):
            program, _ = listener.accept()
            asked = read(program)
            server = os.fork()
            if server == 0:
                return asked
            for stream in asked.streams:
                os.close(stream)
            each = Running(program, server, os.pidfd_open(server))
            running.add(each)
            for source in (program, each.end):
                selector.register(source, selectors.EVENT_READ, each)


def read(program: socket.socket) -> Asked:
    """Read what a program was started with."""
    size, streams, _, _ = socket.recv_fds(program, 4, 3)
    words, folder, environment = json.loads(program.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
    return Asked(words, folder, environment, streams)


def has_ended(each: Running) -> bool:
    """Pass on a signal that a program got; kill the server of one that was killed. Return whether the server ended."""
    told = None
    with suppress(BlockingIOError):
        told = each.program.recv(1, socket.MSG_DONTWAIT)
        os.kill(each.server, told[0] if told else signal.SIGKILL)
    ended, status = os.waitpid(each.server, 0 if told == b"" else os.WNOHANG)
    if ended:
        with suppress(BrokenPipeError):
            each.program.sendall(status.to_bytes(4, "big"))
    return bool(ended)


def become(asked: Asked) -> None:
    """Give this process the words, folder, environment and standard streams of a program."""
    for number, stream in enumerate(asked.streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(asked.folder)
    os.environ.clear()
    os.environ.update(asked.environment)
    sys.argv = asked.words


if __name__ == "__main__":
    import arbiter.cli.rules_serve
    import arbiter.cli.serve  # noqa: F401

    gc.freeze()
    become(fork(socket.socket(fileno=int(sys.argv[1]))))
    main()
