"""How a server stops: after one signal, after two, and when it is killed."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import arbiter_client as arb
import grpc
import pytest
from arbiter_protos.v1 import game_pb2, game_pb2_grpc, play_pb2

from arbiter.testing.player import BotClient, move_at
from tests.e2e.evidence import Event, events_of
from tests.e2e.processes import Server
from tests.processes import wait_for_end, writing_to

pytestmark = pytest.mark.long

GAME = "circle-of-life"
STUCK = 8  #: streams that nobody reads, of a megabyte each


class Waiting(BotClient):
    """A player that moves when the test says so."""

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Do nothing at the turn."""

    async def move(self) -> None:
        """Play at the last turn that came."""
        turns = [item.turn for item in self.items if item.HasField("turn")]
        await self.say(move_at(turns[-1]))

    @property
    def receipts(self) -> int:
        """Return how many moves of this player were acknowledged."""
        return sum(answer.HasField("receipt") for answer in self.answers)


@asynccontextmanager
async def connected(server: Server, first: str = "anna", second: str = "ben") -> AsyncIterator[tuple[Waiting, ...]]:
    """Connect two players."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(arb.Client(server.address, token=server.admin_token))
        players = []
        for name in (first, second):
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(server.address))
            secret = (await client.create_token(name)).secret
            player = Waiting(channel, [("authorization", f"Bearer {secret}")])
            players.append(await stack.enter_async_context(player))
        yield tuple(players)


async def new_match(server: Server, first: str = "anna", second: str = "ben") -> str:
    """Create a match of two players; return its id."""
    async with arb.Client(server.address, token=server.admin_token) as client:
        return (await client.create_match(GAME, (first, second), time_control="1m+1s")).match_id


async def record(server: Server, match_id: str) -> list[Event]:
    """Return the events of a match so far."""
    async with arb.Client(server.address, token=server.admin_token) as client:
        return events_of(await client.transcript(match_id))


@asynccontextmanager
async def blocked_clients(server: Server) -> AsyncIterator[None]:
    """Have clients that do not end: streams that nobody reads, and a connection that sends nothing."""
    host, _, port = server.address.rpartition(":")
    with socket.create_connection((host, int(port))):
        async with grpc.aio.insecure_channel(server.address) as channel:
            games: Any = game_pb2_grpc.GameServiceStub(channel)
            line = game_pb2.LineOfPlay(game="elevation")
            calls = [games.LegalMoves(game_pb2.LegalMovesRequest(line=line, with_steps=True)) for _ in range(STUCK)]
            for call in calls:
                await call.initial_metadata()  # the server is writing to them
            yield
            for call in calls:
                call.cancel()


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.soak)])
async def test_a_signal_stops_the_clocks_and_everything_resumes(server: Server, number: signal.Signals) -> None:
    async with connected(server) as (anna, ben), blocked_clients(server):
        match_id = await new_match(server)
        begun = asyncio.Event()
        watching = asyncio.create_task(watch(server, match_id, begun))
        await begun.wait()
        await anna.first_item("turn")
        await anna.move()
        await ben.first_item("turn")
        await ben.move()
        server.signal(number)  # the move is on its way to the server
        await anna.until(lambda: bool(anna.ends))
        await ben.until(lambda: bool(ben.ends))
        assert {end.reason for end in anna.ends + ben.ends} == {"DRAINING"}
        assert [notice.facts["retry_after_ms"] for notice in anna.notices + ben.notices] == ["1000", "1000"]
        assert await asyncio.to_thread(server.ended) == 0  # though some clients read nothing, and one sends nothing
        assert writing_to(server.log) == {}
    await asyncio.to_thread(server.start)
    async with connected(server) as (again_anna, again_ben):
        seen = await watching
        events = await record(server, match_id)
        assert seen == [event["kind"] for event in events[: len(seen)]]
        moves = [event for event in events if event["kind"] == "moved"]
        assert len(moves) == anna.receipts + ben.receipts, "a move was played, and its player got no receipt"
        stops = [event["reason"] for event in events if event["kind"] == "interrupted"]
        assert stops == ["drain", "restart"]
        resumed = events[len(seen) - 1]
        assert resumed["clocks"] == moves[-1]["clocks"]
        mover = (again_anna, again_ben)[resumed["turn"] - 1]
        await mover.first_item("turn")
        await mover.move()
        await mover.until(lambda: mover.receipts == 1)


async def watch(server: Server, match_id: str, begun: asyncio.Event) -> list[str]:
    """Return the kinds of a match's events until it resumes, as an observer receives them across the restart."""
    kinds = []
    async with arb.Client(server.address, token=server.admin_token) as client:
        async for event in client.observe(match_id):
            kinds.append(event.kind)
            begun.set()
            if event.kind == "resumed":
                break
    return kinds


@pytest.mark.parametrize("second", [pytest.param(signal.SIGTERM, marks=pytest.mark.soak), signal.SIGINT])
async def test_a_second_signal_ends_a_server_that_waits_for_clients(server: Server, second: signal.Signals) -> None:
    async with blocked_clients(server):
        server.signal(signal.SIGTERM)
        assert (await asyncio.to_thread(server.line)).startswith("Stopping")
        server.signal(second)
        assert await asyncio.to_thread(server.ended) == -second
    for worker in writing_to(server.log):
        wait_for_end(worker)


def test_a_server_that_is_killed_leaves_nothing_running(server: Server) -> None:
    before = writing_to(server.log)
    assert len(before) > 1  # the server, and the workers for its rules
    server.kill()
    for process in before:
        wait_for_end(process)
    server.start()
    assert server.stop() == 0
