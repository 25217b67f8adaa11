"""Control groups of bots (cgroup v2), where there is one that can be written to: the kernel counts exactly.

Source: Documentation/admin-guide/cgroup-v2.rst of Linux. A process may make groups below its own where that was handed
over to it, as by `systemd-run --user --scope -p Delegate=yes COMMAND`, or as root. Groups that share out memory hold
either processes or other groups, so whoever makes groups for bots first moves itself into one (`delegated`).
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final, NamedTuple, Self

from arbiter.runtime.limits import MIB, Limits

ROOT: Final = Path("/sys/fs/cgroup")
NEEDED: Final = {"memory", "pids"}
STARTER: Final = "arbiter-starter"


def delegated(root: Path = ROOT) -> Path | None:
    """Return the group below which this process can make groups for bots, or None.

    This process and what it starts from now on are in a group beside those. It is no use to ask before the limits are
    wanted: a process that asks leaves its group.
    """
    with contextlib.suppress(OSError, ValueError):
        own = next(line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
        group = root / own.strip("/")
        if group.name == STARTER:
            group = group.parent
        if not set((group / "cgroup.controllers").read_text().split()) >= NEEDED:
            return None
        starter = group / STARTER
        starter.mkdir(exist_ok=True)
        (starter / "cgroup.procs").write_text(str(os.getpid()))
        try:
            (group / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in sorted(NEEDED)))
        except OSError:  # others are in the group, too: then it stays as it was
            (group / "cgroup.procs").write_text(str(os.getpid()))
            starter.rmdir()
            return None
        return group
    return None


class Cgroup(NamedTuple):
    """The group of one bot."""

    path: Path

    @classmethod
    def make(cls, parent: str, limits: Limits) -> Self | None:
        """Return a new group with limits, or None where that is not possible: then each process has limits alone."""
        path = Path(parent, f"arbiter-bot-{os.getpid()}")
        try:
            path.mkdir()
            (path / "memory.max").write_text(str(limits.memory_mb * MIB))
            (path / "pids.max").write_text(str(limits.processes + 2))  # bubblewrap's own two
            for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
                with contextlib.suppress(FileNotFoundError):  # a kernel without swap
                    (path / name).write_text(value)
        except OSError:
            with contextlib.suppress(OSError):
                path.rmdir()
            return None
        return cls(path)

    def enter(self) -> None:
        """Put this process into the group."""
        (self.path / "cgroup.procs").write_text("0")

    def hits(self) -> list[str]:
        """Return the limits that were hit."""
        found = []
        if _count(self.path / "memory.events", "oom_kill"):
            found.append("memory_mb")
        if _count(self.path / "pids.events", "max"):
            found.append("processes")
        return found

    def cpu_s(self) -> float:
        """Return the seconds of processor time that the group has taken."""
        return _count(self.path / "cpu.stat", "usage_usec") / 1e6

    def remove(self) -> None:
        """Remove the group, which ends whoever is in it."""
        with contextlib.suppress(OSError):
            (self.path / "cgroup.kill").write_text("1")
        with contextlib.suppress(OSError):
            self.path.rmdir()


def _count(file: Path, name: str) -> int:
    """Return a number of a file that has a name and a number in each line; 0 if it is not there."""
    with contextlib.suppress(OSError):
        return next((int(line.split()[1]) for line in file.read_text().splitlines() if line.split()[0] == name), 0)
    return 0
