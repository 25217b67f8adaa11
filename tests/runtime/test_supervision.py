"""A process that is kept running."""

from __future__ import annotations

import asyncio
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from typing import Any

import pytest

from arbiter.runtime import supervision
from arbiter.runtime.supervision import EndedEarly, KeptProcess

WAIT_S = 240


class Log:
    """Keeps what is logged."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self._grown = asyncio.Event()

    def info(self, event: str, **values: Any) -> None:
        self.lines.append({"event": event, **values})
        self._grown.set()

    warning = error = exception = info

    def bind(self, **_values: Any) -> Log:
        return self

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not true():
                self._grown.clear()
                await self._grown.wait()


def kept(log: Log, *scripts: str) -> KeptProcess:
    """Return a kept process that runs one shell script after the other, the last one again and again."""
    waiting = list(scripts)

    async def spawn() -> Process:
        script = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if not script:
            raise OSError("no process can be made")
        return await asyncio.create_subprocess_exec("/bin/sh", "-c", script, stdout=PIPE)

    async def ready(process: Process) -> None:
        assert process.stdout is not None
        if not await process.stdout.readline():
            raise EndedEarly(await process.wait())

    return KeptProcess("part", spawn, ready, log)


async def test_it_is_started_again_after_longer_and_longer_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "AGAIN_S", 0.001)
    monkeypatch.setattr(supervision, "MOST_AGAIN_S", 0.004)
    log = Log()
    part = kept(log, "echo here; exit 3", "exit 4", "", "echo here; exit 5", "echo here; exec sleep 1000")
    await part.start()
    keeping = asyncio.create_task(part.keep())
    await log.until(lambda: [line["event"] for line in log.lines].count("process_started") == 2)
    ended = [(line["code"], line["again_in_s"]) for line in log.lines if line["event"] == "process_ended"]
    assert [code for code, _ in ended] == [3, 4, 4, 5]
    assert ended[0][1] == 0.001
    assert all(pause <= 0.004 for _, pause in ended)
    assert {"event": "process_not_started", "process": "part", "error": "no process can be made"} in log.lines
    assert await part.stop(signal.SIGTERM) == -signal.SIGTERM
    await asyncio.wait_for(keeping, WAIT_S)


async def test_one_that_ends_before_it_is_ready_at_first_raises() -> None:
    part = kept(Log(), "exit 7")
    with pytest.raises(EndedEarly) as ended:
        await part.start()
    assert ended.value.code == 7
    assert await part.stop(signal.SIGTERM) == 7


async def test_one_that_is_told_to_stop_while_it_starts_again_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "AGAIN_S", 0.001)
    log = Log()
    part = kept(log, "echo here; exit 3", "exec sleep 1000")  # the second one never says that it is ready
    await part.start()
    keeping = asyncio.create_task(part.keep())
    await log.until(lambda: log.lines)
    await part.stop(signal.SIGTERM)
    await asyncio.wait_for(keeping, WAIT_S)
