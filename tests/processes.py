"""Processes, also those that are not children of a test's process, as Linux's /proc shows them."""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from arbiter.store.database import opened

WAIT_S = 240  #: seconds; only a hanging test takes that long, however busy the machine
LOOK_S = 0.05  #: seconds between two checks of other processes, which need the processor meanwhile


def empty_store(folder: Path) -> None:
    """Make a store with empty tables in a folder: a server starts sooner with it than without a store."""
    (folder / "arbiter.db").write_bytes(_tables())


@cache
def _tables() -> bytes:
    with TemporaryDirectory() as folder:
        with opened(f"sqlite:///{folder}/arbiter.db"):
            pass
        return Path(folder, "arbiter.db").read_bytes()


def writing_to(place: Path) -> dict[int, str]:
    """Return the command lines, by process id, of the processes whose standard error is a file, or is in a folder."""
    found = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError):  # the process has ended meanwhile
            if entry.name.isdigit() and (entry / "fd/2").readlink().is_relative_to(place):
                found[int(entry.name)] = _command(entry)
    return found


def children(parent: int) -> dict[int, str]:
    """Return the command lines, by process id, of the children of a process."""
    found = {}
    with suppress(OSError):  # the process has ended meanwhile
        for thread in Path(f"/proc/{parent}/task").iterdir():
            for number in (thread / "children").read_text().split():
                found[int(number)] = _command(Path("/proc", number))
    return found


def descendants(process: int) -> dict[int, str]:
    """Return the command lines, by process id, of all descendants of a process."""
    found = children(process)
    return found | {number: line for child in found for number, line in descendants(child).items()}


def holds(process: int, connection: socket.socket) -> bool:
    """Return whether a process has the other end of a TCP connection over IPv4."""
    ends = [_hex(connection.getpeername()), _hex(connection.getsockname())]
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    sockets = {f"socket:[{words[9]}]" for words in lines if words[1:3] == ends}
    found = set()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):  # it has been closed meanwhile
            found.add(entry.readlink().name)
    return bool(found & sockets)


def _hex(address: tuple[str, int]) -> str:
    """Return an address as /proc shows it."""
    host, port = address
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"


def wait_for_end(process: int) -> None:
    """Wait until a process has ended. Raises AssertionError if it does not end."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(process)
        try:
            assert select.select([handle], [], [], WAIT_S)[0], f"process {process} does not end"
        finally:
            os.close(handle)


def until(true: Callable[[], object]) -> None:
    """Wait until other processes make a condition true. Raises AssertionError if it stays false."""
    give_up_s = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < give_up_s, "the condition never became true"
        time.sleep(LOOK_S)


def _command(entry: Path) -> str:
    return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
