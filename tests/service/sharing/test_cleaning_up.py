"""What the other servers do after the death of one: interruptions, absences, flags, and what falls due."""

from __future__ import annotations

import asyncio

from structlog.testing import capture_logs

from arbiter.bootstrap.store import Store
from arbiter.matches import Receipt
from arbiter.matches.events import Ended
from arbiter.matches.match import Phase
from arbiter.matches.policy import Policy
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import MemoryDirectory, MemoryJournal
from arbiter.tournaments import commands as do
from arbiter.tournaments.schedule import Schedule
from arbiter.tournaments.spec import Format
from tests.service.sharing.servers import AT_ONCE, NOTICED_S, RemoteReplicas, events, kinds, servers
from tests.service.tournaments.contest import spec_of


class TestCleaningUp:
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
    async def test_every_turn_is_interrupted_that_begins_while_earlier_ones_are(self) -> None:
        """However often this happens: each commit takes as long as a new match needs to begin."""
        one, other, third = await servers(3)
        await one.connect("alice")
        matches = [await third.create("pondlife", policy=AT_ONCE)]
        await asyncio.sleep(1)
        third.tasks[0].cancel()  # it cleans up after nobody
        await one.die()
        other.journal.hold = True
        for _ in range(8):
            async with asyncio.timeout(60):
                while not other.journal.held:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            matches.append(await third.create("pondlife", policy=AT_ONCE))
            await asyncio.sleep(0.1)
            other.journal.release()
            other.journal.hold = True
        other.journal.release()
        await asyncio.sleep(1)
        assert [(await kinds(other, match.id))[-1] for match in matches] == ["interrupted"] * 9

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
