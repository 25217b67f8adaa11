"""Servers that share a store stop or stand still: their players go on elsewhere."""

from __future__ import annotations

import asyncio

from structlog.testing import capture_logs

from arbiter.errors import Reason
from arbiter.matches import Receipt
from arbiter.testing.clock import virtually
from tests.service.sharing.servers import AT_ONCE, NOTICED_S, kinds, servers


class TestDrainAndSuspension:
    @virtually
    async def test_a_server_that_is_stopped_hands_its_players_over(self) -> None:
        one, other, third = await servers(3)
        alice, carol = await one.connect("alice"), await third.connect("carol")
        await other.connect("bob")
        match = await one.create("pondlife", time="3s", request="of alice", policy=AT_ONCE)
        untouched = await one.create("pondlife", ("carol", "bob"), time="60s", request="of carol", policy=AT_ONCE)
        await asyncio.sleep(2)
        with capture_logs() as logs:
            await one.drain()
            assert alice.session.ended is not None
            assert alice.session.ended.reason is Reason.DRAINING
            assert "interrupted" in await kinds(other, match.id)
            assert "interrupted" not in await kinds(other, untouched.id)
            await asyncio.sleep(5)
            assert (await other.arbiter.matches.match(match.id)).clocks[0].remaining_ms == 3_000
            again = await other.connect("alice")
            await asyncio.sleep(0.1)
            request = again.reply(await again.turn())
            await again.receive()
            assert isinstance(again.answer(request), Receipt)
            await asyncio.sleep(2 * NOTICED_S)
        assert [entry for entry in logs if entry["log_level"] in ("warning", "error")] == [], (
            "no server takes it for dead"
        )
        assert carol.session.ended is None

    @virtually
    async def test_the_last_server_that_is_stopped_stops_all_clocks(self) -> None:
        one, other = await servers(2)
        away = [await one.connect(name) for name in ("alice", "bob")]
        match = await one.create("pondlife", time="60s", policy=AT_ONCE)
        for player in away:
            player.leave()
        await asyncio.sleep(1)
        await one.drain()
        assert "interrupted" not in await kinds(other, match.id), "the other one goes on"
        await asyncio.sleep(1)
        await other.drain()
        assert (await kinds(other, match.id))[-1] == "interrupted"

    @virtually
    async def test_a_suspended_server_interrupts_the_turns_of_its_own_players(self) -> None:
        one, other = await servers(2)
        await one.connect("alice")
        await other.connect("bob")
        here = await one.create("pondlife", request="1", policy=AT_ONCE)
        there = await one.create("pondlife", ("bob", "alice"), request="2", policy=AT_ONCE)
        await asyncio.sleep(1)
        one.arbiter.matches.attendance.interrupt_for_stall()
        await asyncio.sleep(1)
        assert "interrupted" in await kinds(other, here.id)
        assert "interrupted" not in await kinds(other, there.id)
