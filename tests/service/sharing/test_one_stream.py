"""One live Play stream a player, whichever of the servers that share a store it is on."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from arbiter.errors import Reason
from arbiter.matches import Receipt
from arbiter.matches.commands import Resign
from arbiter.matches.match import Match
from arbiter.service.play import session
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from tests.service.sharing.servers import AT_ONCE, kinds, servers


async def two_results_of_which_one_is_told() -> tuple[InMemoryArbiter, InMemoryArbiter, StreamReader, list[Match]]:
    """End two matches of alice. Her server knows only the second end, because it does not follow the log for now."""
    one, other = await servers(2)
    alice = await one.connect("alice")
    matches = [await one.create("pondlife", policy=AT_ONCE) for _ in range(2)]
    await asyncio.sleep(1)
    one.journal.mute = True
    await other.arbiter.matches.act(matches[0].id, Resign(1, "r1"))
    await one.arbiter.matches.act(matches[1].id, Resign(1, "r2"))
    await alice.receive()
    return one, other, alice, matches


class TestOneStreamAPlayer:
    @virtually
    async def test_a_newer_stream_on_another_server_ends_the_older_one_within_a_second(self) -> None:
        one, other = await servers(2)
        old = await one.connect("alice")
        match = await one.create("pondlife", policy=AT_ONCE)
        await asyncio.sleep(1)
        new = await other.connect("alice")
        await asyncio.sleep(1)
        assert old.session.ended is not None
        assert old.session.ended.reason is Reason.SESSION_SUPERSEDED
        old.leave()
        await asyncio.sleep(2)
        assert new.session.ended is None
        received = await kinds(one, match.id)
        assert "left" not in received, "its matches record no departure"
        request = new.reply(await new.turn())
        await new.receive()
        assert isinstance(new.answer(request), Receipt)

    @virtually
    async def test_a_player_who_leaves_is_absent_and_may_come_back_to_any_server(self) -> None:
        one, other = await servers(2)
        match = await one.create("pondlife", policy=AT_ONCE)
        for server in (one, other, one):
            reader = await server.connect("alice")
            await asyncio.sleep(1)
            assert all(each.arbiter.sessions.is_live("alice") for each in (one, other))
            assert [each.arbiter.sessions.connected() for each in (one, other)] == [["alice"]] * 2
            reader.leave()
            await asyncio.sleep(1)
            assert not any(each.arbiter.sessions.is_live("alice") for each in (one, other))
        assert [kind for kind in await kinds(one, match.id) if kind in ("arrived", "left")] == ["arrived", "left"] * 3

    @virtually
    async def test_an_acknowledgement_does_not_cover_a_result_that_was_not_sent_yet(self) -> None:
        """The end of a match that another server has decided comes later than one that was decided here."""
        one, other, alice, matches = await two_results_of_which_one_is_told()
        [told] = alice.results
        assert told.match_id == matches[1].id
        one.journal.mute = False
        one.arbiter.sessions.acknowledge(alice.session, str(told.cursor))
        alice.leave()
        again = await other.connect("alice")
        await again.receive()
        assert [item.match_id for item in again.results] == [match.id for match in matches]
        one.arbiter.sessions.acknowledge(alice.session, str(told.cursor))
        other.arbiter.sessions.acknowledge(again.session, str(told.cursor))
        await asyncio.sleep(1)
        player = await one.arbiter.accounts.player("alice")
        assert player.acknowledged == told.cursor

    @virtually
    async def test_an_acknowledgement_does_not_cover_an_earlier_result_that_is_on_its_way(self) -> None:
        one, other, alice, matches = await two_results_of_which_one_is_told()
        [told] = alice.results
        one.journal.mute = False
        await asyncio.sleep(1)  # the other result is sent, and will be lost with the connection
        assert alice.session.waiting
        one.arbiter.sessions.acknowledge(alice.session, str(told.cursor))
        await asyncio.sleep(1)
        alice.leave()
        again = await other.connect("alice")
        await again.receive()
        assert [item.match_id for item in again.results] == [match.id for match in matches]

    @virtually
    async def test_of_a_stream_whose_bot_acknowledges_nothing_the_first_results_are_kept(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(session, "RESULTS_KEPT", 2)
        one, other = await servers(2)
        alice = await one.connect("alice")
        for number in range(4):
            match = await one.create("pondlife", policy=AT_ONCE)
            await one.arbiter.matches.act(match.id, Resign(1, f"r{number}"))
        await alice.receive()
        cursors = [item.cursor for item in alice.results]
        assert list(alice.session.unacknowledged) == cursors[:2]
        for _ in range(2):  # the second time it says nothing new
            one.arbiter.sessions.acknowledge(alice.session, str(cursors[3]))
            await asyncio.sleep(1)
            assert (await one.arbiter.accounts.player("alice")).acknowledged == cursors[1]
        alice.leave()
        again = await other.connect("alice")
        await again.receive()
        assert [item.cursor for item in again.results] == cursors[2:]

    @virtually
    async def test_a_tournament_sees_players_on_any_server(self) -> None:
        one, other = await servers(2)
        await other.connect("alice", most_matches=3)
        await asyncio.sleep(1)
        assert one.arbiter.sessions.free_slots("alice") == 3
        await one.create("pondlife", policy=AT_ONCE)
        assert one.arbiter.sessions.free_slots("alice") == 2
        assert one.arbiter.sessions.free_slots("bob") is None

    @pytest.mark.parametrize("seed", range(4))
    @virtually
    async def test_a_player_who_changes_servers_quickly_keeps_one_stream(self, seed: int) -> None:
        dice = Random(seed)
        made = await servers(3)
        match = await made[0].create("pondlife", policy=AT_ONCE)
        readers = []
        for _ in range(20):
            readers.append(await dice.choice(made).connect("alice"))
            if dice.random() < 0.3:
                readers.pop().leave()
            await asyncio.sleep(dice.choice((0, 0.001, 0.3)))
            for reader in [each for each in readers if each.session.ended is not None]:
                reader.leave()
        last = await dice.choice(made).connect("alice")
        await asyncio.sleep(2)
        assert [reader.session.ended is None for reader in readers] == [False] * len(readers)
        assert last.session.ended is None
        for server in made:
            assert server.arbiter.sessions.is_live("alice")
            assert (await server.arbiter.matches.match(match.id)).present[0]
