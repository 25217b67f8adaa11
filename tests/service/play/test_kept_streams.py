"""A store that keeps players from their streams: what they are charged for."""

from __future__ import annotations

import asyncio

import pytest

from arbiter.bootstrap.store import Store
from arbiter.matches.events import Ended, Interrupted, Resumed
from arbiter.matches.match import Match
from arbiter.matches.policy import Policy
from arbiter.service.play.waits import AFTER_S, SILENCE_S
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from arbiter.testing.memory import MemoryJournal, MemoryReplicas
from tests.service.play.slow_store import (
    LATE_S,
    READS_S,
    THINKS_S,
    KeepingDirectory,
    held,
    last_move,
    replied,
    with_a_lock,
)
from tests.service.sharing.servers import AT_ONCE, events, servers


async def turn_of_one_who_has_left(time: str, was_told: bool = True) -> tuple[InMemoryArbiter, KeepingDirectory, Match]:
    """Begin a turn of bob, who leaves once he was told of it, or before, and thinks. His new streams can be kept."""
    directory = KeepingDirectory()
    server = InMemoryArbiter(Store(MemoryJournal(), directory))
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create("pondlife", time=time, policy=AT_ONCE)
    if not was_told:
        server.arbiter.sessions.close(bob.session)
    alice.reply(await alice.turn())
    if was_told:
        await bob.turn()
        server.arbiter.sessions.close(bob.session)
    await asyncio.sleep(THINKS_S)
    return server, directory, match


async def coming_back(server: InMemoryArbiter, directory: KeepingDirectory) -> asyncio.Task[StreamReader]:
    """Have bob ask for a stream, which the store has kept for long when this returns."""
    directory.free.clear()
    opening = asyncio.create_task(server.connect("bob"))
    await asyncio.sleep(1.5 * LATE_S)
    return opening


