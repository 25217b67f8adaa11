"""The stream of a tournament over real gRPC: its own events and its matches', with all guarantees of a stream."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing

import arbiter_client as arb
import pytest
from arbiter_client.bots.random import RandomBot

from arbiter.service.players.accounts import Scope
from arbiter.testing.guarantees import Bookmarked, Received, kept, resumable
from arbiter.testing.network import Network
from tests.rpc.calls import Stubs
from tests.rpc.test_streams import Reader
from tests.rpc.test_tournaments import LEAGUE, WAIT_S, World, opened

NAMES = ("ann", "ben", "cat")


async def played(world: World) -> str:
    """Play a small tournament beside another one to its end; return its id."""
    organiser = await world.client("org", Scope.ORGANISE)
    made = await organiser.create_tournament(LEAGUE, "league")
    other = await organiser.create_tournament(LEAGUE, "other")
    for seed, name in enumerate(NAMES):
        await world.bot(name, RandomBot(seed))
        await organiser.enter_tournament(made.tournament_id, name)
        await organiser.enter_tournament(other.tournament_id, name)
    await organiser.withdraw_from_tournament(other.tournament_id, "cat")
    await organiser.start_tournament(made.tournament_id)
    await organiser.pause_tournament(made.tournament_id)
    await organiser.resume_tournament(made.tournament_id)
    await world.over(made.tournament_id)
    await organiser.cancel_tournament(other.tournament_id, "rain")
    return made.tournament_id


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
async def test_all_guarantees_hold_over_a_cut_at_every_event() -> None:
    async with opened() as world:
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


async def test_the_client_yields_all_events_across_lost_connections() -> None:
    async with opened() as world, Network(world.server.address) as network:
        organiser = await world.client("org", Scope.ORGANISE)
        watcher = arb.Client(network.address, token=organiser.connection.token)
        tournament_id = await played(world)
        whole = await record(world, tournament_id)
        received_events: list[arb.TournamentEvent | arb.MatchEvent] = []
        async with (
            watcher,
            asyncio.timeout(WAIT_S),
            aclosing(watcher.observe_tournament(tournament_id, "0", with_record=True)) as watching,
        ):
            async for event in watching:
                received_events.append(event)
                if len(received_events) in (1, 5, 9):
                    network.cut()
                if len(received_events) == len(whole):
                    break
    resumable(whole, [[received(event) for event in received_events]])
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
    assert own[-1].what == arb.TournamentEnded("complete", "", "")


def received(event: arb.TournamentEvent | arb.MatchEvent) -> Received:
    entity = event.tournament_id if isinstance(event, arb.TournamentEvent) else event.match_id
    return Received(entity, event.revision, event.record)
