"""The resource limits of a sandboxed bot, and how its usage is measured.

The kernel can only limit single processes (setrlimit(2)); it counts memory, for example, for each process. A bot may
have several. So the sandbox's guard adds up the usage of all processes of a bot a few times a second. Where a control
group is available, the kernel counts instead (`arbiter.sandbox.cgroup`).
"""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from arbiter.options import Option, bounds_of

MIB: Final = 1_048_576
LOCKED: Final = 65_536  #: bytes of locked memory for each process
QUEUED: Final = 65_536  #: bytes in message queues (mq_open)
PLACES: Final = ("/tmp", "/dev/shm")  #: where a bot can write
TICKS: Final = os.sysconf("SC_CLK_TCK")
FILE: Final = 1_024  #: approximate memory overhead of a file, in bytes
PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class ResourceLimits(NamedTuple):
    """The resource limits of a bot, for all its processes together unless said otherwise."""

    memory_mb: Annotated[
        int, Option("Memory of all its processes, with the files in its /tmp, in MiB.", (16, 1_048_576))
    ] = 1_024
    processes: Annotated[int, Option("Processes and threads.", (4, 100_000))] = 256
    files: Annotated[int, Option("Open files of a process.", (16, 1_000_000))] = 1_024
    tmp_mb: Annotated[int, Option("Files in its /tmp, in MiB; as much again in /dev/shm.", (1, 1_048_576))] = 64
    cpu_s: Annotated[int, Option("Seconds of processor time since its start; 0: no limit.", (0, 31_536_000))] = 86_400


DEFAULT: Final = ResourceLimits()

BOUNDS: Final = bounds_of(ResourceLimits)
"""The allowed range of each limit."""

DEADLY: Final = ("memory_mb", "cpu_s")
"""A bot that reaches one of these limits is ended. At the other limits the kernel refuses the request for more."""

WORDS: Final = {
    "memory_mb": "took more than {} MiB of memory and was ended",
    "cpu_s": "took more than {} s of processor time and was ended",
    "processes": "had {} processes and threads, and got no more",
    "files": "had {} open files in a process, and got no more",
    "tmp_mb": "filled its {} MiB of /tmp or /dev/shm, and got no more",
}


def in_words(limit: str, value: int) -> str:
    """Describe a bot that reached this limit, as a clause with the bot as its subject."""
    return f"{WORDS[limit].format(f'{value:,}')} ({limit})"


def of_process(limits: ResourceLimits) -> list[tuple[int, int]]:
    """Return the limits that the kernel enforces for each process: resource of setrlimit(2), and maximum.

    Address space is not limited. Memory that a process maps and never uses costs nothing, and some engines, such as
    Ethereal 12, map the stack of a new thread for each move and keep it.
    """
    return [
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_NOFILE, limits.files),
        (resource.RLIMIT_FSIZE, limits.tmp_mb * MIB),
        (resource.RLIMIT_MEMLOCK, LOCKED),
        (resource.RLIMIT_MSGQUEUE, QUEUED),
        (resource.RLIMIT_CORE, 0),
    ]


class Usage(NamedTuple):
    """The usage of a bot: bytes of memory, processes and threads, most open files of one process, seconds of CPU time.

    full: whether a writable file system of the bot has no space or no inodes left.
    """

    memory: int = 0
    processes: int = 0
    files: int = 0
    cpu_s: float = 0.0
    full: bool = False

    def over(self, limits: ResourceLimits) -> list[str]:
        """Return the limits that this usage exceeds."""
        found = {
            "memory_mb": self.memory > limits.memory_mb * MIB,
            "processes": self.processes >= limits.processes,
            "files": self.files >= limits.files,
            "tmp_mb": self.full,
            "cpu_s": bool(limits.cpu_s) and self.cpu_s > limits.cpu_s,
        }
        return [name for name, hit in found.items() if hit]


def descendants(process: int) -> list[int]:
    """Return the ids of all child processes of a process, and of their children."""
    found: list[int] = []
    waiting = [process]
    while waiting:
        parent = waiting.pop()
        with contextlib.suppress(OSError):  # the process has ended
            for task in Path(f"/proc/{parent}/task").iterdir():
                with contextlib.suppress(OSError):
                    waiting += map(int, (task / "children").read_text().split())
        found.append(parent)
    return found[1:]


def usage(processes: list[int], place: int) -> Usage:
    """Return the usage of some processes together.

    place: one of them, through which the bot's file systems are seen.
    """
    memory = tasks = files = 0
    cpu_s = 0.0
    unnamed: dict[int, int] = {}
    for number in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):  # the process has ended
            entry = Path("/proc", str(number))
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            # its own time, and that of the ended children that it waited for
            cpu_s += sum(map(int, fields[11:15])) / TICKS
            tasks += int(fields[17])
            memory += _own_pages(entry) * PAGE
            files = max(files, _files(entry / "fd", unnamed))
    taken, full = _written(place)
    return Usage(memory + taken + sum(unnamed.values()), tasks, files, cpu_s, full)


def exact_memory(processes: list[int], place: int) -> int:
    """Return the bytes of memory of some processes. Shared pages count once. This is slow."""
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
    """Return how many files a process has open. Add the bytes of its in-memory files to the map, by inode."""
    number = 0
    for descriptor in descriptors.iterdir():
        number += 1
        with contextlib.suppress(OSError):  # the file was closed meanwhile
            if str(descriptor.readlink()).startswith("/memfd:"):
                found = descriptor.stat()
                unnamed[found.st_ino] = found.st_blocks * 512
    return number


def _own_pages(entry: Path) -> int:
    """Return the pages of a process that do not belong to a file. Pages shared by a fork count for both processes."""
    words = dict(line.split(":", 1) for line in (entry / "status").read_text().splitlines() if ":" in line)
    return sum(int(words.get(name, "0 kB").split()[0]) for name in ("RssAnon", "RssShmem")) * 1_024 // PAGE


def _written(place: int) -> tuple[int, bool]:
    """Return the bytes that a bot has written to files, and whether a file system is full."""
    taken, full = 0, False
    if _has_our_root(place):
        return taken, full
    for folder in PLACES:
        with contextlib.suppress(OSError):
            found = os.statvfs(f"/proc/{place}/root{folder}")
            taken += (found.f_blocks - found.f_bfree) * found.f_frsize + (found.f_files - found.f_ffree) * FILE
            full = full or found.f_bavail == 0 or found.f_favail == 0
    return taken, full


def _has_our_root(process: int) -> bool:
    """Say whether a process sees our files: bubblewrap does, until it has made the bot's file systems."""
    try:
        return Path(f"/proc/{process}/root").samefile("/")
    except OSError:  # the process has ended
        return True
