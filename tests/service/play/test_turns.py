"""Play streams: what a turn says, and from when its player is charged for it."""

from __future__ import annotations

import asyncio

import pytest

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.matches.clock import Ledger
from arbiter.matches.events import Moved
from arbiter.matches.match import Match
from arbiter.matches.record import read
from arbiter.service.play.session import Extras, TurnItem
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import EVERYTHING, InMemoryArbiter
from tests.service.play.streams import AT_ONCE, of, resign


async def ledger(server: InMemoryArbiter, match: Match, ply: int) -> Ledger:
    events = [read(record.body) for record in await server.journal.read(match.id)]
    return next(event.ledger for event in events if isinstance(event, Moved) and event.ply == ply)


class TestTurns:
    @virtually
    async def test_a_turn_has_the_moves_since_the_last_turn(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.connect("bob")
        await server.create()
        for _ in range(3):
            alice.reply(await alice.turn())
            bob.reply(await bob.turn())
        await alice.receive()
        turns = of(TurnItem, alice.received)
        assert [(turn.first_ply, turn.match.ply) for turn in turns] == [(0, 0), (0, 2), (2, 4), (4, 6)]
        assert all(turn.listing is None for turn in turns)

    @virtually
    async def test_a_turn_with_all_options(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice", extras=EVERYTHING)
        await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        assert turn.listing is not None
        legal = sorted(turn.match.game.moves(turn.match.position))
        assert turn.listing.total == len(legal) <= 100
        assert [move.text for move in turn.listing.moves] == legal
        assert all(move.steps for move in turn.listing.moves)

    @virtually
    async def test_the_moves_of_a_match_from_a_position_of_its_own_are_legal_there(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice", extras=EVERYTHING)
        await server.create("chess", policy=AT_ONCE, position="7k/5Q2/6K1/8/8/8/8/8 w - - 0 1")
        turn = await alice.turn()
        assert turn.listing is not None
        legal = sorted(turn.match.game.moves(turn.match.position))
        assert [move.text for move in turn.listing.moves] == legal
        assert "f7g7" in legal

    @virtually
    async def test_a_list_longer_than_wanted_is_left_out(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice", extras=Extras(legal_moves_up_to=1))
        await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        assert turn.listing is not None
        assert turn.listing.total > 1
        assert turn.listing.moves == ()

    @virtually
    async def test_a_list_longer_than_the_server_sends_is_left_out(self) -> None:
        server = InMemoryArbiter(limits=Limits(turn_moves=1))
        alice = await server.connect("alice", extras=EVERYTHING)
        await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        assert turn.listing is not None
        assert turn.listing.moves == ()

    @virtually
    async def test_the_number_of_legal_moves_alone(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice", extras=Extras(legal_move_count=True))
        await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        assert turn.listing is not None
        assert turn.listing.total == len(list(turn.match.game.moves(turn.match.position)))
        assert turn.listing.moves == ()

    @virtually
    async def test_a_list_that_takes_too_long_does_not_delay_the_turn(self) -> None:
        server = InMemoryArbiter()
        server.rules.gate = asyncio.Event()
        alice = await server.connect("alice", extras=EVERYTHING)
        match = await server.create(policy=AT_ONCE)
        assert of(TurnItem, await alice.receive()) == []
        await asyncio.sleep(0.1)
        turn = await alice.turn()
        assert turn.listing is None
        asked = alice.reply(turn)
        await alice.receive()
        assert alice.receipt(asked).ply == 1
        reckoned = await ledger(server, match, 0)
        assert (reckoned.credited, reckoned.charged) == (100, 0)  # the server's delay

    @virtually
    @pytest.mark.parametrize(
        "error",
        [RuntimeError("a rules worker failed"), Refusal(Reason.BUDGET_SPENT, "spent", limit=1, retry_after_ms=0)],
    )
    async def test_a_list_that_fails_does_not_stop_the_turn(
        self, error: Exception, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fail(*_: object) -> None:
            raise error

        server = InMemoryArbiter()
        monkeypatch.setattr(server.rules, "legal_moves", fail)
        alice = await server.connect("alice", extras=EVERYTHING)
        await server.create(policy=AT_ONCE)
        assert (await alice.turn()).listing is None

    @virtually
    async def test_a_turn_that_ends_before_its_list_is_ready_is_dropped(self) -> None:
        server = InMemoryArbiter()
        server.rules.gate = asyncio.Event()
        alice = await server.connect("alice", extras=EVERYTHING)
        match = await server.create(policy=AT_ONCE)
        await alice.receive()
        await resign(server, match, "alice")
        server.rules.gate.set()
        assert of(TurnItem, await alice.receive()) == []

    @virtually
    async def test_the_moves_of_a_dropped_turn_come_with_the_next(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice", extras=EVERYTHING), await server.connect("bob")
        match = await server.create()
        alice.reply(await alice.turn())
        server.rules.gate = asyncio.Event()
        bob.reply(await bob.turn())
        await alice.receive()
        stands = await server.arbiter.matches.match(match.id)
        alice.play(match.id, 2, min(match.game.moves(stands.position)))  # the position was known nevertheless
        await alice.receive()
        server.rules.gate.set()
        bob.reply(await bob.turn())
        turn = await alice.turn()
        assert (turn.first_ply, turn.match.ply) == (0, 4)


class TestHandOver:
    @virtually
    async def test_the_delay_up_to_the_hand_over_is_credited(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        await asyncio.sleep(0.06)
        turn = await alice.turn()
        await asyncio.sleep(0.5)
        alice.reply(turn)
        await alice.receive()
        reckoned = await ledger(server, match, 0)
        assert reckoned.handed_over == reckoned.started + 60
        assert (reckoned.credited, reckoned.charged, reckoned.round_trip) == (60, 500, None)

    @virtually
    async def test_the_delay_counts_once(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        await asyncio.sleep(0.09)
        server.arbiter.delivery.turn_sent(alice.session, turn, server.clock.now_ms())  # the same turn again
        alice.reply(turn)
        await alice.receive()
        reckoned = await ledger(server, match, 0)
        assert (reckoned.handed_over, reckoned.credited, reckoned.charged) == (reckoned.started, 0, 90)

    @virtually
    async def test_reconnecting_gains_nothing(self) -> None:
        server = InMemoryArbiter()
        await server.connect("alice")  # and does not read
        match = await server.create(policy=AT_ONCE)
        await asyncio.sleep(0.08)
        alice = await server.connect("alice")
        await asyncio.sleep(0.01)
        turn = await alice.turn()
        assert turn.match.since == match.since
        alice.reply(turn)
        await alice.receive()
        reckoned = await ledger(server, match, 0)
        assert (reckoned.credited, reckoned.charged) == (0, 90)

    @virtually
    async def test_reconnecting_after_the_hand_over_gains_nothing(self) -> None:
        server = InMemoryArbiter()
        old = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        await asyncio.sleep(0.02)
        await old.turn()
        await asyncio.sleep(0.05)
        alice = await server.connect("alice")
        alice.reply(await alice.turn())
        await alice.receive()
        reckoned = await ledger(server, match, 0)
        assert reckoned.handed_over == reckoned.started + 20
        assert (reckoned.credited, reckoned.charged) == (20, 50)

    @virtually
    async def test_turns_that_begin_in_the_same_millisecond_are_not_confused(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.connect("bob")
        match = await server.create(policy=AT_ONCE)
        asked = alice.reply(await alice.turn())  # in no time
        await alice.receive()
        assert alice.receipt(asked).ply == 1
        await asyncio.sleep(0.07)
        bob.reply(await bob.turn())
        await bob.receive()
        first, second = await ledger(server, match, 0), await ledger(server, match, 1)
        assert first.started == second.started
        assert second.handed_over == second.started + 70
        assert (second.credited, second.charged) == (70, 0)

    @virtually
    async def test_without_a_hand_over_there_is_no_credit(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        await asyncio.sleep(0.05)
        alice.play(match.id, 0, min(match.game.moves(match.position)))  # before it received the turn
        await alice.receive()
        reckoned = await ledger(server, match, 0)
        assert (reckoned.handed_over, reckoned.credited, reckoned.charged) == (None, 0, 50)


class TestRoundTrip:
    @virtually
    async def test_the_smallest_of_the_last_eight(self) -> None:
        server = InMemoryArbiter()
        session = (await server.connect("alice")).session
        for number, took in enumerate((5, 90, 80, 70, 60, 50, 40, 30), start=1):
            session.ping_sent(number, 1_000)
            session.pong_arrived(number, 1_000 + took)
        assert session.round_trip_ms == 5
        session.ping_sent(9, 1_000)
        session.pong_arrived(9, 1_100)
        assert session.round_trip_ms == 30

    @virtually
    async def test_an_unrequested_pong_is_ignored(self) -> None:
        server = InMemoryArbiter()
        session = (await server.connect("alice")).session
        session.pong_arrived(1, 1_000)  # the ping has not been sent yet
        session.ping_sent(1, 2_000)
        session.pong_arrived(1, 2_200)
        session.pong_arrived(1, 2_000)  # for the second time
        session.pong_arrived(77, 2_000)
        session.pong_arrived(-1, 2_000)
        assert session.round_trip_ms == 200

    @virtually
    async def test_unanswered_pings_are_forgotten(self) -> None:
        server = InMemoryArbiter()
        session = (await server.connect("alice")).session
        for number in range(1, 20):
            session.ping_sent(number, 1_000)
        session.pong_arrived(1, 1_001)
        session.pong_arrived(19, 1_007)
        assert session.round_trip_ms == 7

    @virtually
    async def test_the_network_is_credited_on_the_stream_that_measured_it(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        alice.session.ping_sent(1, 0)
        alice.session.pong_arrived(1, 120)
        match = await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        await asyncio.sleep(0.4)
        alice.reply(turn)
        await alice.receive()
        reckoned = await ledger(server, match, 0)
        assert (reckoned.round_trip, reckoned.credited, reckoned.charged) == (120, 120, 280)
