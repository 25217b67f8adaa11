"""Players are spread again after servers were restarted one by one, and no stream lasts for ever."""

from __future__ import annotations

import asyncio

import pytest

from arbiter.config import Limits
from arbiter.errors import Reason
from arbiter.matches.policy import Policy
from arbiter.service.play.sessions import SENT_ON_AGAIN_MS
from arbiter.service.sharing.replica import BEAT_S
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from tests.service.sharing.servers import AT_ONCE, kinds, servers

AGE_MS = 60_000


def gone(reader: StreamReader) -> None:
    """Close a stream, as the API does once its end is sent."""
    reader.server.arbiter.sessions.close(reader.session)


class Roamer:
    """A bot that goes to the next server whenever its stream ends, as our clients do. went: how often."""

    def __init__(self, player: str, made: list[InMemoryArbiter], at: int) -> None:
        self.player = player
        self.at = at
        self.went = 0
        self._servers = made
        self.task = asyncio.create_task(self._roam())

    async def _roam(self) -> None:
        while True:
            reader = await self._servers[self.at % len(self._servers)].connect(self.player)
            await reader.session.over.wait()
            assert reader.session.ended is not None
            assert reader.session.ended.reason is Reason.DRAINING
            gone(reader)
            self.at += 1
            self.went += 1


@pytest.mark.long
@virtually
async def test_a_server_with_far_more_than_its_share_sends_idle_bots_on() -> None:
    made = await servers(3)
    roamers = [Roamer(f"bot-{number}", made, 0 if number < 9 else 1) for number in range(12)]
    await asyncio.sleep(0.1)
    assert [len(server.arbiter.sessions.all()) for server in made] == [9, 3, 0]
    await asyncio.sleep(40 * BEAT_S)
    counts = [len(server.arbiter.sessions.all()) for server in made]
    assert sum(counts) == 12
    assert max(counts) <= 5, "its share is four"
    assert min(counts) >= 2
    assert max(roamer.went for roamer in roamers) <= 2
    went = [roamer.went for roamer in roamers]
    await asyncio.sleep(SENT_ON_AGAIN_MS / 1_000)
    assert [roamer.went for roamer in roamers] == went, "then nobody has to go"
    for roamer in roamers:
        roamer.task.cancel()


@virtually
async def test_a_bot_in_a_match_stays_and_one_that_comes_back_is_left_alone() -> None:
    one, other = await servers(2)
    readers = {name: await one.connect(name) for name in ("alice", "bob", *(f"bot-{number}" for number in range(6)))}
    match = await one.create("pondlife", time="none", policy=AT_ONCE)
    asked: list[str] = []
    for _ in range(20):
        await asyncio.sleep(BEAT_S)
        for name, reader in readers.items():
            if reader.session.ended is not None:
                asked.append(name)
                gone(reader)
                readers[name] = await one.connect(name)
    assert asked == [f"bot-{number}" for number in range(6)], "each once: it may know no other server"
    assert "left" not in await kinds(one, match.id)
    assert not other.arbiter.sessions.all()


@virtually
async def test_a_stream_has_a_greatest_age() -> None:
    limits = Limits(play_stream_ms=AGE_MS, silence_ms=10 * AGE_MS)
    server = InMemoryArbiter(limits=limits)
    readers = {name: await server.connect(name) for name in ("alice", "bob", "carol")}
    match = await server.create("pondlife", time="none", policy=AT_ONCE)

    async def ended_after(age_ms: int) -> list[str]:
        await asyncio.sleep(age_ms / 1_000)
        server.arbiter.sessions.pings.sweep()
        return sorted(name for name, reader in readers.items() if reader.session.ended is not None)

    assert await ended_after(AGE_MS - 1) == []
    assert await ended_after(1) == ["carol"], "she has no match"
    gone(readers["carol"])
    assert await ended_after(AGE_MS - 1) == ["carol"]
    assert await ended_after(1) == ["bob", "carol"], "it is the turn of alice"
    gone(readers["bob"])
    readers["bob"] = await server.connect("bob")
    readers["alice"].reply(await readers["alice"].turn())
    await readers["alice"].receive()
    assert await ended_after(0) == ["alice", "carol"], "she has moved"
    assert (await kinds(server, match.id)).count("moved") == 1


@virtually
async def test_a_bot_that_prepares_for_a_match_stays_until_it_is_ready() -> None:
    """Otherwise it would begin again on its next stream, and might never be ready in time."""
    server = InMemoryArbiter(limits=Limits(play_stream_ms=AGE_MS, silence_ms=10 * AGE_MS))
    alice, bob = [await server.connect(name, says_ready=True) for name in ("alice", "bob")]
    await asyncio.sleep(2 * AGE_MS / 1_000 - 1)
    match = await server.create("pondlife", policy=Policy(ready_ms=10_000))
    await asyncio.sleep(1)
    server.arbiter.sessions.pings.sweep()
    assert (alice.session.ended, bob.session.ended) == (None, None)
    alice.ready(match.id)
    bob.ready(match.id)
    await settle()
    server.arbiter.sessions.pings.sweep()
    assert alice.session.ended is None, "it is her turn"
    assert bob.session.ended is not None


@virtually
async def test_without_the_setting_a_stream_lasts() -> None:
    server = InMemoryArbiter(limits=Limits(silence_ms=100 * AGE_MS))
    reader = await server.connect("alice")
    await asyncio.sleep(10 * AGE_MS / 1_000)
    server.arbiter.sessions.pings.sweep()
    assert reader.session.ended is None
