"""A program that the tests of clients start as `arbiter`. For each start, the tests start an `ArbiterProcess`.

The program sends its words, folder, environment and standard streams to a thread of the tests. It passes signals on,
and ends as its server does. If it is killed, its server is killed before another one begins.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.arbiter_process import ArbiterProcess

PROGRAM = """#!{python} -IS
import json, os, signal, socket, sys
tests = socket.socket(socket.AF_UNIX)
tests.connect({path!r})
asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(tests, [len(asked).to_bytes(4, "big")], [0, 1, 2])
tests.sendall(asked)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, _: tests.send(bytes([number])))
status = int.from_bytes(tests.recv(4), "big", signed=True)
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


class Running(NamedTuple):
    """A program, its server, and a descriptor that tells when that has ended."""

    program: socket.socket
    server: ArbiterProcess
    end: int

    def has_ended(self) -> bool:
        """Pass on a signal that the program got, or kill its server if it was killed. Return whether that has ended."""
        told = None
        with suppress(BlockingIOError):
            told = self.program.recv(1, socket.MSG_DONTWAIT)
            self.server.send_signal(told[0] if told else signal.SIGKILL)
        status = self.server.wait() if told == b"" else self.server.poll()
        if status is not None:
            with suppress(BrokenPipeError):
                self.program.sendall(status.to_bytes(4, "big", signed=True))
        return status is not None


@contextmanager
def forking() -> Iterator[str]:
    """Yield the path of the program, which works while the context lasts."""
    with TemporaryDirectory(prefix="arbiter-forks-") as folder, socket.socket(socket.AF_UNIX) as listener:
        path, program = str(Path(folder, "socket")), Path(folder, "arbiter")
        listener.bind(path)
        listener.listen()
        program.write_text(PROGRAM.format(python=sys.executable, path=path))
        program.chmod(0o755)
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield str(program)
        finally:
            listener.shutdown(socket.SHUT_RD)
            thread.join()


def serve(listener: socket.socket) -> None:
    """Start a server for each program, until the listener is shut down."""
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        while True:
            ready = [key for key, _ in selector.select()]
            for each in {key.data for key in ready if key.data}:
                if each.has_ended():
                    selector.unregister(each.program)
                    selector.unregister(each.end)
                    each.program.close()
                    os.close(each.end)
            if any(key.fileobj is listener for key in ready):
                try:
                    program, _ = listener.accept()
                except OSError:
                    break
                server = begun(program)
                each = Running(program, server, os.pidfd_open(server.pid))
                for source in (program, each.end):
                    selector.register(source, selectors.EVENT_READ, each)
        for each in {key.data for key in selector.get_map().values() if key.data}:
            with each.program, each.server:
                each.server.kill()
            os.close(each.end)


def begun(program: socket.socket) -> ArbiterProcess:
    """Read what a program was started with, and start its server."""
    size, streams, _, _ = socket.recv_fds(program, 4, 3)
    words, folder, environment = json.loads(program.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
    server = ArbiterProcess(*words, cwd=folder, env=environment, stdin=streams[0], stdout=streams[1], stderr=streams[2])
    for stream in streams:
        os.close(stream)
    return server
