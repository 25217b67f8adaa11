"""The bytes by which gRPC wakes the event loop are taken together, and no event waits for a byte that was taken."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from arbiter.rpc.wake_ups import taken_together
from arbiter.runtime.loop import new_loop

LONG_S = 120.0
MANY = 100

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture(params=[new_loop, asyncio.new_event_loop], ids=["a server's loop", "asyncio's loop"])
def run(request: pytest.FixtureRequest) -> Iterator[Callable[[Any], Any]]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield lambda coroutine: runner.run(asyncio.wait_for(coroutine, LONG_S))


@contextmanager
def pair() -> Iterator[Pair]:
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        yield reader, writer


def waiting(reader: socket.socket) -> int:
    try:
        return len(reader.recv(2 * MANY, socket.MSG_PEEK))
    except BlockingIOError:
        return 0


async def calls_until(reader: socket.socket, writer: socket.socket, late: int) -> list[bytes]:
    """Return what a reader that takes a byte at a time took of MANY; in its first calls more bytes are sent."""
    loop, taken, done = asyncio.get_running_loop(), list[bytes](), asyncio.Event()

    def handle(most: int) -> None:
        taken.append(reader.recv(most))
        if len(taken) <= late:
            writer.send(b"l")
        else:
            done.set()

    with taken_together(loop):
        loop.add_reader(reader, handle, 1)
    writer.send(b"1" * MANY)
    await done.wait()
    loop.remove_reader(reader)
    return taken


def test_bytes_that_wait_are_taken_in_one_call(run: Any) -> None:
    with pair() as (reader, writer):
        assert run(calls_until(reader, writer, late=0)) == [b"1"]
        assert waiting(reader) == 0


def test_a_byte_that_comes_during_a_call_leads_to_another_call(run: Any) -> None:
    with pair() as (reader, writer):
        assert run(calls_until(reader, writer, late=2)) == [b"1", b"l", b"l"]
        assert waiting(reader) == 0


def test_readers_that_are_added_later_get_every_byte(run: Any) -> None:
    async def taken_by(reader: socket.socket, writer: socket.socket) -> bytes:
        loop, got = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
        with taken_together(loop):
            pass
        loop.add_reader(reader, lambda: None if got.done() else got.set_result(reader.recv(2 * MANY)))
        writer.send(b"1" * MANY)
        try:
            return bytes(await got)
        finally:
            loop.remove_reader(reader)

    with pair() as (reader, writer):
        assert run(taken_by(reader, writer)) == b"1" * MANY


def test_grpc_adds_its_reader_with_its_first_server_on_a_loop(run: Any) -> None:
    """Otherwise nothing is gained: look for the place where it does, and whether it takes one byte still."""

    async def readers() -> list[tuple[Any, ...]]:
        loop, added = asyncio.get_running_loop(), list[tuple[Any, ...]]()
        add: Any = loop.add_reader

        def add_reader(*args: Any) -> None:
            added.append(args)
            add(*args)

        loop.add_reader = add_reader  # type: ignore[assignment]
        with taken_together(loop):
            server = grpc.aio.server()
        await server.start()
        await server.stop(None)
        return added

    ((_, taker, reader, _, _),) = run(readers())
    assert taker.__module__ == taken_together.__module__
    assert isinstance(reader, socket.socket)
