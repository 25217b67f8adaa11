"""A baseline server (a part of a benchmark): it writes each message to all observers, and does nothing else.

It has no matches and no commits. An event is a byte string with the size of an arbiter's event, written to one stream
after the other. It sends an answer as soon as it serves. An order has `events` (how many) and `every_s` (seconds from
one to the next, or more if the server does not get to it in time). The answer lists these events as `durable` (match,
revision, and the time at which writing began, by the monotonic clock).
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import grpc
from arbiter_protos.v1 import match_pb2 as pb

from arbiter.bench.processes import answer, order, run_part
from arbiter.bench.scripts import GAME
from arbiter.games import registry
from arbiter.runtime.grpc_events import plain_loop

MATCH = "bare"
AT = 1_790_000_000_000  #: in place of the times in an arbiter's events


class BareFanout(grpc.GenericRpcHandler):
    """Treats every call as an Observe call."""

    def __init__(self) -> None:
        self._method: Any = grpc.unary_stream_rpc_method_handler(self._observe)
        self._streams: list[asyncio.Queue[bytes]] = []

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """Return the handler of every method."""
        return self._method

    async def _observe(self, _request: bytes, context: Any) -> None:
        messages: asyncio.Queue[bytes] = asyncio.Queue()
        self._streams.append(messages)  # before the bookmark, so that an observer that has read it misses no event
        await context.write(_bytes(pb.ObserveItem(bookmark=pb.Bookmark())))
        while True:
            await context.write(await messages.get())

    def publish(self, message: bytes) -> None:
        """Write a message to all observers; those who are still busy with the one before get it after that one."""
        for messages in self._streams:
            messages.put_nowait(message)


def _bytes(item: pb.ObserveItem) -> bytes:
    return pb.ObserveResponse(items=[item]).SerializeToString()


def _event(revision: int) -> bytes:
    rules = registry.game(GAME)
    position = rules.initial()
    clock = pb.Clock(remaining_ms=1_800_000, available_ms=1_800_000)
    moved = pb.MovePlayed(
        ply=revision,
        seat=1,
        move=next(iter(rules.moves(position))),
        position=rules.text(position),
        turn=2,
        ledger=pb.Ledger(started_ms=AT, handed_over_ms=AT, arrived_ms=AT, charged_ms=450, left_ms=1_800_000),
        clocks=[clock, clock],
    )
    event = pb.MatchEvent(match_id=MATCH, revision=revision, at_ms=AT, kind="moved", moved=moved)
    return _bytes(pb.ObserveItem(token=str(revision), event=event))


async def run() -> None:
    """Serve until there are no more orders."""
    fanout = BareFanout()
    server = grpc.aio.server(handlers=[fanout], options=[("grpc.so_reuseport", 0)])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    answer(port=port)
    while (ordered := await asyncio.to_thread(order)) is not None:
        durable = []
        begin = time.monotonic()
        for revision in range(1, ordered["events"] + 1):
            message = _event(revision)
            durable.append((MATCH, revision, time.monotonic()))
            fanout.publish(message)
            await asyncio.sleep(max(0.0, begin + revision * ordered["every_s"] - time.monotonic()))
        answer(durable=durable)
    await server.stop(0)


if __name__ == "__main__":
    run_part(run, plain_loop)
