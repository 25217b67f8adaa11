"""A server that shares its store dies: what its players are charged, and how they go on elsewhere."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from arbiter.bootstrap.store import Store
from arbiter.matches import Receipt
from arbiter.matches.commands import Play
from arbiter.matches.events import Ended, Moved
from arbiter.matches.match import Phase, deadline
from arbiter.service.play.session import AnswerItem
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.sharing.replica import BEAT_S
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, MemoryReplicas
from tests.service.sharing.servers import AT_ONCE, NOTICED_S, bot, charges, events, kinds, servers


class DeafReplicas(MemoryReplicas):
    """The rows of replicas in a store that does not take when streams were opened, as long as it is `deaf`."""

    def __init__(self) -> None:
        super().__init__()
        self.deaf = True
        self.arrived: list[int] = []

    async def arrive(self, player: str, replica: str, epoch: int, opened_ms: int) -> None:
        """Note when a Play stream was opened, or fail."""
        if self.deaf:
            raise StoreFailed
        self.arrived.append(opened_ms)
        await super().arrive(player, replica, epoch, opened_ms)


async def cannot_open(server: InMemoryArbiter, player: str) -> None:
    """Let a player come to a server that takes its stream, and then can't read what the stream begins with."""
    server.journal.mute = True
    with pytest.raises(StoreFailed):
        await server.connect(player)
    server.journal.mute = False


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
        assert (await charges(other, match.id))[0] <= 200
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
        assert (await charges(other, match.id))[0] == 0

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
        assert (await charges(other, match.id))[1:] == [0]

    @virtually
    async def test_a_move_that_waited_has_no_hand_over_of_the_turn_that_was_interrupted_meanwhile(self) -> None:
        """Its server had handed over the turn, before the player went to the one that died, and came back."""
        one, other = await servers(2)
        alice = await one.connect("alice")
        await one.connect("bob")
        match = await one.create("pondlife", time="4s", policy=AT_ONCE)
        await asyncio.sleep(1)
        await alice.turn()
        await other.connect("alice")
        await asyncio.sleep(2 * BEAT_S)
        await other.die()
        again = await one.connect("alice")
        again.play(match.id, 0, min(match.game.moves(match.position)), "the move")
        await asyncio.sleep(NOTICED_S)
        await again.receive()
        assert isinstance(again.answer("the move"), Receipt)
        moved = next(event for event in await events(one, match.id) if isinstance(event, Moved))
        assert (moved.ledger.charged, moved.ledger.handed_over, moved.ledger.round_trip) == (0, None, None)

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
        assert (await charges(other, match.id))[0] == 0

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
        assert (await charges(other, match.id))[0] == 3_000

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
    async def test_a_player_whose_next_server_fails_to_open_its_stream_has_not_left_the_dead_one(self) -> None:
        """Its turn begins when it has no stream: no server could tell it."""
        one, other, third = await servers(3)
        await one.connect("alice")
        bob = await third.connect("bob")
        match = await one.create("pondlife", ("bob", "alice"), time="4s", policy=AT_ONCE)
        await asyncio.sleep(1)
        await one.die()
        await asyncio.sleep(0.1)
        await cannot_open(other, "alice")
        await asyncio.sleep(2 * BEAT_S)
        bob.reply(await bob.turn())
        await asyncio.sleep(0.3)
        again = await third.connect("alice")
        request = again.reply(await again.turn())
        await asyncio.sleep(NOTICED_S)
        await again.receive()
        assert isinstance(again.answer(request), Receipt)
        assert (await charges(other, match.id))[1:] == [0]

    @virtually
    async def test_a_turn_that_the_next_server_hands_over_is_charged_also_if_that_stream_ends(self) -> None:
        """The player gains nothing by coming and going."""
        one, other, third = await servers(3)
        await one.connect("alice")
        bob = await third.connect("bob")
        match = await one.create("pondlife", ("bob", "alice"), time="4s", policy=AT_ONCE)
        await asyncio.sleep(1)
        await one.die()
        again = await other.connect("alice")
        await asyncio.sleep(0.1)
        bob.reply(await bob.turn())
        await asyncio.sleep(0.1)
        await again.turn()
        await asyncio.sleep(0.4)
        again.leave()
        last = await third.connect("alice")
        request = last.reply(await last.turn())
        await asyncio.sleep(NOTICED_S)
        await last.receive()
        assert isinstance(last.answer(request), Receipt)
        assert (await charges(other, match.id))[1:] == [pytest.approx(400, abs=5)]

    @virtually
    async def test_the_flag_of_a_player_who_has_found_no_other_server_waits_until_the_death_is_known(self) -> None:
        one, other, _ = await servers(3)
        await one.connect("alice")
        match = await one.create("pondlife", time="1s", policy=AT_ONCE)
        await asyncio.sleep(0.2)
        await one.die()
        await cannot_open(other, "alice")
        await asyncio.sleep(NOTICED_S)
        assert (await kinds(other, match.id))[-1] == "interrupted"

    @virtually
    async def test_when_a_stream_was_opened_is_stored_later_if_the_store_fails_then(self) -> None:
        replicas = DeafReplicas()
        one = InMemoryArbiter(Store(MemoryJournal(), MemoryDirectory(), replicas=replicas))
        other = one.beside()
        for server in (one, other):
            await server.share()
        await one.connect("alice")
        await one.die()
        again = await other.connect("alice")
        await asyncio.sleep(2 * BEAT_S)
        assert replicas.arrived == []
        replicas.deaf = False
        await asyncio.sleep(BEAT_S)
        assert replicas.arrived == [again.session.opened_ms]

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
    ended = [event for event in received if isinstance(event, Ended)]
    assert [event.cause.value for event in ended] in ([], ["rules"])
    answers = [item for reader in readers.values() for item in reader.received if isinstance(item, AnswerItem)]
    acknowledged = {item.request_id for item in answers if isinstance(item.answer, Receipt)}
    assert acknowledged <= {event.request for event in received if isinstance(event, Moved)}
    assert len([event for event in received if isinstance(event, Moved)]) > 10
