"""A server that is suspended (stopped, paused, swapped out): nobody is charged, and no stream ends."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
import structlog

from arbiter.config import Limits
from arbiter.matches.events import Interrupted, Moved, Resumed
from arbiter.matches.record import check_chain
from arbiter.service.play.stalls import watch_for_stalls
from arbiter.testing.clock import VirtualLoop, settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter

LOG = structlog.get_logger()


def hold_up(seconds: float) -> None:
    """Let time pass while nothing in the process runs."""
    cast("VirtualLoop", asyncio.get_running_loop()).hold_up(seconds)


@virtually
async def test_a_suspension_of_the_process_is_charged_to_nobody_and_ends_no_stream() -> None:
    server = InMemoryArbiter()
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create(time="10s")
    await alice.receive()
    arbiter = server.arbiter
    beating = asyncio.create_task(watch_for_stalls(arbiter.sessions, arbiter.matches, Limits(), LOG))
    await asyncio.sleep(1)
    hold_up(60)  # more than the clock has, and more than the silence after which a stream counts as lost
    await asyncio.sleep(1)
    turn = await alice.turn()
    played = alice.reply(turn)
    await alice.receive()
    assert alice.receipt(played).kind is not None
    await bob.turn()
    beating.cancel()
    events = check_chain([record.body for record in await arbiter.matches.record(match.id, 0, 100)])
    assert sum(isinstance(event, Interrupted) for event in events) == 1
    resumed = next(event for event in events if isinstance(event, Resumed))
    moved = next(event for event in events if isinstance(event, Moved))
    assert moved.ledger.started == resumed.at
    assert moved.ledger.charged == 900  # the second since the outage, less the credit for the hand-over
    assert alice.session.ended is None
    assert bob.session.ended is None


@virtually
async def test_the_time_to_interrupt_matches_is_no_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    server = InMemoryArbiter()
    borne: list[float] = []

    async def slowly() -> None:
        borne.append(asyncio.get_running_loop().time())
        hold_up(5)  # thousands of matches are interrupted

    monkeypatch.setattr(server.arbiter.matches, "interrupt_for_stall", slowly)
    beating = asyncio.create_task(watch_for_stalls(server.arbiter.sessions, server.arbiter.matches, Limits(), LOG))
    await asyncio.sleep(1)
    hold_up(10)
    await asyncio.sleep(30)
    beating.cancel()
    assert len(borne) == 1


@virtually
async def test_a_short_delay_is_no_outage() -> None:
    server = InMemoryArbiter()
    alice, _ = await server.connect("alice"), await server.connect("bob")
    match = await server.create()
    await alice.receive()
    beating = asyncio.create_task(watch_for_stalls(server.arbiter.sessions, server.arbiter.matches, Limits(), LOG))
    await asyncio.sleep(1)
    hold_up(1.5)
    await asyncio.sleep(1)
    beating.cancel()
    await settle()
    records = await server.arbiter.matches.record(match.id, 0, 100)
    assert not any(isinstance(event, Interrupted) for event in check_chain([record.body for record in records]))
