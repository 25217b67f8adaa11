"""Several servers over one store, each of which follows the log: an event of one reaches the others soon."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest
from structlog.testing import capture_logs

from arbiter.errors import Refusal
from arbiter.matches import Receipt
from arbiter.matches.commands import Abort, Resign
from arbiter.matches.events import Created, Ended, Moved
from arbiter.matches.match import with_position
from arbiter.service.observing.feed import Reached
from arbiter.service.play.session import StateItem, TurnItem
from arbiter.service.ports.journal import StoredRecord, Subject
from arbiter.service.record.match_log import event_of
from arbiter.service.sharing.following import LOOK_S
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.tournaments import commands as do
from arbiter.tournaments.spec import Format
from arbiter.tournaments.tournament import TournamentPhase
from tests.service.sharing.servers import AT_ONCE, events, kinds, observed, servers
from tests.service.tournaments.contest import Contest, spec_of

SOON_S = 3 * LOOK_S


@virtually
async def test_an_observer_goes_on_at_a_server_that_is_behind() -> None:
    one, other = await servers(2)
    match = await one.create("pondlife", policy=AT_ONCE)
    await asyncio.sleep(SOON_S)
    other.journal.mute = True
    await asyncio.sleep(2 * SOON_S)
    await one.arbiter.matches.act(match.id, Resign(1, "r1"))
    last = (await one.arbiter.matches.match(match.id)).revision
    other.journal.mute = False
    behind = await other.arbiter.matches.match(match.id)
    assert behind.revision < last, "it has not read the end yet"
    async with other.arbiter.feed.of_match(match.id, last) as stream:
        assert [batch async for batch in stream if not isinstance(batch, Reached)] == []
    async with other.arbiter.feed.of_match(match.id, last - 1) as stream:
        batches = [batch async for batch in stream if not isinstance(batch, Reached)]
        assert [event.revision for batch in batches for event in batch] == [last]
    for wrong in (last + 1, 2**40, -1):
        with pytest.raises(Refusal, match="after_revision"):
            async with other.arbiter.feed.of_match(match.id, wrong):
                pass


@virtually
async def test_players_on_two_servers_play_each_other() -> None:
    one, other = await servers(2)
    alice, bob = await one.connect("alice"), await other.connect("bob")
    match = await one.create("pondlife", policy=AT_ONCE)
    with capture_logs() as logs:
        for mover, waiting in [(alice, bob), (bob, alice)] * 3:
            await asyncio.sleep(SOON_S)
            request = mover.reply(await mover.turn())
            await mover.receive()
            assert isinstance(mover.answer(request), Receipt)
            assert not any(isinstance(item, TurnItem) for item in await waiting.receive()), (
                "it learns of the match from the log"
            )
    assert (await kinds(one, match.id))[-6:] == ["moved"] * 6
    assert [entry for entry in logs if entry["log_level"] in ("warning", "error")] == []


@virtually
async def test_a_match_created_elsewhere_is_sent_to_its_players_here() -> None:
    one, other = await servers(2)
    bob = await other.connect("bob")
    match = await one.create("pondlife", ("bob", "alice"), policy=AT_ONCE)
    await asyncio.sleep(SOON_S)
    received = await bob.receive()
    assert [item.match.id for item in received if isinstance(item, StateItem)] == [match.id]
    assert [item.match.ply for item in received if isinstance(item, TurnItem)] == [0]
    assert other.arbiter.matches.live.find(match.id) is not None


@virtually
async def test_a_match_that_was_created_and_has_ended_elsewhere_is_sent_once() -> None:
    one, other = await servers(2)
    bob = await other.connect("bob")
    await asyncio.sleep(SOON_S)
    match = await one.create("pondlife", policy=AT_ONCE)
    await one.arbiter.matches.answer(match.id, Abort("org", "end"))
    await asyncio.sleep(SOON_S)
    await bob.receive()
    assert [result.match_id for result in bob.results] == [match.id]
    assert other.arbiter.matches.live.find(match.id) is None


@pytest.mark.parametrize("ends", [False, True], ids=["goes on", "ends"])
@virtually
async def test_a_match_that_has_ended_before_its_server_reads_its_creation_is_over(
    ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Own records wait for those of other servers before them, which this server has not read for a while."""
    one, other = await servers(2)
    read, reads = one.journal.read_all, asyncio.Event()

    async def read_late(after: int, most: int) -> list[StoredRecord]:
        await reads.wait()
        return await read(after, most)

    monkeypatch.setattr(one.journal, "read_all", read_late)
    await one.connect("alice")
    told: list[tuple[str, int]] = []
    one.arbiter.match_listeners.append(lambda _, events: told.extend((each.match_id, each.revision) for each in events))
    before = await other.create("pondlife", policy=AT_ONCE)
    match = await one.create("hop-it", policy=AT_ONCE, request="made here")
    if ends:
        await one.arbiter.matches.answer(match.id, Abort("org", "end"))
    await asyncio.sleep(SOON_S)
    assert before.id not in dict(told), "it can't be known yet"
    reads.set()
    await asyncio.sleep(SOON_S)
    stored = [*await one.journal.read(before.id), *await one.journal.read(match.id)]
    assert Counter(told) == Counter((each.match_id, each.revision) for each in stored)
    assert (one.arbiter.matches.live.find(match.id) is None) == ends


