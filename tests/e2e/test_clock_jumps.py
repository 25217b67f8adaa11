"""The system's clock is set while the server is down: time goes on from the record, and no player is charged."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from arbiter_protos.v1 import play_pb2

from arbiter.bootstrap.world import World, open_world
from arbiter.config import Settings
from arbiter.matches.commands import Create
from arbiter.matches.events import Ended, Event, Interrupted, Moved, Resumed
from arbiter.matches.policy import Policy
from arbiter.matches.record import read
from arbiter.testing.player import BotClient, move_at
from arbiter.testing.served import Served, served

pytestmark = pytest.mark.long

DAY_MS = 86_400_000
SHORT = "1s"
"""A time control in which a flag falls soon, and that is shorter than any outage or jump."""

Machine = Callable[[Settings], AbstractAsyncContextManager[World]]


def machine(monkeypatch: pytest.MonkeyPatch, ahead_ms: int) -> Machine:
    """Return a world on a machine whose clock is ahead of the true time (negative: behind) when the world opens."""
    true_time = time.time_ns

    @asynccontextmanager
    async def world(settings: Settings) -> AsyncIterator[World]:
        with monkeypatch.context() as patched:
            patched.setattr(time, "time_ns", lambda: true_time() + ahead_ms * 1_000_000)
            async with open_world(settings) as opened:
                yield opened

    return world


class Once(BotClient):
    """A player that plays one move and then no more."""

    moved = False

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Play at the first turn."""
        if not self.moved:
            self.moved = True
            await self.say(move_at(turn))


async def events(server: Served, match_id: str) -> list[Event]:
    """Return the events of a match."""
    return [read(record.body) for record in await server.running.arbiter.matches.record(match_id, 0, 1_000)]


async def begin(server: Served) -> str:
    """Begin a match and play one move; return its id."""
    terms = Create("circle-of-life", ("anna", "ben"), SHORT, "org", "r", policy=Policy())
    async with (
        Once(server.channel, await server.token("anna")) as anna,
        Once(server.channel, await server.token("ben")) as ben,
    ):
        ben.moved = True
        match = await server.running.arbiter.matches.create(terms)
        await anna.until(lambda: bool(anna.answers))
    return match.id


@pytest.mark.parametrize("ahead_ms", [-DAY_MS, DAY_MS])
async def test_the_clock_is_set_between_stop_and_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ahead_ms: int
) -> None:
    store = f"sqlite:///{tmp_path / 'arbiter.db'}"
    async with served(machine(monkeypatch, 0), store=store) as before:
        match_id = await begin(before)
    async with (
        served(machine(monkeypatch, ahead_ms), store=store) as after,
        Once(after.channel, await after.token("ben")) as ben,
        Once(after.channel, await after.token("anna")) as anna,
    ):
        anna.moved = True
        result = await asyncio.wait_for(ben.result(match_id), 240)  # anna's flag falls, and not only after a day
        assert (result.reason, result.winner) == ("time", 2)
        record = await events(after, match_id)
    instants = [event.at for event in record]
    assert instants == sorted(instants)
    assert [event.reason for event in record if isinstance(event, Interrupted)] == ["drain", "restart"]
    last = next(event for event in record if isinstance(event, Moved))
    resumed = next(event for event in record if isinstance(event, Resumed))
    assert resumed.clocks == last.clocks
    played = [event for event in record if isinstance(event, Moved)][-1]
    assert played.seat == 2
    assert played.ledger.started == resumed.at
    assert played.ledger.charged < 1_000
    assert isinstance(record[-1], Ended)
    assert record[-1].at - played.at >= 1_000 - played.ledger.credited
