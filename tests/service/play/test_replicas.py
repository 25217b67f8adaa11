"""Servers that share a store: one stream a player on all of them, and what happens when a server dies."""

from __future__ import annotations

import asyncio
import itertools
from random import Random
from typing import Any

import pytest
from structlog.testing import capture_logs

from arbiter.bootstrap import Store
from arbiter.errors import Reason, Refusal
from arbiter.matches import Receipt
from arbiter.matches.commands import Play, Resign
from arbiter.matches.events import Ended, Event, Moved
from arbiter.matches.match import Phase, deadline
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import check_chain
from arbiter.service.play import session
from arbiter.service.play.challenges import Terms
from arbiter.service.play.replica import BEAT_S, SILENCE_MS
from arbiter.service.play.session import (
    AnswerItem,
    ChallengeClosedItem,
    ChallengeItem,
    Hello,
    SeekItem,
    StateItem,
    TurnItem,
)
from arbiter.service.players.accounts import Caller, Scope
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.ports.replicas import HandOvers, Heartbeat, no_hand_overs
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, MemoryReplicas
from arbiter.tournaments import commands as do
from arbiter.tournaments.spec import Format, Schedule
from tests.service.tournaments.contest import spec_of

TERMS = Terms("pods", "1m+1s", False, 1)
AT_ONCE = Policy(start=ClockStart.AT_ONCE)
NUMBERS = itertools.count(1)
NOTICED_S = SILENCE_MS / 1_000 + 2 * BEAT_S


async def servers(number: int) -> list[InMemoryArbiter]:
    """Return servers that share a store."""
    first = InMemoryArbiter(Store(MemoryJournal(), MemoryDirectory(), replicas=MemoryReplicas()))
    made = [first, *(first.beside() for _ in range(number - 1))]
    for server in made:
        await server.share()
    return made


class RemoteReplicas(MemoryReplicas):
    """The rows of replicas in a store that takes a moment to answer."""

    async def beat(self, replica: str, silence_ms: int, hand_overs: HandOvers = no_hand_overs) -> Heartbeat | None:
        """Say that a replica is alive."""
        await asyncio.sleep(0.01)
        return await super().beat(replica, silence_ms, hand_overs)


async def events(server: InMemoryArbiter, match_id: str) -> list[Event]:
    return check_chain([stored.body for stored in await server.journal.read(match_id)])


async def kinds(server: InMemoryArbiter, match_id: str) -> list[str]:
    return [event.kind.value for event in await events(server, match_id)]


async def bot(reader: StreamReader) -> None:
    """Answer every turn after a while, until the stream ends."""
    while reader.session.ended is None:
        for item in await reader.receive():
            if isinstance(item, TurnItem):
                await asyncio.sleep(0.2)
                if reader.session.ended is None:
                    move = min(item.match.game.moves(item.match.position))
                    reader.play(item.match.id, item.match.ply, move, f"request {next(NUMBERS)}")
        await asyncio.sleep(0.05)


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
        one, other = await servers(2)
        alice = await one.connect("alice")
        matches = [await one.create("pondlife", policy=AT_ONCE) for _ in range(2)]
        await asyncio.sleep(1)
        one.journal.mute = True  # it does not follow the log
        await other.arbiter.matches.act(matches[0].id, Resign(1, "r1"))
        await one.arbiter.matches.act(matches[1].id, Resign(1, "r2"))
        await alice.receive()
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
        assert alice.session.unacknowledged == set(cursors[:2])
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