@virtually
async def test_a_player_who_connects_receives_the_matches_of_other_servers() -> None:
    one, other = await servers(2)
    match = await one.create("pondlife", ("bob", "alice"), policy=AT_ONCE)
    ended = await one.create("pondlife")
    await one.arbiter.matches.answer(ended.id, Abort("org", "end"))
    await asyncio.sleep(SOON_S)
    bob = await other.connect("bob")
    received = await bob.receive()
    assert [item.match.id for item in received if isinstance(item, StateItem)] == [match.id]
    assert [result.match_id for result in bob.results] == [ended.id]
    assert [item.match.id for item in received if isinstance(item, TurnItem)] == [match.id]


@virtually
async def test_an_end_elsewhere_ends_it_here() -> None:
    one, other = await servers(2)
    bob = await other.connect("bob")
    match = await one.create("pondlife", policy=AT_ONCE)
    await asyncio.sleep(SOON_S)
    await one.arbiter.matches.request("alice", match.id, lambda seat: Resign(seat, "resign"))
    await asyncio.sleep(SOON_S)
    await bob.receive()
    assert [result.end.reason for result in bob.results] == ["resignation"]
    assert other.arbiter.matches.live.find(match.id) is None
    assert await other.stuck_matches() == []


@virtually
async def test_a_store_that_can_not_be_read_for_a_while_is_charged_to_nobody() -> None:
    one, other = await servers(2)
    alice, bob = await one.connect("alice"), await other.connect("bob")
    match = await one.create("pondlife", policy=AT_ONCE)
    await asyncio.sleep(SOON_S)
    other.journal.mute = True
    with capture_logs() as logs:
        alice.reply(await alice.turn())
        await asyncio.sleep(5)
    assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == ["log_not_followed"]
    assert not any(isinstance(item, TurnItem) and item.match.ply == 1 for item in await bob.receive())
    other.journal.mute = False
    await asyncio.sleep(2)
    turn = await bob.turn()
    assert turn.match.ply == 1
    await asyncio.sleep(SOON_S)
    bob.reply(turn)
    await asyncio.sleep(SOON_S)
    *_, moved = [event for event in await events(one, match.id) if isinstance(event, Moved)]
    assert moved.ply == 1
    assert moved.ledger.charged < 3_000, "the turn began again when the store could be read"


@pytest.mark.parametrize("here", [False, True])
@virtually
async def test_observers_receive_events_of_other_servers(here: bool) -> None:
    """Observers of one match and of all matches, in order and without a gap."""
    one, other, third = await servers(3)
    if here:
        await third.connect("bob")
    everything, of_match = list[int](), list[int]()
    async with asyncio.TaskGroup() as group, third.arbiter.feed.of_all(0, "") as stream:
        match = await one.create("pondlife", policy=AT_ONCE)
        async with third.arbiter.feed.of_match(match.id, 0) as of_one:
            received = group.create_task(observed(of_one, of_match))
            told_all = group.create_task(observed(stream, everything))
            for number in range(4):
                await asyncio.sleep(SOON_S if number % 2 else LOOK_S / 3)
                now = await one.arbiter.matches.match(match.id)
                reader = await (one, other)[number % 2].connect(now.players[now.turn - 1])
                reader.play(match.id, now.ply, min(now.game.moves(with_position(now).position)))
                await asyncio.sleep(SOON_S)
            await other.arbiter.matches.answer(match.id, Abort("org", "end"))
            await received
            await asyncio.sleep(SOON_S)
            told_all.cancel()
    assert of_match == [stored.sequence for stored in await one.journal.read(match.id)]
    assert everything == [stored.sequence for stored in await one.journal.read_all(0, 1_000)]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
