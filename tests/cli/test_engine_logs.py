"""The log of an engine's bot on its way from the server's process to the run."""

from __future__ import annotations

import asyncio
import socket

import pytest

from arbiter.cli.tournament_run.hosted_engines import END, MOST_WAITING, LogToRun
from arbiter.runtime.grpc_events import new_loop

LINE = b"2026-11-30 13:02:41,607 INFO an engine in m1 > info depth 1 score cp 13 nodes 20 pv e2e4\n"


async def sent_late(number: int) -> bytes:
    """Return what a run reads of a log of many lines, of which it reads nothing before the last one is written."""
    ours, its = socket.socketpair()
    closed = asyncio.Event()
    _, log = await asyncio.get_running_loop().create_connection(lambda: LogToRun(closed.set), sock=its)
    for _ in range(number):
        log.say(LINE)
        await asyncio.sleep(0)
    log.end(END)
    reader, writer = await asyncio.open_connection(sock=ours)
    read = await reader.read()
    writer.close()
    await closed.wait()
    return read


def read_late(number: int) -> bytes:
    """Return the same, on the event loop of a server."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(sent_late(number))


@pytest.mark.parametrize("number", [10, MOST_WAITING // len(LINE)])
def test_lines_wait_for_a_run_that_is_late(number: int) -> None:
    assert read_late(number) == LINE * number + END


def test_a_log_says_how_much_of_it_is_left_out() -> None:
    number = 3 * MOST_WAITING // len(LINE)
    *lines, note, end = read_late(number).splitlines(keepends=True)
    assert {*lines} == {LINE}
    assert note == b"[arbiter] %d bytes are left out here\n" % ((number - len(lines)) * len(LINE))
    assert len(lines) * len(LINE) > MOST_WAITING / 2
    assert end == END


async def test_the_end_of_a_run_is_the_end_of_the_log() -> None:
    ours, its = socket.socketpair()
    closed = asyncio.Event()
    await asyncio.get_running_loop().create_connection(lambda: LogToRun(closed.set), sock=its)
    ours.close()
    await closed.wait()
