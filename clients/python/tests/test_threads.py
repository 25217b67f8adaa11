"""Threads for methods that are no coroutines: as many as needed, reused, and none delays the end of a program."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest
from arbiter_client.threads import Threads


async def test_a_waiting_function_does_not_delay_others() -> None:
    threads, go_on = Threads(), threading.Event()
    waiting = [asyncio.create_task(threads.run(go_on.wait, 240)) for _ in range(40)]
    assert await threads.run(sum, [1, 2]) == 3
    go_on.set()
    assert await asyncio.gather(*waiting) == [True] * 40


async def test_an_idle_thread_is_used_again() -> None:
    threads = Threads()
    names = set()
    for _ in range(20):
        names.add(await threads.run(lambda: threading.current_thread().name))
        await asyncio.sleep(0)
    assert len(names) <= 3  # a thread that is just about to be idle may be overlooked


async def test_an_exception_is_raised_in_the_caller() -> None:
    def fail() -> None:
        raise ZeroDivisionError("oops")

    threads = Threads()
    with pytest.raises(ZeroDivisionError, match="oops"):
        await threads.run(fail)
    assert await threads.run(len, "abc") == 3


async def test_an_idle_thread_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arbiter_client.threads.IDLE_S", 0.01)
    threads = Threads()
    thread = await threads.run(threading.current_thread)
    await asyncio.to_thread(thread.join, 240)
    assert not thread.is_alive()
    assert await threads.run(len, "abc") == 3


async def test_a_cancelled_caller_leaves_the_function_running() -> None:
    threads, go_on, done = Threads(), threading.Event(), threading.Event()

    def work() -> None:
        go_on.wait(240)
        done.set()

    task = asyncio.create_task(threads.run(work))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    go_on.set()
    assert await asyncio.to_thread(done.wait, 240)


@pytest.mark.long
def test_the_program_ends_though_a_thread_is_running() -> None:
    program = """
import asyncio, threading
from arbiter_client.threads import Threads

async def main():
    threads = Threads()
    thinking = threading.Event()
    task = asyncio.create_task(threads.run(lambda: (thinking.set(), threading.Event().wait())))
    await asyncio.to_thread(thinking.wait)
    task.cancel()

asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=240).returncode == 0
