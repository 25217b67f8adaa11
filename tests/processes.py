"""Processes that need not be children of a test's, as Linux shows them."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from arbiter.store.database import opened

WAIT_S = 240  #: only a test that hangs takes that long, however busy the machine
LOOK_S = 0.05  #: between two looks at what other processes do, which need the processor for it


def empty_store(folder: Path) -> None:
    """Put a store into a folder that has its tables and nothing else: a server starts sooner than without one."""
    (folder / "arbiter.db").write_bytes(_tables())


@cache
def _tables() -> bytes:
    with TemporaryDirectory() as folder:
        with opened(f"sqlite:///{folder}/arbiter.db"):
            pass
        return Path(folder, "arbiter.db").read_bytes()


def writing_to(place: Path) -> dict[int, str]:
    """Return the command lines, by number, of the processes whose standard error is a file, or in a folder."""
    found = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError):  # it ended while we looked
            if entry.name.isdigit() and (entry / "fd/2").readlink().is_relative_to(place):
                found[int(entry.name)] = _command(entry)
    return found


def children(parent: int) -> dict[int, str]:
    """Return the command lines, by number, of the processes that a process has started."""
    found = {}
    with suppress(OSError):  # it ended while we looked
        for thread in Path(f"/proc/{parent}/task").iterdir():
            for number in (thread / "children").read_text().split():
                found[int(number)] = _command(Path("/proc", number))
    return found


def descendants(process: int) -> dict[int, str]:
    """Return the command lines, by number, of all processes that a process has started, and those have."""
    found = children(process)
    return found | {number: line for child in found for number, line in descendants(child).items()}


def wait_for_end(process: int) -> None:
    """Wait until a process is no more. Raises AssertionError if it goes on."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(process)
        try:
            assert select.select([handle], [], [], WAIT_S)[0], f"process {process} goes on"
        finally:
            os.close(handle)


def until(true: Callable[[], object]) -> None:
    """Wait until what other processes do makes something true. Raises AssertionError if they never do."""
    give_up_s = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < give_up_s, "it never became true"
        time.sleep(LOOK_S)


def _command(entry: Path) -> str:
    return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
