"""A turn of which its player could not be told for long, because the store kept the move before it: who pays?"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from arbiter.matches.events import Ended, Interrupted, Resumed
from arbiter.matches.policy import Policy
from arbiter.service.play.session import TurnItem
from arbiter.service.play.waits import AFTER_S
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from tests.service.play.slow_store import LATE_S, READS_S, THINKS_S, held, last_move, replied, with_a_lock
from tests.service.sharing.servers import AT_ONCE, events, servers


@pytest.mark.parametrize("time", ["1m", "1s", "1s/move"])
@virtually
async def test_a_store_that_keeps_a_move_for_long_is_charged_to_nobody(time: str) -> None:
    server = InMemoryArbiter()
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create("pondlife", time=time, policy=AT_ONCE)
    with capture_logs() as logs:
        await held(server, match, alice, 3 * LATE_S)
    late = [line for line in logs if line["event"] == "turn_late"]
    assert [(line["ply"], line["late_ms"]) for line in late] == [(1, round(3_000 * LATE_S))]
    await replied(bob)
    found = await events(server, match.id)
    assert [type(event) for event in found if isinstance(event, Interrupted | Resumed)] == [Interrupted, Resumed]
    assert last_move(found).ply == 1
    assert last_move(found).ledger.charged == 1_000 * THINKS_S
    turns = [item.match.ply for item in bob.received if isinstance(item, TurnItem)]
    assert turns == [1], "the turn that came late is not sent too"


@pytest.mark.parametrize("comes", ["shortly before", "soon after", "elsewhere"])
@virtually
async def test_a_player_who_has_no_stream_is_not_charged_for_a_move_that_was_stored_late(comes: str) -> None:
    """Servers that can't use the log send their players away, so that a player may ask again and again meanwhile."""
    home, away = await servers(2)
    alice, bob = await home.connect("alice"), await home.connect("bob")
    match = await home.create("pondlife", time="1m", policy=AT_ONCE)
    home.arbiter.sessions.close(bob.session)
    home.journal.hold = True
    await replied(alice)
    await asyncio.sleep(2 * LATE_S)
    if comes == "shortly before":
        bob = await home.connect("bob")
        await asyncio.sleep(READS_S)
    home.journal.release()
    if comes != "shortly before":
        await asyncio.sleep(READS_S)
        bob = await (home if comes == "soon after" else away).connect("bob")
    await replied(bob)
    await asyncio.sleep(READS_S)
    moved = last_move(await events(home, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * THINKS_S)


@pytest.mark.parametrize("comes", ["in vain", "in vain to another server", "too late"])
@virtually
async def test_a_player_who_asks_again_and_again_waits_since_the_log_fell_silent(comes: str) -> None:
    home, away, journal, directory = await with_a_lock()
    alice, bob = await home.connect("alice"), await home.connect("bob")
    match = await home.create("pondlife", time="1m", policy=AT_ONCE)
    home.arbiter.sessions.close(bob.session)
    await replied(alice)
    journal.free.clear()
    directory.free.clear()
    await asyncio.sleep(READS_S)
    for _ in range(3 if comes != "too late" else 0):
        server = away if comes == "in vain to another server" else home
        opening = asyncio.create_task(server.connect("bob"))
        await asyncio.sleep(0.5 * LATE_S)
        opening.cancel()
    if comes == "too late":
        await asyncio.sleep(1.5 * LATE_S)
    journal.free.set()
    directory.free.set()
    since_s = AFTER_S if comes == "too late" else 0.5
    await asyncio.sleep(READS_S + since_s)
    bob = await home.connect("bob")
    await replied(bob)
    await asyncio.sleep(READS_S)
    moved = last_move(await events(home, match.id))
    assert moved.ply == 1
    if comes == "too late":
        assert moved.ledger.charged >= 1_000 * (1.5 * LATE_S + since_s), "it was away"
    else:
        assert moved.ledger.charged == 1_000 * THINKS_S


@virtually
async def test_a_store_that_is_always_as_slow_lets_players_move() -> None:
    server = InMemoryArbiter()
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create("pondlife", time="1m", policy=AT_ONCE)
    server.journal.hold = True
    await replied(alice)
    for _ in range(2):
        await asyncio.sleep(2 * LATE_S)
        assert not [item for item in await bob.receive() if isinstance(item, TurnItem)]
        server.journal.release()
        server.journal.hold = True
        await settle()
    server.journal.release()
    await replied(bob)
    found = await events(server, match.id)
    assert [type(event) for event in found if isinstance(event, Interrupted | Resumed)] == [Interrupted, Resumed]
    assert last_move(found).ply == 1
    assert 1_000 * THINKS_S < last_move(found).ledger.charged < 1_000 * (2 * LATE_S + THINKS_S), "the second wait"


@virtually
async def test_a_store_that_is_slow_for_less_is_charged_beyond_the_credit() -> None:
    server = InMemoryArbiter()
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create("pondlife", time="1m", policy=AT_ONCE)
    await held(server, match, alice, LATE_S - 0.1)
    await replied(bob)
    found = await events(server, match.id)
    assert not any(isinstance(event, Interrupted) for event in found)
    credited = server.arbiter.policy.credit.hand_over_most_ms
    assert last_move(found).ledger.charged == round(1_000 * (LATE_S - 0.1 + THINKS_S)) - credited


@virtually
async def test_a_flag_falls_once_a_turn_is_known_that_its_player_was_told_of_in_time() -> None:
    server = InMemoryArbiter()
    alice, _ = await server.connect("alice"), await server.connect("bob")
    match = await server.create("pondlife", time="1s", policy=AT_ONCE)
    await held(server, match, alice, 1.9)  # longer than the clock has, and all credit
    await settle()
    ended = (await events(server, match.id))[-1]
    assert isinstance(ended, Ended)
    assert ended.reason == "time"


@virtually
async def test_a_player_who_comes_in_the_middle_of_a_turn_does_not_begin_it_again() -> None:
    server = InMemoryArbiter()
    alice = await server.connect("alice")
    match = await server.create("pondlife", time="1m", policy=AT_ONCE)
    alice.reply(await alice.turn())
    await asyncio.sleep(3 * LATE_S)
    bob = await server.connect("bob")
    await replied(bob)
    found = await events(server, match.id)
    assert not any(isinstance(event, Interrupted) for event in found)
    assert last_move(found).ledger.charged == 1_000 * (3 * LATE_S + THINKS_S)


@virtually
async def test_a_player_who_was_told_in_time_gains_nothing_by_a_new_stream_after_a_silence_of_the_log() -> None:
    home, _, journal, _ = await with_a_lock()
    alice, bob = await home.connect("alice"), await home.connect("bob")
    match = await home.create("pondlife", time="1m", policy=AT_ONCE)
    await replied(alice)
    await bob.turn()
    journal.free.clear()
    await asyncio.sleep(2 * LATE_S)
    journal.free.set()
    home.arbiter.sessions.close(bob.session)
    bob = await home.connect("bob")
    await replied(bob)
    await asyncio.sleep(READS_S)
    moved = last_move(await events(home, match.id))
    assert moved.ply == 1
    assert moved.ledger.charged >= 1_000 * (2 * LATE_S + THINKS_S) - home.arbiter.policy.credit.hand_over_most_ms


@pytest.mark.parametrize("comes", [True, False])
@virtually
async def test_nobody_is_absent_who_may_wait_elsewhere_for_a_log_that_does_not_answer(comes: bool) -> None:
    home, away, journal, directory = await with_a_lock()
    await home.connect("alice")
    bob = await home.connect("bob")
    match = await home.create("pondlife", time="1m", policy=replace(AT_ONCE, abandon_ms=3_000))
    home.arbiter.sessions.close(bob.session)
    await asyncio.sleep(READS_S)
    journal.free.clear()
    directory.free.clear()
    opening = asyncio.create_task(away.connect("bob"))
    await asyncio.sleep(2.5 * LATE_S)
    if not comes:
        opening.cancel()
    assert (await events(home, match.id))[-1].kind == "left"
    journal.free.set()
    directory.free.set()
    await asyncio.sleep(1)
    assert ((await events(home, match.id))[-1].kind == "ended") is not comes


@pytest.mark.parametrize("comes", ["with a stream", "in vain"])
@virtually
async def test_a_player_at_another_server_that_can_store_nothing_is_no_no_show(comes: str) -> None:
    home, away = await servers(2)
    await home.connect("alice")
    match = await home.create("pondlife", time="1m", policy=Policy(no_show_ms=1_000))
    await asyncio.sleep(READS_S)
    away.journal.hold = True
    bob = await away.connect("bob")
    if comes == "in vain":
        away.arbiter.sessions.close(bob.session)
    await asyncio.sleep(1.5 * LATE_S)
    away.journal.release()
    await asyncio.sleep(READS_S)
    ended = (await events(home, match.id))[-1].kind == "ended"
    assert ended is (comes == "in vain")
