"""Fair clocks over real gRPC, with a network that delays, and bots that pretend that it does.

Values that are compared with a limit are exact (computed from the ledger of a move), or lower bounds, or the lower
decile of many moves, because a busy machine only adds time. `tests/service/play/test_clocks.py` shows the same to the
millisecond, in virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from statistics import quantiles

import pytest
from arbiter_protos.v1 import match_pb2

from arbiter.bootstrap.world import World
from arbiter.config import Credit, Settings
from arbiter.matches.clock import CreditRules, credit
from arbiter.runtime.system_clock import SystemClock
from arbiter.service.players.accounts import Scope
from arbiter.service.ports.journal import Append
from arbiter.testing.memory import MemoryJournal
from arbiter.testing.served import memory_world
from tests.rpc.networked_server import Ledger, idle, move_of, networked_server

pytestmark = pytest.mark.long


def as_the_rules_say(ledgers: list[Ledger], rules: CreditRules) -> list[int]:
    """Assert that a player's moves of one match were credited and charged by the rules; return its bank before each."""
    bank, banks = rules.bank_ms, []
    for ledger in ledgers:
        banks.append(bank)
        handed_over, round_trip = ledger.handed_over_ms or None, ledger.round_trip_ms
        credited, bank = credit(rules, bank, ledger.started_ms, handed_over, ledger.arrived_ms, round_trip)
        assert ledger.credited_ms == credited
        assert ledger.charged_ms == ledger.arrived_ms - ledger.started_ms - credited
    return banks


async def test_a_bot_that_answers_at_once_is_not_charged_for_being_far_away() -> None:
    """Its opponent is the measure: nothing is between it and the server, and it plays at the same time."""
    async with networked_server() as here:
        pairs = {}
        for round_trip_ms in (50, 200):
            network = await here.network(round_trip_ms)
            far = await here.connect(f"far-{round_trip_ms}", network.address, pings=8)
            pairs[round_trip_ms] = far, await here.connect(f"near-{round_trip_ms}")
        for round_trip_ms in pairs:
            for _ in range(3):
                await here.match(f"far-{round_trip_ms}", f"near-{round_trip_ms}")
        for far, _ in pairs.values():
            await far.until(lambda far=far: len(far.ledgers) >= 30)  # type: ignore[misc]
    for round_trip_ms, (far, near) in pairs.items():
        assert all(ledger.arrived_ms - ledger.started_ms >= round_trip_ms for ledger in far.ledgers)
        assert all(ledger.round_trip_ms >= round_trip_ms for ledger in far.ledgers)
        assert all(ledger.credited_ms >= round_trip_ms for ledger in far.ledgers)
        far_ms, near_ms = (quantiles(bot.charged, n=10)[0] for bot in (far, near))
        assert far_ms - near_ms < round_trip_ms / 2


async def test_an_empty_bank_has_the_network_charged_and_fills_again_later() -> None:
    rules = CreditRules(bank_ms=500, refill_ms=50)
    async with networked_server(credit=Credit(bank_ms=500, refill_ms=50)) as here:
        network = await here.network(round_trip_ms=200)
        far = await here.connect("far", network.address)
        await here.connect("near")
        await here.match("far", "near")
        await far.until(lambda: len(far.ledgers) >= 8)
        network.delay(0)
        far.think_ms = 20
        await far.until(lambda: len(far.ledgers) >= 30)
    banks = as_the_rules_say(far.ledgers, rules)
    assert far.ledgers[0].credited_ms >= 200
    assert all(bank == 50 for bank in banks[3:8])  # empty: each move gets the refill of the one before
    assert all(ledger.charged_ms >= 100 for ledger in far.ledgers[3:8])
    assert max(banks[8:]) >= 400  # with a near network the bank fills


class TestDelayedPongs:
    async def test_all_of_them(self) -> None:
        rules = CreditRules(network_most_ms=200, bank_ms=400, refill_ms=20)
        async with networked_server(credit=Credit(network_most_ms=200, bank_ms=400, refill_ms=20)) as here:
            sly = await here.connect("sly", pong_ms=lambda number: 250, think_ms=100)
            await here.connect("near")
            await here.match("sly", "near")
            await sly.until(lambda: len(sly.ledgers) >= 12)
        as_the_rules_say(sly.ledgers, rules)
        assert sly.ledgers[0].round_trip_ms >= 250
        own = [min(ledger.handed_over_ms - ledger.started_ms, 100) for ledger in sly.ledgers]
        gained = sum(ledger.credited_ms for ledger in sly.ledgers) - sum(own)
        assert gained <= rules.bank_ms + rules.refill_ms * (len(sly.ledgers) - 1)
        assert all(ledger.charged_ms >= 100 - rules.refill_ms - 1 for ledger in sly.ledgers[8:])

    async def test_all_of_them_and_moving_at_once(self) -> None:
        async with networked_server() as here:
            sly = await here.connect("sly", pong_ms=lambda number: 250)
            await here.connect("near")
            await here.match("sly", "near")
            await sly.until(lambda: len(sly.ledgers) >= 10)
        for ledger in sly.ledgers:
            assert ledger.charged_ms >= 0
            assert ledger.credited_ms <= ledger.arrived_ms - ledger.started_ms

    async def test_some_of_them(self) -> None:
        async with networked_server() as here:
            sly = await here.connect("sly", pings=8, pong_ms=lambda number: 2_000 if number % 4 else 0, think_ms=20)
            await here.connect("near")
            await here.match("sly", "near")
            await sly.until(lambda: len(sly.ledgers) >= 10)
        assert all(ledger.round_trip_ms < 1_000 for ledger in sly.ledgers)


