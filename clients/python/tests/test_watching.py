"""Observing over a network that is cut after every event: the client keeps all guarantees of a stream of events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import arbiter_client as arb
import pytest

from arbiter.config import Limits
from arbiter.games.registry import game
from arbiter.service.players.accounts import Scope
from arbiter.testing.guarantees import Received, kept, resumable
from arbiter.testing.network import Network
from arbiter.testing.served import Served, served

MOVES = 6  #: moves in a match, before a player resigns
EVENTS = MOVES + 3  #: events of a match: created, started, the moves, ended


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    """Run an arbiter in this process."""
    async with served(limits=Limits(bookmark_ms=100)) as running:
        yield running


async def client(server: Served, name: str, *scopes: Scope, address: str = "") -> arb.Client:
    """Return a client of a player, by default for the server's own address."""
    ((_, bearer),) = await server.token(name, *scopes)
    return arb.Client(address or server.address, token=bearer.removeprefix("Bearer "))


async def make(server: Served, label: str) -> str:
    """Create a match that starts at once; return its id."""
    for name in ("alice", "bob"):
        await server.token(name)
    async with await client(server, "org", Scope.ORGANISE) as org:
        made = await org.create_match(
            "circle-of-life", ("alice", "bob"), time_control="none", label=label, start=arb.StartRule.AT_ONCE
        )
    return made.match_id


async def play(server: Served, matches: list[str]) -> AsyncGenerator[None, None]:
    """Play matches side by side to their end, which comes soon; each makes one move at a time."""
    rules = game("circle-of-life")
    position = rules.initial()
    async with await client(server, "alice") as alice, await client(server, "bob") as bob:
        for ply in range(MOVES):
            move = min(rules.moves(position))
            for match_id in matches:
                await (alice if position.turn == 1 else bob).submit_move(match_id, ply, move)
            position = rules.play(position, move)
            yield
        for match_id in matches:
            await alice.resign(match_id)
        yield


def watched(watcher: arb.Client, what: str, match_id: str) -> AsyncGenerator[arb.MatchEvent, None]:
    """Return the stream of one match, of a label or of all matches, from its beginning."""
    if what == "match":
        return watcher.observe(match_id, with_record=True)
    return watcher.observe_all("0", label="cup" if what == "label" else "", with_record=True)


@pytest.mark.long
@pytest.mark.parametrize("what", ["match", "label", "all"])
async def test_every_event_is_received_once_in_order_and_without_a_gap(server: Served, what: str) -> None:
    matches = [await make(server, "cup"), await make(server, "")]
    seen = matches if what == "all" else matches[:1]
    events: list[Received] = []
    cuts = 0
    async with (
        Network(server.address) as network,
        await client(server, "org", Scope.ORGANISE, address=network.address) as watcher,
        aclosing(play(server, matches)) as steps,
        aclosing(watched(watcher, what, matches[0])) as watching,
    ):
        async for event in watching:
            events.append(Received(event.match_id, event.revision, event.record))
            if len(events) == EVENTS * len(seen):
                break
            if len(events) >= (2 + cuts) * len(seen):  # all events so far have arrived
                network.cut()
                cuts += 1
                await anext(steps)
    assert cuts == MOVES + 1
    kept(events)
    for match_id in seen:
        record = await server.running.arbiter.matches.record(match_id, 0, 1_000)
        resumable(
            [Received(stored.match_id, stored.revision, stored.body) for stored in record],
            [[event for event in events if event.match_id == match_id]],
        )
