"""The stream of a tournament over real gRPC: its own events and its matches', with all guarantees of a stream."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from contextlib import AsyncExitStack, aclosing

import arbiter_client as arb
import pytest
from arbiter_client.bots.random import RandomBot

from arbiter.service.players.accounts import Scope
from arbiter.testing.guarantees import Bookmarked, Received, kept, resumable
from arbiter.testing.network import Network
from tests.rpc.calls import Stubs
from tests.rpc.servers import ONE_OR_TWO
from tests.rpc.test_streams import Reader
from tests.rpc.test_tournaments import LEAGUE, WAIT_S, World, opened

NAMES = ("ann", "ben", "cat")


async def entered(world: World) -> tuple[arb.Client, str, str]:
    """Create a small tournament and another one, with the same players; return their organiser and their ids."""
    organiser = await world.client("org", Scope.ORGANISE)
    made, other = [(await organiser.create_tournament(LEAGUE, name)).tournament_id for name in ("league", "other")]
    for name in NAMES:
        await world.server.token(name)
        for tournament_id in (made, other):
            await organiser.enter_tournament(tournament_id, name)
    await organiser.withdraw_from_tournament(other, "cat")
    return organiser, made, other


async def come(world: World) -> None:
    """Have the players connect: then games begin."""
    for seed, name in enumerate(NAMES):
        await world.bot(name, RandomBot(seed))


async def played(world: World) -> str:
    """Play a small tournament beside another one to its end; return its id."""
    organiser, tournament_id, other = await entered(world)
    await come(world)
    await organiser.start_tournament(tournament_id)
    await organiser.pause_tournament(tournament_id)
    await organiser.resume_tournament(tournament_id)
    await world.over(tournament_id)
    await organiser.cancel_tournament(other, "rain")
    return tournament_id


async def record(world: World, tournament_id: str) -> list[Received]:
    """Return the records of a tournament and of its matches, in the order of the journal."""
    feed = world.server.running.arbiter.feed
    found: list[Received] = []
    async with feed.of_all(0, tournament_id) as stream:
        async for batch in stream:
            if not isinstance(batch, list):
                if found:
                    break
                continue
            found += [Received(event.match_id, event.revision, event.body) for event in batch]
    return found


@pytest.mark.long
@pytest.mark.parametrize("servers", ONE_OR_TWO)
async def test_all_guarantees_hold_over_a_cut_at_every_event(servers: int) -> None:
    """On several servers each stream resumes at another one."""
    async with opened(servers) as world:
        tournament_id = await played(world)
        stubs = await Stubs(world.server).enter()
        whole = await record(world, tournament_id)
        smooth, cut = Reader(stubs, "all"), Reader(stubs, "all")
        for reader in (smooth, cut):
            reader.label = tournament_id
        async with asyncio.timeout(WAIT_S):
            await smooth.read(len(whole))
            await cut.read(len(whole), cut_after=1)
        for reader in (smooth, cut):
            kept(reader.events)
            resumable(whole, reader.parts)
        assert (len(smooth.parts), len(cut.parts)) == (1, len(whole))
        async for response in smooth.open():
            smooth.keep(response)
            if smooth.items and isinstance(smooth.items[-1], Bookmarked):
                break
        smooth.check_bookmarks()
        everything = Reader(stubs, "all")
        found = await world.server.running.arbiter.feed._journal.read_all(0, 100_000)
        await everything.read(len(found))
        resumable([Received(stored.match_id, stored.revision, stored.body) for stored in found], everything.parts)


@pytest.mark.long
@pytest.mark.parametrize("servers", ONE_OR_TWO)
async def test_the_client_yields_all_events_across_lost_connections(servers: int) -> None:
    """Each connection is cut before the next event is there. On several servers the client goes on at another one."""
    async with opened(servers) as world, AsyncExitStack() as stack:
        networks = [await stack.enter_async_context(Network(each)) for each in world.server.address.split(",")]
        organiser, tournament_id, _ = await entered(world)
        watcher = arb.Client(",".join(each.address for each in networks), token=organiser.connection.token)
        steps = {
            "entered": organiser.start_tournament,
            "tournament_started": organiser.pause_tournament,
            "paused": organiser.resume_tournament,
        }
        turns = itertools.cycle(networks)
        received_events: list[arb.TournamentEvent | arb.MatchEvent] = []
        async with (
            watcher,
            asyncio.timeout(WAIT_S),
            aclosing(watcher.observe_tournament(tournament_id, "0", with_record=True)) as watching,
        ):
            async for event in watching:
                received_events.append(event)
                if event.kind in steps and len(received_events) > len(NAMES):  # all have entered
                    there = next(turns)
                    assert there.connections
                    for network in networks:
                        network.refusing = servers > 1 and network is there
                        network.cut()
                    await steps[event.kind](tournament_id)
                    if event.kind == "paused":
                        await come(world)
                if event.kind == "tournament_ended":
                    break
        await world.over(tournament_id)
        whole = await record(world, tournament_id)
    resumable(whole, [[received(event) for event in received_events]])
    tells_the_tournament(received_events)


def tells_the_tournament(received_events: list[arb.TournamentEvent | arb.MatchEvent]) -> None:
    """Check that the events are those of the whole tournament, and say the same of each game as those of its match."""
    own = [event for event in received_events if isinstance(event, arb.TournamentEvent)]
    kinds = Counter(event.kind for event in own)
    assert kinds == {
        "tournament_created": 1,
        "entered": 3,
        "tournament_started": 1,
        "paused": 1,
        "continued": 1,
        "paired": kinds["paired"],
        "game_begun": 3,
        "game_ended": 3,
        "tournament_ended": 1,
    }
    games = {game.number: game for event in own if isinstance(event.what, arb.GamesPaired) for game in event.what.games}
    assert {frozenset(game.players) for game in games.values()} == {
        frozenset(pair) for pair in (("ann", "ben"), ("ann", "cat"), ("ben", "cat"))
    }
    made = {
        event.match_id: event.what
        for event in received_events
        if isinstance(event, arb.MatchEvent) and event.kind == "created"
    }
    ends = {
        event.match_id: event.what
        for event in received_events
        if isinstance(event, arb.MatchEvent) and event.kind == "ended"
    }
    for what in (event.what for event in own):
        if isinstance(what, arb.GameBegun):
            created = made[what.match_id]
            assert isinstance(created, arb.MatchCreated)
            assert (created.players, created.game) == (games[what.number].players, games[what.number].game)
        if isinstance(what, arb.GameEnded):
            result = ends[what.match_id]
            assert isinstance(result, arb.Result)
            assert (what.winner, what.reason) == (result.winner, result.reason)
            assert len(what.versions) == 2
            assert len(what.moves) == 16
    assert own[-1].what == arb.TournamentEnded("complete", "", "")


def received(event: arb.TournamentEvent | arb.MatchEvent) -> Received:
    entity = event.tournament_id if isinstance(event, arb.TournamentEvent) else event.match_id
    return Received(entity, event.revision, event.record)
