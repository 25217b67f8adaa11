"""The worker processes of this one."""

from __future__ import annotations

import os
from pathlib import Path


def workers(module: str) -> list[int]:
    """Return the ids of the worker processes for the jobs of a module that this process has started."""
    children = [int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    return [child for child in children if f"\0{module}\0".encode() in Path(f"/proc/{child}/cmdline").read_bytes()]


def ended(child: int) -> bool:
    """Return whether a child process has ended, and leave its exit status to who started it."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT) is not None
