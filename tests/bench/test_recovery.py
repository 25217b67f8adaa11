"""The benchmark of recovery, with few matches: it leaves no process and no file behind."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from arbiter.bench.plans import RecoveryPlan
from arbiter.bench.recovery import bench_recovery

pytestmark = pytest.mark.long


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    bench_recovery(RecoveryPlan(matches=2, plies=2, rounds=1, folder=tmp_path), lambda _: None)
    assert not list(tmp_path.iterdir())
    assert not _processes_of(tmp_path)  # a killed server may leave a worker that was just starting


def _processes_of(place: Path) -> list[str]:
    """Return the processes that have a folder in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):  # it has ended meanwhile, or belongs to another user
            if entry.name.isdigit() and bytes(place) in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found
