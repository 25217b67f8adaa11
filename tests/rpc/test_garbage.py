"""Calls leave next to nothing for the garbage collector: a server looks only through what is new."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import game_pb2, match_pb2, play_pb2, play_pb2_grpc, player_pb2

from arbiter.config import Limits
from arbiter.testing.served import served
from tests.rpc.calls import Stubs

pytestmark = pytest.mark.long

CALLS = 20
OF_GRPC = 6  #: objects that each call leaves, in a circle that gRPC makes when it looks for the call's handler
PATIENCE = 500  #: turns of the event loop until everything that a call has used is let go
LIMITS = Limits(play_streams_a_minute=5, calls_a_second=100_000, streams_of_player=1_000)
HELLO = play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0"))


@pytest.fixture
async def stubs() -> AsyncIterator[Stubs]:
    async with served(limits=LIMITS) as running:
        yield await Stubs(running).enter()


async def _play(stubs: Stubs, version: str) -> None:
    """Open a Play stream and end it, or have it refused: for its version, or because too many were opened."""
    call = play_pb2_grpc.PlayServiceStub(stubs.served.channel).Play(metadata=stubs.alice)
    hello = play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version=version))
    await call.write(play_pb2.PlayRequest(acts=[hello]))
    await call.read()
    call.cancel()


async def _observe(stubs: Stubs) -> None:
    call = stubs.matches.Observe(
        match_pb2.ObserveRequest(all=match_pb2.ObserveAll(after_token="0")), metadata=stubs.alice
    )
    await call.read()
    call.cancel()


async def _submit(stubs: Stubs, match_id: str) -> None:
    call = stubs.matches.SubmitMoves(metadata=stubs.alice)
    move = match_pb2.SubmitMoveRequest(request_id="r", match_id=match_id, ply=0, move="nonsense")
    await call.write(match_pb2.SubmitMovesRequest(moves=[move]))
    await call.read()
    await call.done_writing()


async def _legal_moves(stubs: Stubs) -> None:
    line = game_pb2.LineOfPlay(game="circle-of-life")
    async for _ in stubs.games.LegalMoves(game_pb2.LegalMovesRequest(line=line)):
        pass


CASES: dict[str, Callable[[Stubs], Awaitable[Any]]] = {
    "an answer": lambda stubs: stubs.players.GetPlayer(player_pb2.GetPlayerRequest(name="alice"), metadata=stubs.alice),
    "a refusal": lambda stubs: stubs.players.GetPlayer(player_pb2.GetPlayerRequest(name="x"), metadata=stubs.alice),
    "no token": lambda stubs: stubs.players.GetPlayer(player_pb2.GetPlayerRequest(name="alice")),
    "legal moves": _legal_moves,
    "a refused stream": lambda stubs: _play(stubs, "9.0"),
    "streams opened too often": lambda stubs: _play(stubs, "1.0"),
    "an observer that leaves": _observe,
    "a stream of moves": lambda stubs: _submit(stubs, "unknown"),
}


async def _settled() -> None:
    for _ in range(PATIENCE):
        await asyncio.sleep(0)


@pytest.mark.parametrize("case", CASES)
async def test_a_call_leaves_only_what_grpc_leaves_of_any_call(stubs: Stubs, case: str) -> None:
    async def make(calls: int) -> None:
        for _ in range(calls):
            try:
                await CASES[case](stubs)
            except grpc.aio.AioRpcError as error:
                error.__traceback__ = None
        await _settled()

    await make(10)  # whatever is made once
    for _ in range(3):  # once another test's may fall due
        found = await _garbage_of(make)
        if found.total() <= (OF_GRPC + 0.5) * CALLS:
            return
    raise AssertionError(found.most_common(12))


async def _garbage_of(make: Callable[[int], Awaitable[None]]) -> Counter[str]:
    """Return how many objects of each type some calls leave, which only a collection removes."""
    gc.collect()
    gc.disable()
    try:
        gc.set_debug(gc.DEBUG_SAVEALL)
        await make(CALLS)
        gc.collect()
        return Counter(type(each).__name__ for each in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
