"""Disks that are too small, for the tests of stores: a file system of its own where the system lets us mount one."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SMALL = 600_000  #: bytes


class SmallDisk:
    """A folder in which there is little room: `enlarge` makes more."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(folder)]
        try:
            self._mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            self._mounted = False
        self._limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        if not self._mounted:  # then no file may grow any larger, which the system reports in other words
            resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL // 2, self._limits[1]))

    def enlarge(self) -> None:
        """Make room."""
        if self._mounted:
            subprocess.run(["mount", "-o", "remount,size=64M", str(self.folder)], check=True)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)

    def remove(self) -> None:
        """Take the disk away, with all that is on it."""
        if self._mounted:
            subprocess.run(["umount", str(self.folder)], check=True)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Have a small disk in a folder that is not there yet."""
    disk = SmallDisk(folder)
    try:
        yield disk
    finally:
        disk.remove()
