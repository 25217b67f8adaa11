"""Live matches: what a restart finds, and how a server stops."""

from __future__ import annotations

import asyncio

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.matches import Receipt
from arbiter.matches.commands import Abort, Resign
from arbiter.matches.events import Interrupted, MatchEndReason, Resumed
from arbiter.matches.match import Phase
from arbiter.matches.record import read
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from tests.service.matches.live_matches import AT_ONCE, finished, kinds, submit


class TestRestart:
    @virtually
    async def test_matches_go_on_and_the_outage_is_charged_to_nobody(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE, time="1m")
        await asyncio.sleep(10)
        receipt = await submit(server, "alice", match, "m1")
        await asyncio.sleep(20)
        before = await server.arbiter.matches.match(match.id)
        assert await server.restart() == 1
        after = await server.arbiter.matches.match(match.id)
        assert after.phase is Phase.PAUSED
        assert (after.clocks, after.moves, after.text) == (before.clocks, before.moves, before.text)
        assert after.clocks[0].remaining_ms == 50_000
        assert await submit(server, "alice", match, "m1") == receipt  # the same request, the same answer
        bob = await server.connect("bob")
        turn = await bob.turn()
        assert turn.match.clocks == before.clocks
        events = [read(record.body) for record in await server.journal.read(match.id)]
        assert [type(event) for event in events][-3:] == [Interrupted, type(events[-2]), Resumed]

    @virtually
    async def test_moves_are_replayed_once_a_player_connects_and_not_at_the_start(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE, time="1m")
        await submit(server, "alice", match, "m1")
        before = await server.arbiter.matches.match(match.id)
        await server.restart()
        live = server.arbiter.matches.live.find(match.id)
        assert live is not None
        assert live.newest.position is None
        assert live.newest.text == before.text
        await server.connect("bob")
        assert live.newest.position == before.position
        assert live.newest.secret == before.secret

    @virtually
    async def test_the_clock_runs_again_for_a_player_who_does_not_come_back(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE, time="1m")
        await server.restart()
        ended = await finished(server, match)
        assert ended.result is not None
        assert ended.result.reason == MatchEndReason.TIME

    @virtually
    async def test_ended_matches_stay_readable_and_answer_again(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        receipt = await server.arbiter.matches.act(match.id, Resign(1, "r"))
        assert await server.restart() == 0
        assert (await server.arbiter.matches.match(match.id)).phase is Phase.ENDED
        assert await server.arbiter.matches.act(match.id, Resign(1, "r")) == receipt
        refused = await submit(server, "bob", await server.arbiter.matches.match(match.id), "m", "a1")
        assert refused.reason in (Reason.MATCH_NOT_ACTIVE, Reason.NOT_YOUR_TURN)

    @virtually
    async def test_a_match_is_created_once_over_a_restart(self) -> None:
        server = InMemoryArbiter()
        made = await server.create(request="same")
        await server.restart()
        assert (await server.create(request="same")).id == made.id


class TestDrain:
    @virtually
    async def test_a_drain_stops_clocks_and_refuses_requests(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        await settle()
        server.journal.hold = True
        answer = submit(server, "alice", match, "m1")
        draining = asyncio.create_task(server.arbiter.matches.drain())
        await settle()
        assert not draining.done()
        server.journal.release()
        await draining
        assert isinstance(await answer, Receipt)
        for refused in (
            await submit(server, "bob", match, "m2"),
            await server.arbiter.matches.answer(match.id, Abort("org", "a")),
        ):
            assert isinstance(refused, Refusal)
            assert refused.reason is Reason.DRAINING
        with pytest.raises(Refusal, match="DRAINING"):
            await server.create()
        alice.leave()
        await asyncio.sleep(3_600)
        assert (await kinds(server, match))[-2:] == ["moved", "interrupted"]
        assert await server.restart() == 1
        assert (await server.arbiter.matches.match(match.id)).ply == 1

    @virtually
    async def test_a_match_is_not_created_that_a_drain_no_longer_interrupts(self) -> None:
        server = InMemoryArbiter()
        read, known = server.journal.before_reading, asyncio.Event()

        async def waits() -> None:
            await known.wait()
            await read()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(server.journal, "before_reading", waits)
            creating = asyncio.create_task(server.create(policy=AT_ONCE))
            await settle()
            draining = asyncio.create_task(server.arbiter.matches.drain())
            await settle()
            known.set()
            with pytest.raises(Refusal, match="DRAINING"):
                await creating
            assert await draining
        assert await server.journal.unfinished() == []

    @virtually
    async def test_no_recovery_begins_after_a_drain(self) -> None:
        """The store is closed next; the log's news and failed appends may still come until then."""
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        live = server.arbiter.matches.live.find(match.id)
        assert live is not None
        assert await server.arbiter.matches.drain()
        server.arbiter.matches.decisions.fall_behind(live, lost=False)
        assert server.arbiter.matches.recoveries == 0