@virtually
async def test_matches_are_played_to_their_end_with_players_on_any_servers(seed: int) -> None:
    """Five players on three servers; reads of the store fail now and then."""
    dice = Random(seed)
    made = await servers(3)
    names = [f"player-{number}" for number in range(5)]
    readers = [await dice.choice(made).connect(name) for name in names]
    matches = [
        await dice.choice(made).create("circle-of-life", dice.sample(names, 2), request=f"m{n}", policy=AT_ONCE)
        for n in range(5)
    ]
    ids = {match.id for match in matches}
    async with asyncio.timeout(3_600):
        while any(await made[0].journal._journal.unfinished()):
            await asyncio.sleep(dice.choice((0.001, LOOK_S / 2, LOOK_S)))
            for server in made:
                server.journal.mute = dice.random() < 0.02
            for reader in readers:
                for item in await reader.receive():
                    if isinstance(item, TurnItem):
                        reader.play(item.match.id, item.match.ply, dice.choice(sorted(moves(item))))
    for server in made:
        server.journal.mute = False
    await asyncio.sleep(3)
    for match_id in ids:
        received = await kinds(made[0], match_id)
        assert received.count("ended") == 1
        assert "interrupted" not in received
    for reader, name in zip(readers, names, strict=True):
        await reader.receive()
        mine = [match.id for match in matches if name in match.players]
        assert sorted(result.match_id for result in reader.results) == sorted(mine)
    for server in made:
        assert await server.stuck_matches() == []


def moves(turn: TurnItem) -> list[str]:
    return list(turn.match.game.moves(with_position(turn.match).position))


@virtually
async def test_a_tournament_runs_whichever_server_it_was_created_on() -> None:
    """Each of three servers runs it: conditional writes and the ids of requests keep it one tournament."""
    one, other, third = await servers(3)
    contest = Contest(4, server=third)
    made = await one.arbiter.tournaments.create(spec_of(Format.ROUND_ROBIN), "org", "make")
    for name in contest.names:
        await contest.connect(name)
        await other.arbiter.tournaments.act(made.id, do.Enter(name, "org", f"enter {name}"))
    await one.arbiter.tournaments.act(made.id, do.Start("org", "start"))
    log = await contest.ended(made.id)
    assert len(log.tournament.results) == 6
    for server in (one, other):
        seen = await server.arbiter.tournaments.get(made.id)
        assert (seen.phase, seen.results) == (TournamentPhase.ENDED, log.tournament.results)


async def most_open(server: InMemoryArbiter) -> Counter[str]:
    """Return how many matches of each player were open at once, at most."""
    players, now, most = dict[str, tuple[str, str]](), Counter[str](), Counter[str]()
    for stored in await server.journal.read_all(0, 10_000):
        if stored.subject is not Subject.MATCH:
            continue
        event = event_of(stored)
        if isinstance(event, Created):
            players[event.match] = event.players
            now.update(event.players)
        elif isinstance(event, Ended):
            now.subtract(players[stored.match_id])
        most |= now
    return most


@virtually
@pytest.mark.long
async def test_tournaments_on_all_servers_give_a_player_no_more_matches_at_once_than_it_accepts() -> None:
    made = await servers(3)
    contest = Contest(4, server=made[2], most_matches=1)
    cups = [
        await server.arbiter.tournaments.create(spec_of(Format.ROUND_ROBIN, paired=True), "org", f"make {n}")
        for n, server in enumerate(made)
    ]
    for name in contest.names:
        await contest.connect(name)
        for cup in cups:
            await made[0].arbiter.tournaments.act(cup.id, do.Enter(name, "org", f"enter {name}"))
    await asyncio.sleep(1)
    await asyncio.gather(
        *(
            server.arbiter.tournaments.act(cup.id, do.Start("org", "start"))
            for server, cup in zip(made, cups, strict=True)
        )
    )
    for cup in cups:
        assert len((await contest.ended(cup.id)).tournament.results) == 12
    assert set((await most_open(made[0])).values()) == {1}


@virtually
async def test_limits_count_open_matches_and_tournaments_of_all_servers() -> None:
    one, other = await servers(2, limits={"open_matches_of_player": 3, "open_tournaments": 2})
    asked: list[Coroutine[Any, Any, object]] = []
    for number in range(4):
        for server in (one, other):
            asked.append(server.create("pondlife", ("alice", f"bob-{number}"), request=f"{server is one} {number}"))
            asked.append(server.arbiter.tournaments.create(spec_of(Format.SWISS), "org", f"{server is one} {number}"))
    found = await asyncio.gather(*asked, return_exceptions=True)
    refused = [each for each in found if isinstance(each, BaseException)]
    assert Counter(map(str, refused)) == {
        "RATE_LIMITED 3 matches of alice are open, the maximum: end some first": 5,
        "RATE_LIMITED 2 tournaments are open, the maximum: end some first": 6,
    }
    await asyncio.sleep(SOON_S)
    assert [len(server.arbiter.matches.live) for server in (one, other)] == [3, 3]
    assert [len(list(server.arbiter.tournaments.open())) for server in (one, other)] == [2, 2]
