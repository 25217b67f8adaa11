"""A server that is suspended (stopped, paused, swapped out): nobody is charged, and no stream ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import cast

import pytest
import structlog

from arbiter.matches.events import Ended, Interrupted, Moved, Resumed
from arbiter.matches.policy import Policy
from arbiter.service.play.stalls import watch_for_stalls
from arbiter.testing.clock import VirtualLoop, settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from tests.service.sharing.servers import events

LOG = structlog.get_logger()


def hold_up(seconds: float) -> None:
    """Let time pass while nothing in the process runs."""
    cast("VirtualLoop", asyncio.get_running_loop()).hold_up(seconds)


@asynccontextmanager
async def watched(server: InMemoryArbiter) -> AsyncIterator[None]:
    """Let a server watch for stalls. At the beginning of the context, it has just looked at the time."""
    arbiter = server.arbiter
    watching = asyncio.create_task(
        watch_for_stalls(arbiter.stalls, arbiter.sessions, arbiter.matches, server.settings.limits, LOG)
    )
    await asyncio.sleep(1.001)
    yield
    watching.cancel()
    await settle()


@pytest.mark.parametrize("plays", ["after it", "during it"])
@virtually
async def test_a_suspension_of_the_process_is_charged_to_nobody_and_ends_no_stream(plays: str) -> None:
    server = InMemoryArbiter()
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create(time="10s")
    turn = await alice.turn()
    async with watched(server):
        hold_up(60)  # more than the clock has, and more than the silence after which a stream counts as lost
        if plays == "after it":
            await asyncio.sleep(1)
            turn = await alice.turn()
        played = alice.reply(turn)  # if it has arrived during the suspension, before anything else is done
        await alice.receive()
        assert alice.receipt(played).kind is not None
        await bob.turn()
    found = await events(server, match.id)
    assert sum(isinstance(event, Interrupted) for event in found) == 1
    resumed = next(event for event in found if isinstance(event, Resumed))
    moved = next(event for event in found if isinstance(event, Moved))
    assert moved.ledger.started == resumed.at
    assert moved.ledger.charged == (900 if plays == "after it" else 0)  # a second less the credit for the hand-over
    assert alice.session.ended is None
    assert bob.session.ended is None


@pytest.mark.parametrize("comes", [True, False])
@virtually
async def test_nobody_is_absent_because_the_process_was_suspended(comes: bool) -> None:
    server = InMemoryArbiter()
    await server.connect("alice")
    match = await server.create(policy=Policy(no_show_ms=5_000))
    async with watched(server):
        hold_up(60)
        await asyncio.sleep(4)
        if comes:
            await server.connect("bob")
        await asyncio.sleep(2)
    last = (await events(server, match.id))[-1]
    assert last.kind == ("started" if comes else "ended")


@virtually
async def test_a_flag_that_falls_soon_after_a_suspension_falls_as_late_as_it_would_have_without() -> None:
    server = InMemoryArbiter()
    await server.connect("alice")
    await server.connect("bob")
    match = await server.create(time="10s")
    async with watched(server):
        hold_up(60)
        await asyncio.sleep(9.9)
        assert not isinstance((await events(server, match.id))[-1], Ended)
        await asyncio.sleep(1)
    assert isinstance((await events(server, match.id))[-1], Ended)


@virtually
async def test_the_time_to_interrupt_matches_is_no_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    server = InMemoryArbiter()
    began: list[float] = []

    def slowly() -> None:
        began.append(asyncio.get_running_loop().time())
        hold_up(5)  # thousands of matches are interrupted

    monkeypatch.setattr(server.arbiter.matches, "attendance", SimpleNamespace(interrupt_for_stall=slowly))
    async with watched(server):
        hold_up(10)
        await asyncio.sleep(30)
    assert len(began) == 1


@virtually
async def test_a_short_delay_is_no_outage() -> None:
    server = InMemoryArbiter()
    alice, _ = await server.connect("alice"), await server.connect("bob")
    match = await server.create()
    await alice.receive()
    async with watched(server):
        hold_up(1.5)
        await asyncio.sleep(1)
    assert not any(isinstance(event, Interrupted) for event in await events(server, match.id))


@virtually
async def test_a_server_that_stops_watches_no_longer() -> None:
    server = InMemoryArbiter()
    await server.connect("alice")
    await server.connect("bob")
    match = await server.create(time="10s")
    async with watched(server):
        pass
    hold_up(60)
    await asyncio.sleep(1)
    assert isinstance((await events(server, match.id))[-1], Ended)
