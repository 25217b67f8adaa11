"""Bots that say when they are ready for a match: no clock starts before, within a bound."""

from __future__ import annotations

import asyncio

import pytest

from arbiter.config import Limits
from arbiter.errors import Reason
from arbiter.matches.commands import Abort
from arbiter.matches.events import Arrived, Ended, Event, Resumed, Started
from arbiter.matches.match import Match, Phase
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import read
from arbiter.service.play.session import NoticeItem
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from tests.refusals import refusing

POLICY = Policy(ready_ms=10_000)


async def both(server: InMemoryArbiter, policy: Policy = POLICY) -> tuple[Match, StreamReader, StreamReader]:
    """Return a match, and its players, who are connected and will say that they are ready."""
    alice = await server.connect("alice", says_ready=True)
    bob = await server.connect("bob", says_ready=True)
    match = await server.create(policy=policy)
    await settle()
    return match, alice, bob


async def happened(server: InMemoryArbiter, match: Match, *kinds: type[Event]) -> list[tuple[type[Event], int]]:
    """Return the events of some kinds, with the milliseconds since the match was created."""
    events = [read(record.body) for record in await server.journal.read(match.id)]
    return [(type(event), event.at - match.created.at) for event in events if isinstance(event, kinds)]


@virtually
async def test_the_first_clock_starts_once_both_are_ready() -> None:
    server = InMemoryArbiter()
    match, alice, bob = await both(server)
    await asyncio.sleep(2)
    alice.ready(match.id)
    await asyncio.sleep(1)
    assert await happened(server, match, Arrived, Started) == [(Arrived, 2_000)]
    bob.ready(match.id)
    await settle()
    assert await happened(server, match, Arrived, Started) == [(Arrived, 2_000), (Arrived, 3_000), (Started, 3_000)]
    assert (await alice.turn()).match.clocks[0].remaining_ms == 60_000


@virtually
async def test_a_bot_that_connects_while_its_match_is_being_stored_is_waited_for_too() -> None:
    server = InMemoryArbiter()
    bob = await server.connect("bob", says_ready=True)
    server.journal.hold = True
    creating = asyncio.create_task(server.create(policy=POLICY))
    await settle()
    alice = await server.connect("alice", says_ready=True)
    server.journal.release()
    match = await creating
    bob.ready(match.id)
    await asyncio.sleep(2)
    assert await happened(server, match, Started) == []
    alice.ready(match.id)
    await settle()
    assert await happened(server, match, Started) == [(Started, 2_000)]


@virtually
async def test_a_bot_is_waited_for_whose_opponent_leaves_while_the_match_is_being_stored() -> None:
    server = InMemoryArbiter()
    alice, bob = [await server.connect(name, says_ready=True) for name in ("alice", "bob")]
    server.journal.hold = True
    creating = asyncio.create_task(server.create(policy=POLICY))
    await settle()
    alice.leave()
    await settle()
    server.journal.release()
    match = await creating
    alice = await server.connect("alice", says_ready=True)
    alice.ready(match.id)
    await asyncio.sleep(2)
    assert await happened(server, match, Started) == []
    bob.ready(match.id)
    await settle()
    assert await happened(server, match, Started) == [(Started, 2_000)]


@virtually
async def test_the_bots_of_a_match_are_waited_for_that_was_stored_although_it_was_reported_as_failed() -> None:
    server = InMemoryArbiter()
    alice, bob = [await server.connect(name, says_ready=True) for name in ("alice", "bob")]
    server.journal.lie = True
    with refusing(Reason.STORE_UNAVAILABLE):
        await server.create(policy=POLICY, request="r")
    server.journal.lie = False
    await asyncio.sleep(3)
    match = await server.create(policy=POLICY, request="r")
    assert await happened(server, match, Started) == []
    for bot in (alice, bob):
        bot.ready(match.id)
    await settle()
    assert await happened(server, match, Started) == [(Started, 3_000)]


@virtually
async def test_a_match_does_not_wait_longer_than_its_policy_says() -> None:
    server = InMemoryArbiter()
    match, alice, _ = await both(server)
    alice.ready(match.id)
    await asyncio.sleep(20)
    assert await happened(server, match, Started) == [(Started, 10_000)]


@virtually
async def test_a_match_that_waits_for_nobody_starts_at_once() -> None:
    server = InMemoryArbiter()
    match, _, _ = await both(server, Policy())
    assert await happened(server, match, Started) == [(Started, 0)]


