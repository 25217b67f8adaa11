"""Bots that say when they are ready for a match, on different servers of one store: no clock starts before."""

from __future__ import annotations

import asyncio

import pytest

from arbiter.matches.match import Match
from arbiter.matches.policy import Policy
from arbiter.service.sharing.replica import BEAT_S
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from tests.service.sharing.servers import NOTICED_S, kinds, servers

POLICY = Policy(ready_ms=10_000)
KNOWN_S = 0.2  #: after which each server knows what the other has stored


async def playing() -> tuple[Match, list[InMemoryArbiter], dict[str, StreamReader]]:
    """Return a match whose players are at different servers and not ready yet, with three servers."""
    made = await servers(3)
    bots = {
        name: await server.connect(name, says_ready=True) for name, server in zip(("alice", "bob"), made, strict=False)
    }
    return await made[0].create(policy=POLICY), made, bots


async def interrupted() -> tuple[Match, InMemoryArbiter, dict[str, StreamReader]]:
    """Return a match whose first player has lost its server, after both have connected to two others.

    One of these is returned too.
    """
    match, (first, second, third), bots = await playing()
    await asyncio.sleep(KNOWN_S)
    for bot in bots.values():
        bot.ready(match.id)
    await asyncio.sleep(KNOWN_S)
    assert (await kinds(second, match.id))[-1] == "started"
    await first.die()
    bots["bob"].leave()
    await asyncio.sleep(NOTICED_S)
    again = {
        "alice": await third.connect("alice", says_ready=True),
        "bob": await second.connect("bob", says_ready=True),
    }
    await asyncio.sleep(2 * BEAT_S)
    return match, second, again


@pytest.mark.parametrize("first", ["alice", "bob"])
@virtually
async def test_the_first_clock_starts_once_both_are_ready(first: str) -> None:
    match, (server, *_), bots = await playing()
    await asyncio.sleep(1)
    bots.pop(first).ready(match.id)
    await asyncio.sleep(1)
    assert "started" not in await kinds(server, match.id)
    for last in bots.values():
        last.ready(match.id)
    await asyncio.sleep(KNOWN_S)
    assert (await kinds(server, match.id))[-1] == "started"


@pytest.mark.parametrize("first", ["alice", "bob"])
@virtually
async def test_after_an_outage_the_clock_waits_for_both(first: str) -> None:
    match, server, bots = await interrupted()
    bots.pop(first).ready(match.id)
    await asyncio.sleep(1)
    assert "resumed" not in await kinds(server, match.id)
    for last in bots.values():
        last.ready(match.id)
    await asyncio.sleep(KNOWN_S)
    assert (await kinds(server, match.id))[-1] == "resumed"


@virtually
async def test_after_an_outage_the_clock_does_not_wait_longer_than_the_policy_says() -> None:
    match, server, bots = await interrupted()
    bots["alice"].ready(match.id)
    await asyncio.sleep(POLICY.ready_ms / 1_000)
    assert (await kinds(server, match.id))[-1] == "resumed"


@virtually
async def test_the_clock_waits_no_longer_for_a_bot_whose_server_is_gone() -> None:
    match, server, bots = await interrupted()
    bots["alice"].ready(match.id)
    await server.die()
    await asyncio.sleep(NOTICED_S)
    alice = bots["alice"].server
    assert (await kinds(alice, match.id))[-1] == "resumed"
