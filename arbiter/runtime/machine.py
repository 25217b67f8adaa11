"""What `arbiter doctor` asks the operating system: disk, open files, and whether the clock is kept right."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

FLUSHES: Final = 20  #: that are timed
BLOCK: Final = bytes(4_096)
TIMEX_BYTES: Final = 512  #: more than the kernel's `struct timex` has
TIME_ERROR: Final = 5  #: adjtimex: the clock is not synchronised (`man 2 adjtimex`)


class Space(NamedTuple):
    """The space of a file system, in bytes."""

    free: int
    total: int


def space(folder: Path) -> Space:
    """Return the space where a folder is. Raises OSError."""
    found = shutil.disk_usage(folder)
    return Space(found.free, found.total)


def flush_ms(folder: Path) -> float:
    """Return how long a block takes to the disk of a folder, in milliseconds: the median of some. Raises OSError.

    It is written to a file of its own, which is removed.
    """
    took: list[float] = []
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(FLUSHES):
            began = time.perf_counter()
            file.write(BLOCK)
            os.fsync(file.fileno())
            took.append((time.perf_counter() - began) * 1_000)
    return median(took)


def open_files() -> int:
    """Return how many files and connections a process may have open; a server is started with the same limit."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def clock_is_synchronised() -> bool | None:
    """Return whether the kernel keeps the system clock by an outside one (NTP, PTP); None if it does not say."""
    if sys.platform != "linux":
        return None
    try:
        state: int = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(TIMEX_BYTES))  # modes 0: it only reads
    except (OSError, AttributeError):
        return None
    return None if state < 0 else state != TIME_ERROR