class TestDeadServer:
    @virtually
    async def test_its_players_go_on_elsewhere_and_the_interrupted_turn_is_charged_to_nobody(self) -> None:
        one, other = await servers(2)
        alice, bob = await one.connect("alice"), await other.connect("bob")
        match = await one.create("pondlife", time="5s", policy=AT_ONCE)
        await asyncio.sleep(1)
        assert (await alice.turn()).match.ply == 0
        await one.die()
        await asyncio.sleep(NOTICED_S)
        assert (await kinds(other, match.id))[-2:] == ["interrupted", "arrived"], "bob is connected all the time"
        await asyncio.sleep(10)  # longer than the clock has left
        again = await other.connect("alice")
        await asyncio.sleep(0.1)
        assert (await kinds(other, match.id))[-2:] == ["arrived", "resumed"]
        request = again.reply(await again.turn())
        await again.receive()
        assert isinstance(again.answer(request), Receipt)
        moved = next(event for event in await events(other, match.id) if isinstance(event, Moved))
        assert moved.ledger.charged <= 200
        assert bob.session.ended is None

    @virtually
    async def test_a_player_who_reconnects_before_the_server_counts_as_dead_is_charged_nothing_either(self) -> None:
        one, other = await servers(2)
        alice = await one.connect("alice")
        await other.connect("bob")
        match = await one.create("pondlife", time="4s", policy=AT_ONCE)
        await asyncio.sleep(3)
        assert (await alice.turn()).match.ply == 0
        await one.die()
        await asyncio.sleep(0.3)
        again = await other.connect("alice")
        await asyncio.sleep(NOTICED_S)
        assert "interrupted" in await kinds(other, match.id)
        request = again.reply(await again.turn())
        await again.receive()
        assert isinstance(again.answer(request), Receipt)

    @pytest.mark.parametrize("streams", [1, 2, 3])
    @virtually
    async def test_a_move_before_the_server_counts_as_dead_waits_and_is_charged_nothing(self, streams: int) -> None:
        """It waits until the death is known, also if the player loses its new streams too before that."""
        one, other, third = await servers(3)
        alice = await one.connect("alice")
        await other.connect("bob")
        match = await one.create("pondlife", time="4s", policy=AT_ONCE)
        await asyncio.sleep(3)
        assert (await alice.turn()).match.ply == 0
        await one.die()
        await asyncio.sleep(0.3)
        again, move = alice, min(match.game.moves(match.position))
        for server in (other, other, third)[:streams]:
            if again is not alice:
                again.leave()
            again = await server.connect("alice")
            await again.turn()
            again.play(match.id, 0, move, "the move")
            await asyncio.sleep(0.1)
        await asyncio.sleep(3 - 0.3 - 0.1 * streams)
        await again.receive()
        assert isinstance(again.answer("the move"), Receipt), "within three seconds of the death"
        moved = next(event for event in await events(other, match.id) if isinstance(event, Moved))
        assert moved.ledger.charged == 0

    @virtually
    async def test_a_move_waits_also_if_the_server_learns_of_its_turn_only_then(self) -> None:
        one, other, third = await servers(3)
        alice, bob = await one.connect("alice"), await third.connect("bob")
        match = await one.create("pondlife", ("bob", "alice"), time="4s", policy=AT_ONCE)
        await asyncio.sleep(1)
        other.tasks[1].cancel()  # it reads nothing for a while
        bob.reply(await bob.turn())
        await asyncio.sleep(3)
        turn = (await alice.turn()).match
        await one.die()
        await asyncio.sleep(0.3)
        again = await other.connect("alice")
        again.play(match.id, 1, min(turn.game.moves(turn.position)), "the move")
        other.tasks[1] = asyncio.create_task(other.arbiter.follower.run())
        await asyncio.sleep(3)
        await again.receive()
        assert isinstance(again.answer("the move"), Receipt)
        moved = [event for event in await events(other, match.id) if isinstance(event, Moved)]
        assert [each.ledger.charged for each in moved[1:]] == [0]

    @virtually
    async def test_a_single_call_to_a_third_server_waits_as_well(self) -> None:
        one, other, third = await servers(3)
        alice = await one.connect("alice")
        await other.connect("bob")
        match = await one.create("pondlife", time="4s", policy=AT_ONCE)
        await asyncio.sleep(3)
        assert (await alice.turn()).match.ply == 0
        await one.die()
        await asyncio.sleep(0.1)
        await other.connect("alice")
        await asyncio.sleep(2 * BEAT_S)
        now, move = third.clock.now_ms(), min(match.game.moves(match.position))
        answer = third.arbiter.matches.request("alice", match.id, lambda seat: Play(seat, "r", 0, move, now))
        await asyncio.sleep(NOTICED_S)
        assert isinstance(answer.result(), Receipt)
        moved = next(event for event in await events(other, match.id) if isinstance(event, Moved))
        assert moved.ledger.charged == 0

    @virtually
    async def test_a_player_who_changes_servers_in_a_turn_is_charged_for_all_of_it(self) -> None:
        """The first server lives: this is known within a second, and then the move is taken as of its arrival."""
        one, other = await servers(2)
        await one.connect("alice")
        await other.connect("bob")
        match = await one.create("pondlife", time="10s", policy=AT_ONCE)
        await asyncio.sleep(3)
        again = await other.connect("alice")
        request = again.reply(await again.turn())
        await asyncio.sleep(1.2)
        await again.receive()
        assert isinstance(again.answer(request), Receipt)
        moved = next(event for event in await events(other, match.id) if isinstance(event, Moved))
        assert moved.ledger.charged == 3_000

    @virtually
    async def test_a_single_call_in_time_on_one_server_comes_before_a_flag_on_another(self) -> None:
        one, other = await servers(2)
        match = await one.create("pondlife", time="2s", policy=AT_ONCE)
        await asyncio.sleep(0.1)
        due = deadline(match)
        assert due is not None
        await asyncio.sleep((due - one.clock.now_ms() - 1) / 1_000)
        other.journal.hold = True
        now, move = other.clock.now_ms(), min(match.game.moves(match.position))
        answer = other.arbiter.matches.request("alice", match.id, lambda seat: Play(seat, "r", 0, move, now))
        await asyncio.sleep(0.2)
        other.journal.release()
        assert isinstance(await answer, Receipt)
        await asyncio.sleep(10)
        assert (await kinds(one, match.id))[-1] == "ended", "the flag of who comes to nobody falls"

    @virtually
    async def test_the_flag_of_a_player_who_changes_servers_and_leaves_falls(self) -> None:
        one, other = await servers(2)
        await one.connect("alice")
        match = await one.create("pondlife", time="2s", policy=AT_ONCE)
        await asyncio.sleep(1.2)
        (await other.connect("alice")).leave()
        await asyncio.sleep(3)
        assert (await other.arbiter.matches.match(match.id)).phase is Phase.ENDED, "its flag falls"

    @virtually
    async def test_no_flag_falls_before_the_server_of_the_mover_is_known_to_be_dead(self) -> None:
        one, other = await servers(2)
        await one.connect("alice")
        await other.connect("bob")
        match = await one.create("pondlife", time="2s", policy=AT_ONCE)
        await asyncio.sleep(1.5)
        await one.die()
        await asyncio.sleep(10)
        now = await other.arbiter.matches.match(match.id)
        assert (now.phase, now.clocks[0].remaining_ms) == (Phase.PAUSED, 2_000)

    @virtually
    async def test_matches_of_players_on_other_servers_go_on_unchanged(self) -> None:
        one, other, third = await servers(3)
        gone = await one.connect("carol")
        match = await one.create("pondlife", policy=AT_ONCE)
        tasks = [
            asyncio.create_task(bot(await server.connect(name))) for server, name in ((other, "alice"), (third, "bob"))
        ]
        await asyncio.sleep(1)
        await one.die()
        await asyncio.sleep(10)
        received = await kinds(other, match.id)
        assert received.count("moved") > 20
        assert "interrupted" not in received
        assert gone.session.ended is None  # no server could record it
        for task in tasks:
            task.cancel()

    @virtually
    async def test_its_players_who_wait_for_their_opponent_are_absent(self) -> None:
        one, other = await servers(2)
        await one.connect("bob")
        await other.connect("alice")
        match = await one.create("pondlife", policy=AT_ONCE)
        await asyncio.sleep(1)
        await one.die()
        await asyncio.sleep(NOTICED_S)
        now = await other.arbiter.matches.match(match.id)
        assert (now.phase, now.present) == (Phase.ACTIVE, (True, False))

    @virtually
    async def test_a_server_that_dies_while_it_handles_a_dead_one_is_followed_by_the_next(self) -> None:
        one, other, third = await servers(3)
        await one.connect("alice")
        match = await one.create("pondlife", time="3s", policy=AT_ONCE)
        await third.connect("bob")
        await asyncio.sleep(1)
        await one.die()
        other.journal.hold = True  # it notices the dead server, and then dies
        third.tasks[0].cancel()  # for a while this server is too slow to notice anything
        await asyncio.sleep(1.8)
        replica = third.arbiter.replica
        assert replica is not None
        await replica.beat()
        await asyncio.sleep(0.6)
        await replica.beat()
        await other.die()
        third.tasks[0] = asyncio.create_task(replica.run())
        await asyncio.sleep(2 * NOTICED_S)
        assert (await kinds(third, match.id)).count("interrupted") == 1

    @virtually
    async def test_its_turns_are_interrupted_later_if_the_store_fails_meanwhile(self) -> None:
        one, other = await servers(2)
        await one.connect("alice")
        match = await one.create("pondlife", time="5s", policy=AT_ONCE)
        await asyncio.sleep(1)
        await one.die()
        other.journal.refuse = True
        await asyncio.sleep(NOTICED_S)
        assert other.arbiter.replica is not None
        assert other.arbiter.replica.failovers == 0, "as long as this is not done, its players are in doubt"
        other.journal.refuse = False
        await asyncio.sleep(NOTICED_S)
        assert "interrupted" in await kinds(other, match.id)
        assert other.arbiter.replica.failovers == 1

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

    @virtually
    async def test_a_new_server_takes_over_a_store_with_matches_of_a_dead_one(self) -> None:
        [one] = await servers(1)
        await one.connect("alice")
        match = await one.create("pondlife", time="2s", policy=AT_ONCE)
        await asyncio.sleep(1)
        await one.die()
        other = one.beside()
        assert await other.share() == 1
        await asyncio.sleep(10)
        assert (await kinds(other, match.id))[-1] == "interrupted"
        assert other.arbiter.replica is not None
        assert other.arbiter.replica.failovers == 1  # as the metrics show it

    @pytest.mark.parametrize("call", ["beat", "give_back"])
    @virtually
    async def test_a_server_sends_its_players_away_in_time_whichever_call_to_the_store_hangs(
        self, call: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, _ = await servers(2)
        alice = await one.connect("alice")
        await one.connect("bob")
        await asyncio.sleep(1)

        async def hang(*_: object) -> None:
            await asyncio.sleep(600)

        del one.arbiter.sessions._connections.by_player["bob"]  # the next heartbeat removes the row
        monkeypatch.setattr(MemoryReplicas, call, hang)
        monkeypatch.setattr(one.journal, "before_reading", hang)
        await asyncio.sleep(SILENCE_MS / 1_000 + 3 * BEAT_S)
        assert alice.session.ended is not None
        with pytest.raises(StoreFailed):
            await one.connect("carol")

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
    async def test_no_flag_falls_for_the_time_in_which_no_server_was_there(self) -> None:
        one = InMemoryArbiter(Store(MemoryJournal(), MemoryDirectory(), replicas=RemoteReplicas()))
        await one.share()
        alice = await one.connect("alice")
        match = await one.create("pondlife", time="4s", policy=AT_ONCE)
        assert (await alice.turn()).match.ply == 0
        await one.die()
        await asyncio.sleep(60)
        new = one.beside()
        await new.share()
        again = await new.connect("alice")
        request = again.reply(await again.turn())
        await again.receive()
        assert isinstance(again.answer(request), Receipt)
        assert (await kinds(new, match.id)).count("interrupted") == 1

    @virtually
    async def test_a_server_goes_on_with_its_heartbeats_while_it_handles_a_dead_one(self) -> None:
        """However long this takes, it is not declared dead itself."""
        one, other, third = await servers(3)
        await one.connect("alice")
        match = await other.create("pondlife", time="4s", policy=AT_ONCE)
        await asyncio.sleep(1)
        await one.die()
        other.journal.hold = third.journal.hold = True
        await asyncio.sleep(NOTICED_S + 3)
        with capture_logs() as logs:
            other.journal.release()
            third.journal.release()
            await asyncio.sleep(1)
        assert "taken_for_gone" not in [entry["event"] for entry in logs]
        assert len([entry for entry in logs if entry["event"] == "replica_gone"]) == 1
        assert (await kinds(other, match.id))[-1] == "interrupted"

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
            replica = one.arbiter.replica
            assert replica is not None
            one.tasks[0] = asyncio.create_task(replica.run())
            await asyncio.sleep(1)
        assert {entry["event"] for entry in logs if entry["log_level"] == "warning"} == {
            "replica_gone",
            "taken_for_gone",
        }
        assert alice.session.ended is not None
        assert alice.session.ended.reason is Reason.STORE_UNAVAILABLE
        alice.leave()
        again = await one.connect("alice")
        await asyncio.sleep(1)
        request = again.reply(await again.turn())
        await again.receive()
        assert isinstance(again.answer(request), Receipt)
        assert again.session.ended is None

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

    @virtually
    async def test_the_other_servers_do_what_falls_due_after_its_death(self) -> None:
        """Nobody comes to a match, both players leave one, and a tournament is to start at an instant."""
        one, other = await servers(2)
        pending = await one.create("pondlife", ("carol", "dave"), policy=Policy(no_show_ms=30_000))
        left = await one.create("pondlife", policy=AT_ONCE)
        readers = [await one.connect(name) for name in ("alice", "bob")]
        start = one.clock.now_ms() + 60_000
        cup = await one.arbiter.tournaments.create(
            spec_of(Format.ROUND_ROBIN, schedule=Schedule(start_ms=start)), "org", "cup"
        )
        for reader in readers:
            name = reader.session.player
            await one.arbiter.tournaments.act(cup.id, do.Enter(name, "org", f"enter {name}"))
        await asyncio.sleep(1)
        await one.die()
        await asyncio.sleep(240)
        for match, reason in ((pending, "no_show"), (left, "abandonment")):
            [*_, end] = await events(other, match.id)
            assert isinstance(end, Ended)
            assert end.reason == reason
        started = (await other.arbiter.tournaments.get(cup.id)).started_at
        assert started is not None
        assert 0 <= started - start < 2_000


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
        await one.arbiter.matches.interrupt_for_stall()
        await asyncio.sleep(1)
        assert "interrupted" in await kinds(other, here.id)
        assert "interrupted" not in await kinds(other, there.id)


@pytest.mark.parametrize("seed", range(3))
@virtually
async def test_servers_die_one_after_the_other_and_no_clock_runs_out(seed: int) -> None:
    """Bots reconnect elsewhere after a moment; each match goes on, and no acknowledged move is lost."""
    dice = Random(seed)
    alive = await servers(3)
    match = await alive[0].create("circle-of-life", time="10s+1s", policy=AT_ONCE)
    readers = {name: await dice.choice(alive).connect(name) for name in ("alice", "bob")}
    tasks = {name: asyncio.create_task(bot(reader)) for name, reader in readers.items()}
    for _ in range(4):
        await asyncio.sleep(dice.uniform(1, 6))
        dead = alive.pop(dice.randrange(len(alive)))
        await dead.die()
        new = alive[0].beside()
        await new.share()
        alive.append(new)
        await asyncio.sleep(dice.uniform(0.01, 4))
        for name, reader in readers.items():
            if reader.server is dead or reader.session.ended is not None:
                tasks[name].cancel()
                readers[name] = await dice.choice(alive).connect(name)
                tasks[name] = asyncio.create_task(bot(readers[name]))
    await asyncio.sleep(5)
    for task in tasks.values():
        task.cancel()
    received = await events(alive[0], match.id)
    ended = [event for event in received if event.kind.value == "ended"]
    assert [event.cause.value for event in ended] in ([], ["rules"])
    answers = [item for reader in readers.values() for item in reader.received if isinstance(item, AnswerItem)]
    acknowledged = {item.request_id for item in answers if isinstance(item.answer, Receipt)}
    assert acknowledged <= {event.request for event in received if isinstance(event, Moved)}
    assert len([event for event in received if isinstance(event, Moved)]) > 10


def items(reader: StreamReader, kind: type[Any]) -> list[Any]:
    return [item for item in reader.received if isinstance(item, kind)]


class TestNotices:
    @virtually
    async def test_a_revoked_token_is_refused_everywhere_within_a_second(self) -> None:
        one, other = await servers(2)
        operator = Caller("", "", frozenset({Scope.ADMIN.value}))
        token, secret = await one.arbiter.accounts.create_token(operator, "alice", (Scope.PLAY,), "")
        caller = await other.arbiter.accounts.authenticate(secret)
        session = await other.arbiter.sessions.open(caller, Hello())
        await one.arbiter.accounts.revoke(operator, token.token_id)
        await asyncio.sleep(1)
        assert session.ended is not None
        assert session.ended.reason is Reason.TOKEN_INVALID
        with pytest.raises(Refusal) as refused:
            await other.arbiter.accounts.authenticate(secret)
        assert refused.value.reason is Reason.TOKEN_INVALID
        with pytest.raises(Refusal):
            other.arbiter.accounts.check(caller)

    @virtually
    async def test_a_suspended_player_is_refused_everywhere(self) -> None:
        one, other = await servers(2)
        alice, bob = await other.connect("alice"), await other.connect("bob")
        await one.arbiter.accounts.suspend("alice", True)
        await asyncio.sleep(1)
        assert alice.session.ended is not None
        assert alice.session.ended.reason is Reason.PLAYER_SUSPENDED
        assert bob.session.ended is None

    @virtually
    async def test_challenges_are_sent_and_answered_across_servers(self) -> None:
        one, other = await servers(2)
        alice, bob = await one.connect("alice"), await other.connect("bob")
        made = await one.arbiter.challenges.challenge(alice.session.caller, "r", "bob", TERMS)
        declined = await one.arbiter.challenges.challenge(alice.session.caller, "s", "bob", TERMS)
        await asyncio.sleep(1)
        await bob.receive()
        assert [item.challenge.challenge_id for item in items(bob, ChallengeItem)] == [
            made.challenge_id,
            declined.challenge_id,
        ]
        match = await other.arbiter.challenges.accept(bob.session.caller, made.challenge_id)
        await other.arbiter.challenges.decline(bob.session.caller, declined.challenge_id, "no time")
        await asyncio.sleep(1)
        await alice.receive()
        closed = [item.challenge for item in items(alice, ChallengeClosedItem)]
        assert [(each.challenge_id, each.state, each.match_id, each.reason) for each in closed] == [
            (made.challenge_id, "accepted", match.id, ""),
            (declined.challenge_id, "declined", "", "no time"),
        ]
        assert [item.match.id for item in items(alice, StateItem)][-1] == match.id

    @virtually
    async def test_a_seek_is_sent_once_to_all_who_asked_for_seeks(self) -> None:
        one, other = await servers(2)
        alice = await one.connect("alice")
        bob, carol = await other.connect("bob", seeks=True), await one.connect("carol")
        seek = await one.arbiter.challenges.seek(alice.session.caller, "r", TERMS)
        dave = await other.connect("dave", seeks=True)  # dave receives it with the open ones
        await asyncio.sleep(1)
        for reader, received in ((bob, [seek.challenge_id]), (carol, []), (dave, [seek.challenge_id])):
            await reader.receive()
            assert [item.challenge.challenge_id for item in items(reader, SeekItem)] == received
