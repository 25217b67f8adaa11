"""Long work in a thread: one piece at a time, also when callers leave."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading

import pytest

from arbiter.errors import Refusal, argument_invalid
from arbiter.service.one_thread import OneThread


@pytest.mark.long
async def test_what_a_caller_that_has_left_asked_for_keeps_others_waiting(caplog: pytest.LogCaptureFixture) -> None:
    thread, begun, go_on, order = OneThread(), asyncio.Event(), threading.Event(), list[str]()
    loop = asyncio.get_running_loop()

    def long() -> None:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait()
        order.append("long")
        raise argument_invalid("it", "the test", "nothing")

    left = asyncio.create_task(thread.run(long))
    await begun.wait()
    left.cancel()
    await asyncio.wait([left])
    assert left.cancelled()
    gone, waiting = asyncio.create_task(thread.run(order.append, "gone")), asyncio.create_task(thread.run(max, 1, 2))
    await asyncio.sleep(0)
    gone.cancel()
    go_on.set()
    assert await waiting == 2
    assert order == ["long"], "who leaves before its turn has none"
    with pytest.raises(Refusal):
        await thread.run(long)
    del left
    gc.collect()  # asyncio would log the failure now
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []
