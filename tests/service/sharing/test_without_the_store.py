"""Servers that may count as dead, because they could not use the store: they keep no player, and charge nobody."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from arbiter.errors import Reason
from arbiter.matches import Receipt
from arbiter.matches.events import Moved
from arbiter.matches.match import Phase
from arbiter.service.play.session import Hello, TurnItem
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.sharing.replica import BEAT_S
from arbiter.testing.clock import virtually
from arbiter.testing.memory import MemoryDirectory, MemoryReplicas
from tests.service.sharing.servers import AT_ONCE, NOTICED_S, SILENCE_MS, events, kinds, servers


class TestWithoutTheStore:
    @virtually
    async def test_a_server_that_was_declared_dead_opens_no_stream_before_it_knows(self) -> None:
        one, other = await servers(2)
        for task in one.tasks:
            task.cancel()
        await asyncio.sleep(NOTICED_S)
        with pytest.raises(StoreFailed):
            await one.connect("alice")
        assert one.arbiter.replica is not None
        await one.arbiter.replica.beat()
        assert (await one.connect("alice")).session.ended is None
        await other.connect("bob")

    @pytest.mark.parametrize("call", ["beat", "give_back"])
    @virtually
    async def test_a_server_sends_its_players_away_in_time_whichever_call_to_the_store_hangs(
        self, call: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, _ = await servers(2)
        alice = await one.connect("alice")
        await one.connect("bob")
        await asyncio.sleep(1)

        async def hang(*_: object, **named: object) -> None:
            await asyncio.sleep(600)

        del one.arbiter.sessions._connections.by_player["bob"]  # the next heartbeat removes the row
        monkeypatch.setattr(MemoryReplicas, call, hang)
        monkeypatch.setattr(one.journal, "before_reading", hang)
        await asyncio.sleep(SILENCE_MS / 1_000 + 3 * BEAT_S)
        assert alice.session.ended is not None
        with pytest.raises(StoreFailed):
            await one.connect("carol")

    @pytest.mark.parametrize("call", ["change_player", "take"])
    @virtually
    async def test_a_player_who_is_about_to_open_a_stream_there_is_sent_away_too(
        self, call: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, _ = await servers(2)
        alice = await one.caller("alice")
        await asyncio.sleep(1)

        async def hang(*_: object, **named: object) -> None:
            await asyncio.sleep(600)

        monkeypatch.setattr(MemoryReplicas, "beat", hang)
        monkeypatch.setattr(MemoryDirectory if call == "change_player" else MemoryReplicas, call, hang)
        async with asyncio.timeout(SILENCE_MS / 1_000 + 3 * BEAT_S):
            with pytest.raises(StoreFailed):
                await one.arbiter.sessions.open(alice, Hello())

    @virtually
    async def test_a_server_without_its_store_ends_event_streams_and_opens_none(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, _ = await servers(2)
        streams = one.arbiter.streams
        carol = await one.caller("carol")

        async def hang(*_: object, **named: object) -> None:
            await asyncio.sleep(600)

        async def observe() -> None:
            async with streams.held(carol, "events"):
                await asyncio.sleep(600)

        observing = asyncio.create_task(observe())
        await asyncio.sleep(1)
        assert not observing.done()
        monkeypatch.setattr(MemoryReplicas, "beat", hang)
        async with asyncio.timeout(SILENCE_MS / 1_000 + 3 * BEAT_S):
            with pytest.raises(StoreFailed):
                await observing
        with pytest.raises(StoreFailed):
            await observe()

    @virtually
    async def test_a_server_that_may_count_as_dead_hands_no_turn_over(self) -> None:
        """If it is killed then, nobody would know that its player has thought there."""
        one, other = await servers(2)
        alice, bob = await one.connect("alice"), await other.connect("bob")
        hers = await one.create("pondlife", policy=AT_ONCE)
        next_hers = await one.create("pondlife", ("bob", "alice"), policy=AT_ONCE)
        await asyncio.sleep(1)
        await alice.receive()
        one.tasks[0].cancel()  # it sends no heartbeat, but goes on
        await asyncio.sleep(NOTICED_S)
        bob.reply(await bob.turn())
        await asyncio.sleep(1)
        assert (await kinds(other, hers.id))[-1] == "arrived", "only bob is here: the clock of alice stands still"
        assert (await other.arbiter.matches.match(hers.id)).phase is Phase.PAUSED
        assert (await other.arbiter.matches.match(next_hers.id)).ply == 1
        assert [item for item in await alice.receive() if isinstance(item, TurnItem)] == []
        assert alice.session.ended is not None

    @virtually
    async def test_a_server_that_was_taken_for_dead_ends_its_streams_and_serves_again(self) -> None:
        one, other = await servers(2)
        alice = await one.connect("alice")
        match = await one.create("pondlife", policy=AT_ONCE)
        await asyncio.sleep(1)
        one.tasks[0].cancel()  # it sends no heartbeat for a while
        with capture_logs() as logs:
            await asyncio.sleep(2 * NOTICED_S)
            assert "interrupted" in await kinds(other, match.id)
            replica, beside = one.arbiter.replica, other.arbiter.replica
            assert replica is not None
            assert beside is not None
            one.tasks[0] = asyncio.create_task(replica.run())
            await asyncio.sleep(1)
        assert {entry["event"] for entry in logs if entry["log_level"] == "warning"} == {
            "replica_gone",
            "taken_for_gone",
        }
        assert (replica.taken_for_gone, beside.taken_for_gone, beside.failovers) == (1, 0, 1)
        assert alice.session.ended is not None
        assert alice.session.ended.reason is Reason.STORE_UNAVAILABLE
        alice.leave()
        again = await one.connect("alice")
        await asyncio.sleep(1)
        request = again.reply(await again.turn())
        await again.receive()
        assert isinstance(again.answer(request), Receipt)
        assert again.session.ended is None

    @virtually
    async def test_servers_wait_for_a_silent_one_as_long_as_the_settings_say(self) -> None:
        one, other = await servers(2, limits={"server_silence_ms": 3 * SILENCE_MS})
        alice = await one.connect("alice")
        match = await one.create("pondlife", policy=AT_ONCE)
        await asyncio.sleep(1)
        one.tasks[0].cancel()  # it sends no heartbeat from now on
        await asyncio.sleep(2 * SILENCE_MS / 1_000)
        assert "interrupted" not in await kinds(other, match.id)
        assert alice.session.ended is None
        await asyncio.sleep(NOTICED_S)
        assert "interrupted" in await kinds(other, match.id)
        assert alice.session.ended is not None

    @pytest.mark.parametrize("number", [1, 2])
    @virtually
    async def test_a_server_without_its_store_sends_its_players_to_others_if_there_are_any(
        self, number: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one = (await servers(number))[0]
        alice = await one.connect("alice")
        await asyncio.sleep(1)

        async def fail(*_: object) -> None:
            raise StoreFailed("it can't be reached")

        with monkeypatch.context() as patch:
            patch.setattr(MemoryReplicas, "beat", fail)
            await asyncio.sleep(4)
            assert (alice.session.ended is None) is (number == 1)
            if number == 2:
                with pytest.raises(StoreFailed):
                    await one.connect("bob")
        await asyncio.sleep(1)
        bob = await one.connect("bob")
        await asyncio.sleep(1)
        assert bob.session.ended is None

    @pytest.mark.parametrize("first", [0, 1])
    @virtually
    async def test_while_all_servers_are_without_their_store_nobody_is_charged(
        self, first: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whichever server reaches the store first again: there, nobody has declared the other one dead before."""
        made = await servers(2)
        one, other = made[first], made[1 - first]
        readers = [await one.connect("alice"), await other.connect("bob")]
        match = await one.create("pondlife", time="30s", policy=AT_ONCE)
        await asyncio.sleep(1)

        async def fail(*_: object) -> None:
            raise StoreFailed("it can't be reached")

        with monkeypatch.context() as patch:
            for name in ("beat", "take", "give_back", "forget", "lost_players", "enter"):
                patch.setattr(MemoryReplicas, name, fail)
            for server in made:
                patch.setattr(server.journal, "refuse", True)
                patch.setattr(server.journal, "before_reading", fail)
            await asyncio.sleep(10)
            for reader in readers:
                assert reader.session.ended is not None
                reader.leave()
        await asyncio.sleep(NOTICED_S)
        again = await one.connect("alice")
        await asyncio.sleep(0.1)
        request = again.reply(await again.turn())
        await asyncio.sleep(NOTICED_S)
        await again.receive()
        assert isinstance(again.answer(request), Receipt)
        [moved] = [event for event in await events(one, match.id) if isinstance(event, Moved)]
        assert moved.ledger.charged <= 100
