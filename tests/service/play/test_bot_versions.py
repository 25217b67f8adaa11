"""The version that a bot says in its hello is recorded in its matches."""

from __future__ import annotations

from arbiter.matches.commands import Play
from arbiter.matches.events import Arrived
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import read
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter

AT_ONCE = Policy(start=ClockStart.AT_ONCE)


async def arrivals(server: InMemoryArbiter, match_id: str) -> list[tuple[int, str]]:
    events = [read(record.body) for record in await server.journal.read(match_id)]
    return [(event.seat, event.version) for event in events if isinstance(event, Arrived)]


@virtually
async def test_a_new_match_records_the_versions_of_connected_bots() -> None:
    server = InMemoryArbiter()
    await server.connect("alice", bot_version="1.2")
    match = await server.create()
    await server.connect("bob")
    await settle()
    assert await arrivals(server, match.id) == [(1, "1.2"), (2, "")]


@virtually
async def test_another_version_on_a_newer_stream_is_recorded_at_once() -> None:
    server = InMemoryArbiter()
    await server.connect("alice", bot_version="1")
    await server.connect("bob", bot_version="7")
    match = await server.create()
    await settle()
    await server.connect("alice", bot_version="1")
    bot = await server.connect("alice", bot_version="2")
    await settle()
    assert await arrivals(server, match.id) == [(1, "1"), (2, "7"), (1, "2")]
    bot.leave()
    await server.connect("alice", bot_version="3")
    await settle()
    assert (await arrivals(server, match.id))[3:] == [(1, "3")]
    assert (await server.arbiter.matches.match(match.id)).versions == ("3", "7")


@virtually
async def test_a_player_without_a_stream_has_no_known_version() -> None:
    server = InMemoryArbiter()
    await server.caller("alice")
    (await server.connect("alice", bot_version="1")).leave()
    match = await server.create(policy=AT_ONCE)
    move = min(match.game.moves(match.position))
    now = server.clock.now_ms()
    answer = await server.arbiter.matches.request("alice", match.id, lambda seat: Play(seat, "r", 0, move, now))
    assert not isinstance(answer, Exception)
    assert (await server.arbiter.matches.match(match.id)).versions == ("", "")


@virtually
async def test_a_restart_keeps_all_versions() -> None:
    server = InMemoryArbiter()
    await server.connect("alice", bot_version="1")
    await server.connect("bob", bot_version="7")
    match = await server.create()
    await settle()
    await server.restart()
    assert (await server.arbiter.matches.match(match.id)).versions == ("1", "7")
    await server.connect("bob", bot_version="8")
    await settle()
    assert (await server.arbiter.matches.match(match.id)).versions == ("1", "8")