@virtually
async def test_a_bot_that_prepares_too_long_has_come_all_the_same() -> None:
    server = InMemoryArbiter()
    match, _, _ = await both(server, Policy(ready_ms=10_000, no_show_ms=5_000))
    await asyncio.sleep(20)
    assert await happened(server, match, Started, Ended) == [(Started, 4_900)]


@virtually
async def test_a_player_who_leaves_before_it_is_ready_has_not_come() -> None:
    server = InMemoryArbiter()
    match, alice, bob = await both(server)
    alice.ready(match.id)
    await asyncio.sleep(4)
    bob.leave()
    await asyncio.sleep(4)
    bob = await server.connect("bob", says_ready=True)
    await asyncio.sleep(9)
    assert await happened(server, match, Started) == []
    bob.ready(match.id)
    await settle()
    assert await happened(server, match, Started) == [(Started, 17_000)]


@pytest.mark.parametrize("first", ["alice", "bob"])
@virtually
async def test_after_an_outage_the_clock_waits_again(first: str) -> None:
    """The clock of the next player would start with the first move: so it waits for both who are connected."""
    server = InMemoryArbiter()
    match, alice, bob = await both(server)
    for bot in (alice, bob):
        bot.ready(match.id)
    assert (await alice.turn()).seat == 1
    await server.restart()
    bots = {name: await server.connect(name, says_ready=True) for name in ("alice", "bob")}
    await asyncio.sleep(1)
    bots[first].ready(match.id)
    await asyncio.sleep(1)
    assert (await server.arbiter.matches.match(match.id)).phase is Phase.PAUSED
    for bot in bots.values():
        bot.ready(match.id)
    await settle()
    assert [kind for kind, _ in await happened(server, match, Started, Resumed)] == [Started, Resumed]
    assert (await happened(server, match, Resumed))[0][1] >= 2_000


@virtually
async def test_after_an_outage_the_clock_waits_no_longer_for_a_player_who_leaves() -> None:
    server = InMemoryArbiter()
    match, *bots = await both(server)
    for bot in bots:
        bot.ready(match.id)
    await settle()
    await server.restart()
    alice, bob = [await server.connect(name, says_ready=True) for name in ("alice", "bob")]
    alice.ready(match.id)
    await settle()
    assert await happened(server, match, Resumed) == []
    bob.leave()
    await settle()
    assert [kind for kind, _ in await happened(server, match, Resumed)] == [Resumed]


@virtually
async def test_a_stall_of_the_server_finds_bots_that_are_ready() -> None:
    server = InMemoryArbiter()
    match, alice, bob = await both(server)
    for bot in (alice, bob):
        bot.ready(match.id)
    await settle()
    server.arbiter.matches.attendance.interrupt_for_stall()
    await settle()
    assert (await server.arbiter.matches.match(match.id)).phase is Phase.ACTIVE


@virtually
async def test_a_bot_that_got_its_match_with_a_running_clock_has_nothing_to_say() -> None:
    server = InMemoryArbiter()
    match, _, _ = await both(server, Policy(ready_ms=10_000, start=ClockStart.AT_ONCE))
    server.arbiter.matches.attendance.interrupt_for_stall()
    await settle()
    assert (await server.arbiter.matches.match(match.id)).phase is Phase.ACTIVE


@virtually
async def test_a_player_who_comes_back_to_a_running_match_is_there_at_once() -> None:
    server = InMemoryArbiter()
    match, alice, bob = await both(server)
    for bot in (alice, bob):
        bot.ready(match.id)
    await settle()
    bob.leave()
    await settle()
    await server.connect("bob", says_ready=True)
    await settle()
    assert (await server.arbiter.matches.match(match.id)).present == (True, True)


@virtually
async def test_a_bot_that_says_nothing_of_it_is_ready_when_it_is_connected() -> None:
    server = InMemoryArbiter()
    await server.connect("alice")
    bob = await server.connect("bob", says_ready=True)
    match = await server.create(policy=POLICY)
    await asyncio.sleep(1)
    bob.ready(match.id)
    await settle()
    assert await happened(server, match, Started) == [(Started, 1_000)]


@virtually
async def test_to_be_ready_for_what_waits_for_nobody_counts_as_an_act() -> None:
    server = InMemoryArbiter(limits=Limits(acts_a_second=3))
    match, alice, _ = await both(server)
    await server.arbiter.matches.answer(match.id, Abort("org", "a"))
    for said in (match.id, "m0", "m1"):
        assert alice.session.ended is None
        alice.ready(said)
    assert not alice.session.preparing
    alice.ready(match.id)
    (refusal,) = (item.refusal for item in await alice.receive() if isinstance(item, NoticeItem))
    assert refusal.reason is Reason.RATE_LIMITED
