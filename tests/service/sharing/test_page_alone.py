"""A server that has the page alone, beside those that have the players: it does what it is asked, and nothing else."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from arbiter.matches import Receipt
from arbiter.matches.commands import Play, Resign
from arbiter.matches.events import Moved
from arbiter.matches.match import with_position
from arbiter.service.sharing.replica import BEAT_S
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.tournaments import commands as do
from arbiter.tournaments.spec import Format
from arbiter.tournaments.tournament import TournamentPhase
from tests.service.sharing.servers import AT_ONCE, NOTICED_S, bot, events, kinds, servers
from tests.service.tournaments.contest import Contest, spec_of

LONG_S = 600  #: longer than any match here waits for anything


async def with_page(players: int = 1) -> tuple[list[InMemoryArbiter], InMemoryArbiter]:
    """Return servers that have players, and one that has the page alone, of one store."""
    made = await servers(players)
    page = made[0].beside(listen="", web="127.0.0.1:0")
    await page.share()
    await asyncio.sleep(2 * BEAT_S)
    return made, page


@virtually
@pytest.mark.long
async def test_no_time_runs_out_while_the_servers_with_players_are_away() -> None:
    [one], page = await with_page()
    await one.connect("alice")
    await one.connect("bob")
    running = await one.create("pondlife", time="5s", policy=AT_ONCE)
    waiting = await one.create("pondlife", ("carol", "dan"), time="5s")
    await asyncio.sleep(1)
    before = await kinds(one, running.id), await kinds(one, waiting.id)
    await one.die()
    await asyncio.sleep(LONG_S)
    assert (await kinds(page, running.id), await kinds(page, waiting.id)) == before
    again = one.beside()
    await again.share()
    await asyncio.sleep(NOTICED_S)
    assert (await kinds(again, running.id))[-1] == "interrupted", "nobody is charged for the time between"
    await again.connect("bob")
    alice = await again.connect("alice")
    request = alice.reply(await alice.turn())
    await alice.receive()
    assert isinstance(alice.answer(request), Receipt)
    [moved] = [event for event in await events(again, running.id) if isinstance(event, Moved)]
    assert moved.ledger.charged <= 1_200, "the second before the server died is not charged twice"


@virtually
async def test_play_goes_on_as_before_when_the_page_dies() -> None:
    [one], page = await with_page()
    readers = [await one.connect("alice"), await one.connect("bob")]
    bots = [asyncio.create_task(bot(reader)) for reader in readers]
    match = await one.create("pods(size=4)", time="1m", policy=AT_ONCE)
    await asyncio.sleep(3)
    await page.die()
    before = len(await kinds(one, match.id))
    await asyncio.sleep(5)
    after = await kinds(one, match.id)
    assert len(after) > before + 10
    assert not {"interrupted", "left"} & set(after)
    assert all(reader.session.ended is None for reader in readers)
    assert one.arbiter.replica is not None
    assert one.arbiter.replica.failovers == 1, "its row is removed"
    for task in bots:
        task.cancel()


@virtually
async def test_the_page_is_no_server_to_which_players_could_go() -> None:
    [one], page = await with_page()
    readers = [await one.connect(f"bot-{number}") for number in range(12)]
    await asyncio.sleep(40 * BEAT_S)
    assert all(reader.session.ended is None for reader in readers), "nobody is sent on"
    assert one.arbiter.replica is not None
    assert await one.arbiter.replica.is_last()
    assert page.arbiter.replica is not None
    assert not await page.arbiter.replica.is_last()


@virtually
async def test_the_last_server_with_players_stops_the_clocks_though_the_page_stays() -> None:
    [one, other], page = await with_page(2)
    await one.connect("alice")
    await one.connect("bob")
    match = await one.create("pondlife", policy=AT_ONCE)
    await asyncio.sleep(1)
    await other.drain()
    assert "interrupted" not in await kinds(page, match.id)
    await one.drain()
    assert (await kinds(page, match.id))[-1] == "interrupted"
    before = await kinds(page, match.id)
    await page.drain()
    assert await kinds(page, match.id) == before


@virtually
async def test_a_person_plays_at_the_page_against_a_bot_at_another_server() -> None:
    [one], page = await with_page()
    alice, matches = await one.connect("alice"), page.arbiter.matches
    match = await page.create("circle-of-life", ("bob", "alice"), time="1m", policy=AT_ONCE)
    for ply in (0, 2, 4):
        await asyncio.sleep(1)
        found = with_position(await matches.match(match.id))
        assert found.ply == ply
        play = partial(
            Play, request=f"r{ply}", ply=ply, move=min(found.game.moves(found.position)), arrived=page.clock.now_ms()
        )
        assert isinstance(await matches.request("bob", match.id, play), Receipt)
        await asyncio.sleep(1)
        alice.reply(await alice.turn())
    await asyncio.sleep(1)
    assert isinstance(await matches.request("bob", match.id, lambda seat: Resign(seat, "enough")), Receipt)
    await asyncio.sleep(1)
    await alice.receive()
    assert [result.match_id for result in alice.results] == [match.id]


@pytest.mark.long
@virtually
async def test_the_page_takes_requests_to_tournaments_and_leaves_the_rest_to_others() -> None:
    [one], page = await with_page()
    contest, tournaments = Contest(4, server=one), page.arbiter.tournaments
    made = await tournaments.create(spec_of(Format.ROUND_ROBIN, cycles=50), "org", "make")
    for name in contest.names:
        await tournaments.act(made.id, do.Enter(name, "org", f"enter {name}"))
        await contest.connect(name)
    await one.die()
    await tournaments.act(made.id, do.Start("org", "start"))
    await asyncio.sleep(LONG_S)
    waits = await tournaments.get(made.id)
    assert (waits.phase, waits.running) == (TournamentPhase.RUNNING, {}), "no game begins that no player can reach"
    again = one.beside()
    await again.share()
    contest.servers = [again]
    for name in contest.names:
        await contest.leave(name)
        await contest.connect(name)
    await asyncio.sleep(1)
    assert (await tournaments.get(made.id)).results
    cancelled = await tournaments.act(made.id, do.Cancel("org", "enough"))
    assert cancelled.phase is TournamentPhase.ENDED
    log = await contest.ended(made.id)
    assert log.tournament.end is not None
