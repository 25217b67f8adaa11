"""The gRPC library's thread does not wait for the event loop, and does not interrupt it."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from arbiter.runtime import grpc_events
from arbiter.runtime.grpc_events import KEPT, MOST, OFTEN, THREAD, DrainingReader, new_loop, plain_loop

STREAMS = 300
NUMBERS = range(20)  #: what each stream brings


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    read, write = socket.socketpair()
    with read, write:
        read.setblocking(False)
        yield read, write


@pytest.mark.skipif(sys.platform == "win32", reason="the bytes can't be counted")
@pytest.mark.parametrize(("written", "left"), [(1, 1), (MOST, MOST), (MOST + 1, KEPT), (MOST + 90, KEPT)])
def test_where_too_many_bytes_have_stayed_most_of_them_are_taken(
    pair: tuple[socket.socket, socket.socket], written: int, left: int
) -> None:
    read, write = pair
    found: list[int] = []
    reader = DrainingReader(read, lambda: found.append(reader.waiting()))
    write.send(b"1" * written)
    for _ in range(OFTEN):
        reader()
    assert found == [written] * (OFTEN - 1) + [left]


def test_its_clock_tells_turns_apart_that_take_less_than_a_millisecond() -> None:
    loop = new_loop()
    try:
        assert len({loop.time() for _ in range(1_000)}) > 100
    finally:
        loop.close()


class Watched(DrainingReader):
    """A reader that notes how many bytes there were before and after each call."""

    seen: list[tuple[int, int]]

    def __call__(self) -> None:
        before = self.waiting()
        super().__call__()
        Watched.seen.append((before, self.waiting()))


class Numbers(grpc.GenericRpcHandler):
    """Writes the numbers to every caller, each to all of them at once."""

    def __init__(self) -> None:
        self._at_once = asyncio.Barrier(STREAMS)

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        return grpc.unary_stream_rpc_method_handler(self._write)

    async def _write(self, _request: bytes, context: Any) -> None:
        for number in NUMBERS:
            await self._at_once.wait()
            await context.write(str(number).encode())


async def read_numbers(channel: grpc.aio.Channel) -> list[int]:
    call: Any = channel.unary_stream("/test/Numbers")
    return [int(number) async for number in call(b"")]


async def read_streams() -> list[list[int]]:
    """Read many streams of a server in this process; return what each of them brought."""
    server = grpc.aio.server(handlers=[Numbers()])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        read = await asyncio.gather(*(read_numbers(channel) for _ in range(STREAMS)))
    await server.stop(None)
    return read


@pytest.mark.skipif(sys.platform == "win32", reason="the bytes can't be counted")
@pytest.mark.long
@pytest.mark.parametrize("kind", ["uvloop", "asyncio"])
def test_bytes_of_the_library_are_taken_and_no_event_is_lost(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "asyncio":
        monkeypatch.setitem(sys.modules, "uvloop", None)
    monkeypatch.setattr(grpc_events, "DrainingReader", Watched)
    Watched.seen = []
    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert type(runner.get_loop()).__module__.partition(".")[0] == kind
        assert runner.run(read_streams()) == [list(NUMBERS)] * STREAMS
    assert any(before > MOST and after <= before - (MOST - KEPT) for before, after in Watched.seen)


if sys.platform == "linux":

    async def policies(before: int) -> tuple[set[int], int]:
        """Return the scheduling policies of the library's threads while a server runs, and that of the event loop's.

        before: the policy that those have which run already. They have the usual one when this returns.
        """
        give_threads(before)
        server = grpc.aio.server()
        await server.start()
        found = {os.sched_getscheduler(thread) for thread in library_threads()}
        await server.stop(None)
        give_threads(os.SCHED_OTHER)
        return found, os.sched_getscheduler(threading.get_native_id())

    def give_threads(policy: int) -> None:
        for thread in library_threads():
            os.sched_setscheduler(thread, policy, os.sched_param(0))

    def library_threads() -> list[int]:
        return [each.native_id for each in threading.enumerate() if THREAD in each.name and each.native_id is not None]

    @pytest.mark.parametrize("kind", ["uvloop", "asyncio"])
    def test_only_the_thread_of_the_library_runs_as_a_batch_thread(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        if kind == "asyncio":
            monkeypatch.setitem(sys.modules, "uvloop", None)
        with asyncio.Runner(loop_factory=new_loop) as runner:
            assert runner.run(policies(os.SCHED_OTHER)) == ({os.SCHED_BATCH}, os.SCHED_OTHER)

    def test_a_policy_that_the_operator_has_chosen_stays() -> None:
        def serve() -> set[int]:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # of this thread, and of those that it starts
            with asyncio.Runner(loop_factory=new_loop) as runner:
                return runner.run(policies(os.SCHED_IDLE))[0]

        with ThreadPoolExecutor(1) as threads:
            assert threads.submit(serve).result() == {os.SCHED_IDLE}

    def test_servers_that_benchmarks_compare_with_leave_the_thread_as_it_is() -> None:
        with asyncio.Runner(loop_factory=plain_loop) as runner:
            assert runner.run(policies(os.SCHED_OTHER)) == ({os.SCHED_OTHER}, os.SCHED_OTHER)

    @pytest.mark.long
    def test_where_the_policy_may_not_be_set_the_server_runs_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise PermissionError("Operation not permitted")

        with asyncio.Runner(loop_factory=new_loop) as runner:
            monkeypatch.setattr(os, "sched_setscheduler", refuse)
            assert runner.run(read_streams()) == [list(NUMBERS)] * STREAMS
