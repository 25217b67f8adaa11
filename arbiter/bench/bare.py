"""A baseline server (a part of a benchmark): the least work that any arbiter must do for a move.

It reads a message, plays the move by the rules, appends the event as canonical JSON to a hash chain and to the
arbiter's own store, and after the commit sends a receipt to the mover and a turn to the opponent. Both messages have
the same size as an arbiter's. It has no clocks, no ledgers, no memory of requests, no refusals and no sessions. The
modules that it uses may be compiled; its own lines (this module and `arbiter.bench.bare_path`) are interpreted, and its
commits take the interpreter's lock, unless it is asked for the compiled ones.

Plan: `store` (URL), `game` (variant), `seats` (pair and seat by token), `matches` (for each pair, in the order in which
they are played), `compiled` (whether `bare_path` is taken as it is installed, compiled where the other modules are). It
sends an answer as soon as it serves. It answers every later order with the `commits` (writes, and seconds of each)
since the previous order.
"""

from __future__ import annotations

import asyncio
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import grpc
from arbiter_protos.v1 import play_pb2 as pb
from arbiter_protos.v1 import play_pb2_grpc

from arbiter.bench import bare_path
from arbiter.bench.bare_path import BarePath, OutgoingMessages
from arbiter.bench.processes import answer, order, run_part
from arbiter.bootstrap.store import open_store
from arbiter.runtime.grpc_events import plain_loop
from arbiter.runtime.loop import switch_seldom


class BarePlay(play_pb2_grpc.PlayServiceServicer):
    """The part of the Play protocol that scripted players need."""

    def __init__(self, path: BarePath, seats: dict[str, tuple[int, int]]) -> None:
        self._path = path
        self._seats = seats

    async def Play(self, _requests: Any, context: Any) -> None:  # type: ignore[override]  # noqa: N802
        """Play until the client ends the stream."""
        token = dict(context.invocation_metadata())["authorization"].removeprefix("Bearer ")
        number, seat = self._seats[token]
        pair = self._path.pairs[number]
        await context.read()
        writing = asyncio.create_task(self._write(self._path.connect(pair, seat), context))
        try:
            while (message := await context.read()) is not grpc.aio.EOF:
                for act in message.acts:
                    if act.WhichOneof("act") == "move":
                        self._path.play(pair, seat, act)
        finally:
            writing.cancel()

    async def _write(self, stream: OutgoingMessages, context: Any) -> None:
        while True:
            await context.write(await _message(stream))


async def _message(stream: OutgoingMessages) -> pb.PlayResponse:
    """Wait until messages are queued, and return all of them as one."""
    while not stream.fills:
        stream.idle = asyncio.get_running_loop().create_future()
        await stream.idle
    return stream.message()


def interpreted() -> Any:
    """Return the module `arbiter.bench.bare_path` from its source, also where the installed one is compiled."""
    source = Path(__file__).with_name("bare_path.py")
    spec = spec_from_file_location(f"{bare_path.__name__}_interpreted", source)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def run(
    store: str, game: str, seats: dict[str, tuple[int, int]], matches: list[list[str]], compiled: bool
) -> None:
    """Serve until there are no more orders."""
    commits: list[tuple[int, float]] = []
    made = bare_path if compiled else interpreted()

    def note(writes: int, seconds: float) -> None:
        commits.append((writes, seconds))

    async with open_store(store, note, alone=True, unlocked=compiled) as opened:
        if not opened.commits_need_lock:
            switch_seldom()
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        play = BarePlay(made.BarePath(opened.journal, game, matches), seats)
        play_pb2_grpc.add_PlayServiceServicer_to_server(play, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        answer(port=port)
        while await asyncio.to_thread(order) is not None:
            taken, commits[:] = list(commits), []
            answer(commits=taken, stages={})
        await server.stop(0)


if __name__ == "__main__":
    run_part(run, plain_loop)
