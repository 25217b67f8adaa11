"""Control groups (cgroup v2) for bots, where this process may create them: the kernel then measures usage exactly.

Source: Documentation/admin-guide/cgroup-v2.rst of Linux. A process may create groups below its own group if that group
was delegated to it, for example by `systemd-run --user --scope -p Delegate=yes COMMAND`, or if it runs as root. A group
that distributes memory to child groups must not hold processes itself. So this process first moves itself into a child
group (`delegated`), and then creates groups for bots.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final, NamedTuple, Self

from arbiter.sandbox.limits import MIB, ResourceLimits

ROOT: Final = Path("/sys/fs/cgroup")
NEEDED: Final = {"memory", "pids"}
STARTER: Final = "arbiter-starter"


def delegated(root: Path = ROOT) -> Path | None:
    """Return the group below which this process can create groups for bots, or None.

    This moves the current process, and with it all processes that it starts later, into a sibling of the bots' groups.
    Call it only if limits are wanted.
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
        except OSError:  # other processes are in the group too: leave it as it is
            (group / "cgroup.procs").write_text(str(os.getpid()))
            starter.rmdir()
            return None
        return group
    return None


class Cgroup(NamedTuple):
    """The control group of one bot."""

    path: Path

    @classmethod
    def make(cls, parent: str, limits: ResourceLimits) -> Self | None:
        """Create a group with limits.

        Return None where that is not possible: then only the limits per process apply.
        """
        path = Path(parent, f"arbiter-bot-{os.getpid()}")
        try:
            path.mkdir()
            (path / "memory.max").write_text(str(limits.memory_mb * MIB))
            (path / "pids.max").write_text(str(limits.processes + 2))  # bubblewrap's own two processes
            for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
                with contextlib.suppress(FileNotFoundError):  # the kernel has no swap accounting
                    (path / name).write_text(value)
        except OSError:
            with contextlib.suppress(OSError):
                path.rmdir()
            return None
        return cls(path)

    def enter(self) -> None:
        """Move this process into the group."""
        (self.path / "cgroup.procs").write_text("0")

    def hits(self) -> list[str]:
        """Return the limits that were reached."""
        found = []
        if _count(self.path / "memory.events", "oom_kill"):
            found.append("memory_mb")
        if _count(self.path / "pids.events", "max"):
            found.append("processes")
        return found

    def cpu_s(self) -> float:
        """Return the processor time that the group has used, in seconds."""
        return _count(self.path / "cpu.stat", "usage_usec") / 1e6

    def remove(self) -> None:
        """Remove the group and kill the processes in it."""
        with contextlib.suppress(OSError):
            (self.path / "cgroup.kill").write_text("1")
        with contextlib.suppress(OSError):
            self.path.rmdir()


def _count(file: Path, name: str) -> int:
    """Return a value from a file of `name number` lines, or 0 if the name is missing."""
    with contextlib.suppress(OSError):
        return next((int(line.split()[1]) for line in file.read_text().splitlines() if line.split()[0] == name), 0)
    return 0
