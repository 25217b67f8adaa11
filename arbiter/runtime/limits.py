"""What a bot in a sandbox may take of the machine, and how much it takes.

The kernel keeps each process to its own limits (setrlimit(2)), which are less than what a whole bot may take where they
can be no more: memory is counted by process there. So the sandbox's guard adds up what all processes of a bot take, a
few times a second, or has a control group count where there is one (`arbiter.runtime.cgroup`).
"""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path
from typing import Final, NamedTuple

MIB: Final = 1_048_576
MAPPED: Final = 4  #: times the memory of a bot that one process may map for itself, touched or not
LOCKED: Final = 65_536  #: bytes that a process may keep from being swapped out
QUEUED: Final = 65_536  #: bytes of messages in queues (mq_open)
PLACES: Final = ("/tmp", "/dev/shm")  #: where a bot can write
TICKS: Final = os.sysconf("SC_CLK_TCK")
FILE: Final = 1_024  #: bytes that a file takes in memory beside what it holds, about
PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Limits(NamedTuple):
    """What a bot may take, with all its processes unless said otherwise.

    memory_mb: memory, with the files in its /tmp. processes: processes and threads. files: open files of a process.
    tmp_mb: files in its /tmp, and as much in /dev/shm. cpu_s: seconds of processor time from its start; 0: no limit.
    """

    memory_mb: int = 1_024
    processes: int = 256
    files: int = 1_024
    tmp_mb: int = 64
    cpu_s: int = 86_400


DEFAULT: Final = Limits()

BOUNDS: Final = {
    "memory_mb": (16, 1_048_576),
    "processes": (4, 100_000),
    "files": (16, 1_000_000),
    "tmp_mb": (1, 1_048_576),
    "cpu_s": (0, 31_536_000),
}
"""The least and the most that a limit may be."""

DEADLY: Final = ("memory_mb", "cpu_s")
"""Limits at which a bot is ended. At the others the kernel refuses it more."""

WORDS: Final = {
    "memory_mb": "took more than {} MiB of memory and was ended",
    "cpu_s": "took more than {} s of processor time and was ended",
    "processes": "had {} processes and threads, and got no more",
    "files": "had {} open files in a process, and got no more",
    "tmp_mb": "filled its {} MiB of /tmp or /dev/shm, and got no more",
}


def in_words(limit: str, value: int) -> str:
    """Return what a bot did that hit a limit, as a clause whose subject is the bot."""
    return f"{WORDS[limit].format(f'{value:,}')} ({limit})"


def of_process(limits: Limits) -> list[tuple[int, int]]:
    """Return what the kernel keeps each process to: kinds of setrlimit(2), and the most of each."""
    return [
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_NOFILE, limits.files),
        (resource.RLIMIT_DATA, MAPPED * limits.memory_mb * MIB),
        (resource.RLIMIT_FSIZE, limits.tmp_mb * MIB),
        (resource.RLIMIT_MEMLOCK, LOCKED),
        (resource.RLIMIT_MSGQUEUE, QUEUED),
        (resource.RLIMIT_CORE, 0),
    ]


class Usage(NamedTuple):
    """What a bot takes: bytes of memory, processes and threads, most open files of one, and seconds of processor time.

    full: whether a place where it can write is full, or has as many files as it may.
    """

    memory: int = 0
    processes: int = 0
    files: int = 0
    cpu_s: float = 0.0
    full: bool = False

    def over(self, limits: Limits) -> list[str]:
        """Return the limits that it has hit."""
        found = {
            "memory_mb": self.memory > limits.memory_mb * MIB,
            "processes": self.processes >= limits.processes,
            "files": self.files >= limits.files,
            "tmp_mb": self.full,
            "cpu_s": bool(limits.cpu_s) and self.cpu_s > limits.cpu_s,
        }
        return [name for name, hit in found.items() if hit]


def descendants(process: int) -> list[int]:
    """Return the processes, by number, that a process has started, and those have."""
    found: list[int] = []
    waiting = [process]
    while waiting:
        parent = waiting.pop()
        with contextlib.suppress(OSError):  # it has ended
            for task in Path(f"/proc/{parent}/task").iterdir():
                with contextlib.suppress(OSError):
                    waiting += map(int, (task / "children").read_text().split())
        found.append(parent)
    return found[1:]


def usage(processes: list[int], place: int) -> Usage:
    """Return what processes take together. place: one of them, which sees the places where the bot can write."""
    memory = tasks = files = 0
    cpu_s = 0.0
    unnamed: dict[int, int] = {}
    for number in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended
            entry = Path("/proc", str(number))
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            cpu_s += (
                sum(map(int, fields[11:15])) / TICKS
            )  # its own, and that of those that have ended and it waited for
            tasks += int(fields[17])
            memory += _own_pages(entry) * PAGE
            files = max(files, _files(entry / "fd", unnamed))
    taken, full = _written(place)
    return Usage(memory + taken + sum(unnamed.values()), tasks, files, cpu_s, full)


def exact_memory(processes: list[int], place: int) -> int:
    """Return the bytes of memory that processes take, where pages that some of them share are counted once: slowly."""
    unnamed: dict[int, int] = {}
    total = _written(place)[0]
    for number in processes:
        with contextlib.suppress(OSError, ValueError):
            for line in Path(f"/proc/{number}/smaps_rollup").read_text().splitlines():
                if line.startswith(("Pss_Anon:", "Pss_Shmem:")):
                    total += int(line.split()[1]) * 1_024
            _files(Path(f"/proc/{number}/fd"), unnamed)
    return total + sum(unnamed.values())


def _files(descriptors: Path, unnamed: dict[int, int]) -> int:
    """Return how many files a process has open; note the bytes of those that are in memory alone, by their inodes."""
    number = 0
    for descriptor in descriptors.iterdir():
        number += 1
        with contextlib.suppress(OSError):  # it has been closed
            if str(descriptor.readlink()).startswith("/memfd:"):
                found = descriptor.stat()
                unnamed[found.st_ino] = found.st_blocks * 512
    return number


def _own_pages(entry: Path) -> int:
    """Return the pages of a process that are no part of a file; those that a fork shares are in both."""
    words = dict(line.split(":", 1) for line in (entry / "status").read_text().splitlines() if ":" in line)
    return sum(int(words.get(name, "0 kB").split()[0]) for name in ("RssAnon", "RssShmem")) * 1_024 // PAGE


def _written(place: int) -> tuple[int, bool]:
    """Return the bytes of the files that a bot has written, and whether there is no room for more."""
    taken, full = 0, False
    for folder in PLACES:
        with contextlib.suppress(OSError):
            found = os.statvfs(f"/proc/{place}/root{folder}")
            taken += (found.f_blocks - found.f_bfree) * found.f_frsize + (found.f_files - found.f_ffree) * FILE
            full = full or found.f_bavail == 0 or found.f_favail == 0
    return taken, full
