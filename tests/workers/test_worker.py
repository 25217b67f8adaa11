"""A worker process whose start is cancelled."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import suppress
from typing import Any

import pytest

from arbiter.workers import worker
from arbiter.workers.worker import Worker


@pytest.mark.parametrize("turns", range(8))
async def test_a_cancelled_start_leaves_no_process(monkeypatch: pytest.MonkeyPatch, turns: int) -> None:
    """turns: turns of the event loop before the start is cancelled."""
    started: list[subprocess.Popen[bytes]] = []

    def popen(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(process := subprocess.Popen[bytes](*arguments, **options))
        return process

    monkeypatch.setattr(worker, "subprocess", type("", (), {"Popen": popen, "PIPE": subprocess.PIPE}))
    starting = asyncio.create_task(Worker.start("arbiter.workers.rules_worker", "0", str(1 << 30)))
    for _ in range(turns):
        await asyncio.sleep(0)
    if not starting.done():
        starting.cancel()
    with suppress(asyncio.CancelledError):
        await (await starting).end()
    assert all(process.poll() is not None for process in started)