@pytest.mark.parametrize(("time", "was_told"), [("1m", True), ("1m", False), ("1s/move", True)])
@virtually
async def test_a_player_whose_stream_the_store_keeps_for_long_is_not_charged_or_flagged(
    time: str, was_told: bool
) -> None:
    server, directory, match = await turn_of_one_who_has_left(time, was_told)
    opening = await coming_back(server, directory)
    directory.free.set()
    await replied(await opening)
    moved = last_move(await events(server, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * THINKS_S), "the turn began again"


@virtually
async def test_a_turn_that_begins_while_the_store_keeps_the_stream_of_its_player_begins_again() -> None:
    directory = KeepingDirectory()
    server = InMemoryArbiter(Store(MemoryJournal(), directory))
    alice = await server.connect("alice")
    bob = await server.connect("bob")
    match = await server.create("pondlife", time="1m", policy=AT_ONCE)
    server.arbiter.sessions.close(bob.session)
    directory.free.clear()
    opening = asyncio.create_task(server.connect("bob"))
    await asyncio.sleep(THINKS_S)
    await replied(alice)
    await asyncio.sleep(1.5 * LATE_S)
    directory.free.set()
    await replied(await opening)
    moved = last_move(await events(server, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * THINKS_S)


@virtually
async def test_a_player_whose_stream_the_store_keeps_is_no_no_show() -> None:
    directory = KeepingDirectory()
    server = InMemoryArbiter(Store(MemoryJournal(), directory))
    await server.connect("alice")
    match = await server.create("pondlife", time="1m", policy=Policy(no_show_ms=1_000))
    directory.free.clear()
    opening = asyncio.create_task(server.connect("bob"))
    await asyncio.sleep(LATE_S)
    directory.free.set()
    await opening
    await settle()
    assert [event.kind for event in await events(server, match.id)][-1] == "started"


@virtually
async def test_a_turn_that_can_not_begin_again_is_offered_after_all() -> None:
    """A match that may be behind the log decides nothing until it was read, and that fails."""
    home, _, journal, directory = await with_a_lock()
    alice, bob = await home.connect("alice"), await home.connect("bob")
    match = await home.create("pondlife", time="1m", policy=AT_ONCE)
    home.arbiter.sessions.close(bob.session)
    await replied(alice)
    directory.free.clear()
    opening = asyncio.create_task(home.connect("bob"))
    await asyncio.sleep(1.5 * LATE_S)
    live = home.arbiter.matches.live.find(match.id)
    assert live is not None
    journal.fails = True
    home.arbiter.matches.decisions.fall_behind(live, lost=False)
    directory.free.set()
    bob = await opening
    await asyncio.sleep(2 * READS_S)
    journal.fails = False
    assert (await bob.turn()).match.ply == 1


async def in_vain(server: InMemoryArbiter, seconds: float) -> None:
    """Have bob ask for a stream that he does not get, and give up after so long if he has no answer."""
    opening = asyncio.create_task(server.connect("bob"))
    await asyncio.sleep(seconds)
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)


@pytest.mark.parametrize("was_told", [True, False])
@pytest.mark.parametrize("store", ["hangs", "fails"])
@virtually
async def test_a_player_whom_the_store_keeps_from_its_stream_waits_since_its_first_request(
    store: str, was_told: bool
) -> None:
    server, directory, match = await turn_of_one_who_has_left("1s/move", was_told)
    directory.free.clear()
    directory.fails = store == "fails"
    for _ in range(4):
        await in_vain(server, 0.25 * LATE_S)
        await asyncio.sleep(0.5 * AFTER_S)
    directory.fails = False
    directory.free.set()
    await replied(await server.connect("bob"))
    moved = last_move(await events(server, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * THINKS_S), "the turn began again"


@pytest.mark.parametrize("why", ["it gave up what was answered in time", "it came back late"])
@virtually
async def test_a_player_whom_the_store_does_not_keep_is_charged(why: str) -> None:
    server, directory, match = await turn_of_one_who_has_left("1m")
    directory.free.clear()
    tries, each_s, then_s = (4, 0.9 * SILENCE_S, 1.0) if why != "it came back late" else (1, LATE_S, AFTER_S + 1)
    for _ in range(tries):
        await in_vain(server, each_s)
    directory.free.set()
    await asyncio.sleep(then_s)
    await replied(await server.connect("bob"))
    moved = last_move(await events(server, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * (THINKS_S + tries * each_s + then_s + THINKS_S))


@virtually
async def test_a_player_who_has_got_its_stream_waits_no_longer() -> None:
    server, directory, match = await turn_of_one_who_has_left("1m")
    directory.free.clear()
    await in_vain(server, LATE_S)
    directory.free.set()
    bob = await server.connect("bob")
    await bob.turn()
    await asyncio.sleep(LATE_S)
    server.arbiter.sessions.close(bob.session)
    await replied(await server.connect("bob"))
    moved = last_move(await events(server, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * (LATE_S + THINKS_S))


@virtually
async def test_a_flag_falls_once_a_player_does_not_ask_again_for_a_stream_that_could_not_be_opened() -> None:
    server, directory, match = await turn_of_one_who_has_left("1s/move")
    opening = await coming_back(server, directory)
    opening.cancel()
    await asyncio.sleep(AFTER_S - 0.1)
    assert not isinstance((await events(server, match.id))[-1], Ended)
    await asyncio.sleep(0.3)
    assert isinstance((await events(server, match.id))[-1], Ended)


@virtually
async def test_a_turn_that_a_stream_has_in_time_does_not_begin_again_when_its_match_is_read_again() -> None:
    server = InMemoryArbiter()
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create("pondlife", time="1m", policy=AT_ONCE)
    alice.reply(await alice.turn())
    await bob.turn()
    await asyncio.sleep(THINKS_S)
    server.arbiter.sessions.close(bob.session)
    bob = await server.connect("bob")
    await asyncio.sleep(2 * LATE_S)
    live = server.arbiter.matches.live.find(match.id)
    assert live is not None
    server.arbiter.delivery.match_adopted(live.newest)
    await replied(bob)
    found = await events(server, match.id)
    assert not any(isinstance(event, Interrupted) for event in found)
    assert last_move(found).ledger.charged == 1_000 * (2 * LATE_S + 2 * THINKS_S)


@virtually
async def test_no_flag_falls_as_soon_as_a_turn_is_known_whose_player_waits_at_another_server() -> None:
    """Nobody but that server knows that the player waits there, as long as nothing of it can be stored."""
    directory = KeepingDirectory()
    home = InMemoryArbiter(Store(MemoryJournal(), directory, replicas=MemoryReplicas()))
    away = home.beside()
    for server in (home, away):
        await server.share()
    alice = await home.connect("alice")
    await home.create("pondlife", time="1s/move", policy=AT_ONCE)
    match = home.arbiter.matches.unfinished("alice")[0]
    turn = await alice.turn()
    directory.free.clear()
    opening = asyncio.create_task(away.connect("bob"))
    home.journal.hold = True
    await asyncio.sleep(THINKS_S)
    alice.reply(turn)
    await asyncio.sleep(1.5 * LATE_S)
    home.journal.release()
    await asyncio.sleep(READS_S)
    directory.free.set()
    await replied(await opening)
    await asyncio.sleep(READS_S)
    moved = last_move(await events(home, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * THINKS_S)


@virtually
async def test_a_player_at_another_server_is_not_charged_either() -> None:
    home, away = await servers(2)
    alice, bob = await home.connect("alice"), await away.connect("bob")
    match = await home.create("pondlife", time="1s", policy=AT_ONCE)
    await held(home, match, alice, 1.5 * LATE_S)
    await asyncio.sleep(READS_S)  # until the other server has read the log, and begun the turn again
    await replied(bob)
    await asyncio.sleep(READS_S)
    found = await events(home, match.id)
    assert [type(event) for event in found if isinstance(event, Interrupted | Resumed)] == [Interrupted, Resumed]
    moved = last_move(found)
    assert moved.ply == 1
    assert moved.ledger.charged <= 1_000 * (READS_S + THINKS_S)
