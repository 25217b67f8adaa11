"""Disks that are too small, for the tests of stores: file systems of their own where the system lets us mount one."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SMALL = 600_000  #: bytes


class SmallDisk:
    """A folder with little space: `enlarge` adds some."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(folder)]
        try:
            self._mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            self._mounted = False
        self._limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        if not self._mounted:  # then no file may grow any larger, which the system reports with another error
            resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL // 2, self._limits[1]))

    def enlarge(self) -> None:
        """Add space."""
        if self._mounted:
            subprocess.run(["mount", "-o", "remount,size=64M", str(self.folder)], check=True)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)

    def remove(self) -> None:
        """Remove the disk and all its files."""
        if self._mounted:
            subprocess.run(["umount", str(self.folder)], check=True)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Make a small disk in a new folder."""
    disk = SmallDisk(folder)
    try:
        yield disk
    finally:
        disk.remove()
