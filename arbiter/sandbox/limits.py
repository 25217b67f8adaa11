"""The resource limits of a sandboxed bot, and how its usage is measured.

The kernel can only limit single processes (setrlimit(2)); it counts memory, for example, for each process. A bot may
have several. So the sandbox's guard adds up the usage of all processes of a bot a few times a second. Where a control
group is available, the kernel counts instead (`arbiter.sandbox.cgroup`).
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import stat
from io import FileIO
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from arbiter.options import Option, bounds_of

MIB: Final = 1_048_576
LOCKED: Final = 65_536  #: bytes of locked memory for each process
QUEUED: Final = 65_536  #: bytes in message queues (mq_open)
PLACES: Final = ("/tmp", "/dev/shm")  #: where a bot can write
TICKS: Final = os.sysconf("SC_CLK_TCK")
FILE: Final = 1_024  #: approximate memory overhead of a file, in bytes
MAPPING: Final = 256  #: approximate memory overhead of a mapping, in bytes
PIPE: Final = 65_536  #: bytes that a pipe holds; the filter of system calls allows no larger ones
SOCKET: Final = 327_680  #: bytes that a socket holds at Linux's defaults: 208 KiB, and one message above them
SHARED: Final = b" /dev/zero (deleted)"  #: how the kernel names shared memory without a file
SHARED_MAPPING: Final = re.compile(rb"^(\w+)-(\w+) \S+ (\w+) \S+ (\d+) +/dev/zero \(deleted\)$", re.MULTILINE)
ANONYMOUS_AND_TABLES: Final = re.compile(rb"^(?:RssAnon|VmPTE):\s*(\d+) kB", re.MULTILINE)
PAGE_TABLES: Final = re.compile(rb"^VmPTE:\s*(\d+) kB", re.MULTILINE)
ANONYMOUS_SHARED_ONCE: Final = re.compile(rb"^Pss_Anon:\s*(\d+) kB", re.MULTILINE)


class ResourceLimits(NamedTuple):
    """The resource limits of a bot, for all its processes together unless said otherwise."""

    memory_mb: Annotated[
        int,
        Option(
            "Memory of all its processes, with the files in its /tmp and what its pipes and sockets hold, in MiB.",
            (16, 1_048_576),
        ),
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
        with contextlib.suppress(OSError), os.scandir(f"/proc/{parent}/task") as tasks:  # the process may have ended
            for task in tasks:
                with contextlib.suppress(OSError):
                    waiting += map(int, _read(f"{task.path}/children").split())
        found.append(parent)
    return found[1:]


def usage(processes: list[int], place: int, in_group: bool = False) -> Usage:
    """Return the usage of some processes together.

    place: one of them, through which the bot's file systems and sockets are seen.
    in_group: whether a control group measures their memory; then it is 0 here.
    """
    memory = tasks = files = 0
    cpu_s = 0.0
    shared: dict[str, int] = {}
    for number in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):  # the process has ended
            entry = f"/proc/{number}"
            fields = _read(f"{entry}/stat").rpartition(b")")[2].split()
            # its own time, and that of the ended children that it waited for
            cpu_s += sum(map(int, fields[11:15])) / TICKS
            tasks += int(fields[17])
            opened = _files(f"{entry}/fd", shared)
            files = max(files, opened)
            if not in_group:
                # pages that are shared by a fork count for each process; page tables address pages that are empty too
                memory += _kib(f"{entry}/status", ANONYMOUS_AND_TABLES) * 1_024 + _mappings(f"{entry}/maps", shared)
                memory += opened * FILE
    taken, full = _written(place)
    return Usage(0 if in_group else memory + taken + sum(shared.values()), tasks, files, cpu_s, full)


def exact_memory(processes: list[int], place: int) -> int:
    """Return the bytes of memory of some processes. Shared pages count once. This is slow."""
    shared: dict[str, int] = {}
    total = _written(place)[0]
    for number in processes:
        with contextlib.suppress(OSError, ValueError):
            entry = f"/proc/{number}"
            total += (
                _kib(f"{entry}/smaps_rollup", ANONYMOUS_SHARED_ONCE) + _kib(f"{entry}/status", PAGE_TABLES)
            ) * 1_024
            total += _mappings(f"{entry}/maps", shared) + _files(f"{entry}/fd", shared) * FILE
    return total + sum(shared.values())


def _read(file: str) -> bytes:
    """Return what a file holds. A guard may read hundreds of files four times a second: pathlib takes twice as long."""
    with FileIO(file) as opened:
        return opened.readall()


def _kib(file: str, lines: re.Pattern[bytes]) -> int:
    """Return the sum of the numbers in the lines of a file that match."""
    return sum(map(int, lines.findall(_read(file))))


def _files(descriptors: str, shared: dict[str, int]) -> int:
    """Return how many files a process has open. Add the bytes that its pipes may hold to the map, by file."""
    number = 0
    with os.scandir(descriptors) as entries:
        for entry in entries:
            number += 1
            with contextlib.suppress(OSError):  # the file was closed meanwhile
                found = entry.stat()
                if stat.S_ISFIFO(found.st_mode):
                    shared[f"{found.st_dev}:{found.st_ino}"] = PIPE
    return number


def _mappings(table: str, shared: dict[str, int]) -> int:
    """Return the bytes that describe a process's mappings. Add shared memory without a file to the map, by inode.

    That counts as far as it is mapped: it remains when a process lets its pages go, and nothing tells which pages there
    are. Those beyond what is still mapped are not seen.
    """
    maps = _read(table)
    if SHARED in maps:
        for start, end, offset, inode in SHARED_MAPPING.findall(maps):
            size = int(offset, 16) + int(end, 16) - int(start, 16)
            shared[inode.decode()] = max(size, shared.get(inode.decode(), 0))
    return maps.count(b"\n") * MAPPING


def _written(place: int) -> tuple[int, bool]:
    """Return the bytes of a bot's files and of what its sockets may hold, and whether a file system is full."""
    if _has_our_root(place):
        return 0, False
    taken, full = _in_sockets(Path(f"/proc/{place}/net")), False
    for folder in PLACES:
        with contextlib.suppress(OSError):
            found = os.statvfs(f"/proc/{place}/root{folder}")
            taken += (found.f_blocks - found.f_bfree) * found.f_frsize + (found.f_files - found.f_ffree) * FILE
            full = full or found.f_bavail == 0 or found.f_favail == 0
    return taken, full


def _in_sockets(network: Path) -> int:
    """Return the bytes that the sockets of a network namespace may hold; of TCP's, which grow, those that they do."""
    total = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        total = int((network / "sockstat").read_text().split()[2]) * SOCKET  # the first line is `sockets: used NUMBER`
        for name in ("tcp", "tcp6"):
            for line in (network / name).read_text().splitlines()[1:]:
                total += sum(int(queue, 16) for queue in line.split()[4].split(":"))
    return total


def _has_our_root(process: int) -> bool:
    """Say whether a process sees our files: bubblewrap does, until it has made the bot's file systems."""
    try:
        return Path(f"/proc/{process}/root").samefile("/")
    except OSError:  # the process has ended
        return True
