"""Benchmark processes: a bare gRPC server that answers each message with one message, and clients that keep it busy.

They show the speed of the gRPC library alone, on this machine, with messages of the same sizes on as many streams.
Plan of the server: `answer_bytes`. Plan of the clients: `address`, `streams`, `busy` (how many of them have a message
under way), `request_bytes`. An order `seconds` starts a round; the answer has `exchanges` and `seconds`.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import grpc

from arbiter.bench.h2 import RawCall
from arbiter.bench.players import QUIET_S
from arbiter.bench.processes import answer, give_way, order
from arbiter.runtime.grpc_events import plain_loop
from arbiter.runtime.loop import run_process

ECHO = "/arbiter.bench/Echo"


class Echo(grpc.GenericRpcHandler):
    """Answers every message with one of a given size."""

    def __init__(self, answer_bytes: int) -> None:
        self._answer = bytes(answer_bytes)
        self._method: Any = grpc.stream_stream_rpc_method_handler(self._echo)

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """Return the handler of every method."""
        return self._method

    async def _echo(self, _requests: Any, context: Any) -> None:
        while await context.read() is not grpc.aio.EOF:
            await context.write(self._answer)


async def serve(answer_bytes: int) -> None:
    """Serve until there are no more orders."""
    server = grpc.aio.server(handlers=[Echo(answer_bytes)], options=[("grpc.so_reuseport", 0)])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    answer(port=port)
    while await asyncio.to_thread(order) is not None:
        pass
    await server.stop(0)


class Client:
    """One stream that sends a message for each one it receives, for the length of a round."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._call = RawCall(ECHO, [], self._received, lambda: None)
        self._playing = False
        self.exchanges = 0

    async def connect(self, address: str) -> None:
        """Open the stream."""
        await self._call.connect(address)

    def start(self) -> None:
        """Begin a round."""
        self.exchanges = 0
        self._playing = True
        self._call.send(self._request)

    def stop(self) -> None:
        """Stop sending."""
        self._playing = False

    def _received(self, message: bytes) -> None:
        self.exchanges += 1
        if self._playing:
            self._call.send(self._request)


async def drive(address: str, streams: int, busy: int, request_bytes: int) -> None:
    """Play rounds until there are no more orders."""
    give_way()
    clients = [Client(bytes(request_bytes)) for _ in range(streams)]
    await asyncio.gather(*(client.connect(address) for client in clients))
    answer(streams=streams)
    while (ordered := await asyncio.to_thread(order)) is not None:
        started = time.perf_counter()
        for client in clients[:busy]:
            client.start()
        await asyncio.sleep(ordered["seconds"])
        exchanges, seconds = sum(client.exchanges for client in clients), time.perf_counter() - started
        for client in clients:
            client.stop()
        await asyncio.sleep(QUIET_S)
        answer(exchanges=exchanges, seconds=seconds)


if __name__ == "__main__":
    plan = order()
    assert plan is not None
    run_process(serve(**plan) if "answer_bytes" in plan else drive(**plan), plain_loop)