class TestReconnecting:
    @pytest.mark.parametrize("cut", [False, True])
    async def test_in_the_middle_of_a_turn(self, cut: bool) -> None:
        async with networked_server() as here:
            network = await here.network()
            sly = await here.connect("sly", network.address, choose=idle)
            await here.connect("near")
            await here.match("sly", "near")
            turn = await sly.turn()
            for _ in range(3):
                if cut:
                    network.cut()
                sly = await here.connect("sly", network.address, pings=1, choose=idle, pong_ms=lambda number: 200)
                again = await sly.turn()
                assert (again.ply, again.started_ms) == (turn.ply, turn.started_ms)
            await sly.say(move_of(turn))
            await sly.until(lambda: len(sly.ledgers) == 1)
        (ledger,) = sly.ledgers
        assert ledger.started_ms == turn.started_ms
        assert ledger.round_trip_ms == 0  # not on the stream that received the turn
        assert ledger.credited_ms == min(ledger.handed_over_ms - ledger.started_ms, 100)
        assert ledger.charged_ms >= 600 - ledger.credited_ms

    async def test_once_in_every_turn(self) -> None:
        async with networked_server() as here:
            await here.connect("near")
            await here.server.token("sly")
            await here.match("sly", "near")
            ledgers = []
            for _ in range(3):
                sly = await here.connect("sly", pings=1, choose=idle, pong_ms=lambda number: 150)
                turn = await sly.turn()
                sly.pong_ms = lambda number: 0
                await sly.say(move_of(turn))
                await sly.until(lambda sly=sly: len(sly.ledgers) == 1)  # type: ignore[misc]
                ledgers += sly.ledgers
                await sly.turn()  # on this stream: the next one answers a turn that it did not receive first
        assert [ledger.round_trip_ms for ledger in ledgers] == [0, 0, 0]
        assert ledgers[0].credited_ms == 0
        assert all(ledger.credited_ms <= 100 for ledger in ledgers)


class BusyClock(SystemClock):
    """A clock on which the server's work takes as long as the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.worked_ms = 0

    def now_ms(self) -> int:
        """Return the instant."""
        return super().now_ms() + self.worked_ms


class BusyJournal(MemoryJournal):
    """A journal before which every decision takes the server 40 ms of work."""

    def __init__(self, clock: BusyClock) -> None:
        super().__init__()
        self._clock = clock

    def append(self, append: Append) -> asyncio.Future[int]:
        """Store records."""
        self._clock.worked_ms += 40
        return super().append(append)


@asynccontextmanager
async def busy_world(settings: Settings) -> AsyncIterator[World]:
    """Open a world in memory in which every decision takes long."""
    clock = BusyClock()
    async with memory_world(settings) as world:
        store = world.store._replace(journal=BusyJournal(clock))
        yield world._replace(store=store, clock=clock)


async def test_moves_that_arrive_together_do_not_wait_for_each_other_on_their_clocks() -> None:
    async with networked_server(busy_world) as here:
        alice = await here.connect("alice", choose=idle)
        await here.server.token("bob")
        for _ in range(10):
            await here.match("alice", "bob")
        turns = [await alice.turn() for _ in range(10)]
        await alice.say(*(move_of(turn) for turn in turns))
        await alice.until(lambda: len(alice.ledgers) == 10)
    assert len({ledger.arrived_ms for ledger in alice.ledgers}) == 1


async def test_players_and_observers_receive_the_ledger_of_every_move() -> None:
    async with networked_server() as here:
        alice, bob = await here.connect("alice"), await here.connect("bob")
        match_id = await here.match("alice", "bob")
        await bob.until(lambda: len(bob.ledgers) >= 5)
        receipts = [ledger for pair in zip(alice.ledgers, bob.ledgers, strict=False) for ledger in pair][:10]
        readers = [("alice", Scope.PLAY), ("bob", Scope.PLAY), ("eve", Scope.OBSERVE)]
        seen = [await here.events(match_id, reader, 10, scope) for reader, scope in readers]
    for ledgers in seen:
        assert ledgers[:10] == receipts
    for ledger, following in pairwise(receipts):
        assert 0 < ledger.started_ms <= ledger.handed_over_ms <= ledger.arrived_ms <= following.started_ms
        assert ledger.charged_ms + ledger.credited_ms == ledger.arrived_ms - ledger.started_ms
        assert ledger.left_ms > 0


async def test_a_move_by_another_call_than_the_stream_gets_no_credit() -> None:
    async with networked_server() as here:
        alice = await here.connect("alice", choose=idle)
        await here.server.token("bob")
        await here.match("alice", "bob")
        act = move_of(await alice.turn())
        request = match_pb2.SubmitMoveRequest(
            request_id=act["request_id"], match_id=act["match_id"], ply=act["move"].ply, move=act["move"].move
        )
        answer = await here.matches.SubmitMove(request, metadata=await here.server.token("alice"))
    ledger = answer.receipt.ledger
    assert (ledger.handed_over_ms, ledger.round_trip_ms, ledger.credited_ms) == (0, 0, 0)
    assert ledger.charged_ms == ledger.arrived_ms - ledger.started_ms
