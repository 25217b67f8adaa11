"""Fair clocks: no player is charged for the server or the network, and none gains by pretending that they were slow."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from arbiter.matches.clock import CreditRules, Ledger, credit
from arbiter.matches.match import Match
from arbiter.matches.policy import ClockStart, Policy
from arbiter.service.play.session import WRITE_MS, PingItem, Session, TurnItem
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader, items_of
from tests.service.play.ledgers import AT_ONCE, ledgers, passed


async def last_ledger(server: InMemoryArbiter, match: Match) -> Ledger:
    return (await ledgers(server, match))[-1]


def measured(bot: StreamReader, took_ms: int, pings: int = 8) -> None:
    """Have the server measure a round trip on a bot's stream, this many times."""
    for number in range(1_000, 1_000 + pings):
        bot.session.ping_sent(number, 0)
        bot.session.pong_arrived(number, took_ms)


class RemotePlayer:
    """A player behind a network: its items take `down_ms` and its requests `up_ms`; it answers after `think_ms`."""

    def __init__(self, server: InMemoryArbiter, session: Session, down_ms: int, up_ms: int, think_ms: int = 0) -> None:
        self.down_ms = down_ms
        self.up_ms = up_ms
        self._think_ms = think_ms
        self._server = server
        self._session = session

    async def run(self) -> None:
        """Play until the stream ends."""
        async with asyncio.TaskGroup() as under_way:
            while items := await items_of(self._session):
                for item in items:
                    match item:
                        case PingItem(number=number):
                            self._session.ping_sent(number, self._server.clock.now_ms())
                            under_way.create_task(self._pong(number))
                        case TurnItem():
                            delivery, now = self._server.arbiter.delivery, self._server.clock.now_ms()
                            delivery.turn_sent(self._session, item, now)
                            under_way.create_task(self._move(item))

    async def _pong(self, number: int) -> None:
        await passed((self.down_ms + self.up_ms) / 1000)
        self._session.pong_arrived(number, self._server.clock.now_ms())

    async def _move(self, turn: TurnItem) -> None:
        await passed((self.down_ms + self._think_ms + self.up_ms) / 1000)
        match, arrived = turn.match, self._server.clock.now_ms()
        move = min(match.game.moves(match.position))
        self._server.arbiter.acts.play(self._session, f"r{match.ply}", match.id, match.ply, move, arrived)


class TestDistantPlayers:
    async def played(
        self, ways: Sequence[tuple[int, int]], seconds: float, think_ms: int, rules: CreditRules
    ) -> list[Ledger]:
        """Return the ledgers of a player; for each given number of seconds its network has this delay down and up."""
        server = InMemoryArbiter()
        names = ("alice", "bob")
        alice, bob = [(await server.connect(name)).session for name in names]
        far, near = RemotePlayer(server, alice, *ways[0], think_ms), RemotePlayer(server, bob, 0, 0)
        runs = [asyncio.create_task(bot.run()) for bot in (far, near)]
        await passed(1)
        match = await server.create("pondlife", policy=Policy(start=ClockStart.AT_ONCE, credit=rules))
        for far.down_ms, far.up_ms in ways:
            await passed(seconds)
            server.arbiter.sessions.pings.sweep()
        for run in runs:
            run.cancel()
        await asyncio.gather(*runs, return_exceptions=True)
        return (await ledgers(server, match))[::2]

    @virtually
    @pytest.mark.parametrize("think_ms", [0, 70])
    @pytest.mark.parametrize("way", [(0, 0), (25, 25), (10, 40), (100, 100), (200, 0)])
    async def test_only_the_thinking_time_is_charged(self, way: tuple[int, int], think_ms: int) -> None:
        if not any(way) and not think_ms:
            think_ms = 1  # otherwise the match would end in no time
        found = await self.played([way], 5, think_ms, CreditRules())
        assert len(found) >= 15
        assert {ledger.charged for ledger in found} == {think_ms}
        assert {ledger.credited for ledger in found} == {sum(way)}

    @virtually
    async def test_without_a_bank_there_is_only_the_refill_and_it_fills_up_again(self) -> None:
        rules = CreditRules(bank_ms=500, refill_ms=50)
        found = await self.played([(100, 100), (20, 0)], 2.5, 0, rules)
        bank, banks = rules.bank_ms, []
        for ledger in found:
            banks.append(bank)
            credited, bank = credit(rules, bank, ledger.started, ledger.handed_over, ledger.arrived, ledger.round_trip)
            assert ledger.credited == credited
        assert banks[:5] == [500, 350, 200, 50, 50]
        assert [ledger.charged for ledger in found[:5]] == [0, 0, 0, 150, 150]
        near = [(ledger.charged, bank) for ledger, bank in zip(found, banks, strict=True) if ledger.round_trip == 20]
        assert {charged for charged, _ in near[1:]} == {0}  # the first move was sent before
        assert near[-1] == (0, 500)  # 30 more with each move


class TestReconnecting:
    @virtually
    async def test_a_slow_pong_on_a_new_stream_earns_nothing_in_the_turn_under_way(self) -> None:
        server = InMemoryArbiter()
        old = await server.connect("alice")
        measured(old, 20)
        match = await server.create(policy=AT_ONCE)
        await passed(0.03)
        await old.turn()
        for _ in range(5):
            await passed(0.2)
            bot = await server.connect("alice")
            measured(bot, 300)
            turn = await bot.turn()
            assert turn.match.since == match.since  # the clock was not restarted
        bot.reply(turn)
        await bot.receive()
        assert await last_ledger(server, match) == Ledger(
            started=match.since,
            handed_over=match.since + 30,
            arrived=match.since + 1_030,
            round_trip=None,
            credited=30,
            charged=1_000,
            left=60_000 - 1_000,
        )

    @virtually
    async def test_a_turn_that_began_without_a_stream_gets_no_credit(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        for _ in range(4):
            await passed(0.02)
            bot = await server.connect("alice")
            measured(bot, 300)
            await passed(0.02)
            turn = await bot.turn()
        await passed(0.1)
        bot.reply(turn)
        await bot.receive()
        reckoned = await last_ledger(server, match)
        assert (reckoned.handed_over, reckoned.round_trip) == (None, None)
        assert (reckoned.credited, reckoned.charged) == (0, 260)

    @virtually
    async def test_an_older_stream_that_takes_the_turn_late_changes_nothing(self) -> None:
        server = InMemoryArbiter()
        old = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        await passed(0.04)
        new = await server.connect("alice")
        turn = await new.turn()
        await passed(0.04)
        await old.receive()  # it has the turn too, and takes it only now
        new.reply(turn)
        await new.receive()
        assert (await last_ledger(server, match)).credited == 0

    @virtually
    async def test_from_the_next_turn_on_the_new_stream_counts(self) -> None:
        server = InMemoryArbiter()
        await server.connect("alice")
        bob = await server.connect("bob")
        match = await server.create(policy=AT_ONCE)
        alice = await server.connect("alice")
        alice.reply(await alice.turn())
        bob.reply(await bob.turn())
        measured(alice, 70)
        turn = await alice.turn()
        await passed(0.2)
        alice.reply(turn)
        await alice.receive()
        reckoned = await last_ledger(server, match)
        assert (reckoned.round_trip, reckoned.credited, reckoned.charged) == (70, 70, 130)

    @virtually
    async def test_repeating_a_move_after_a_refusal_does_not_stop_the_clock(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        for wrong in ("?", "nonsense"):
            await passed(0.3)
            alice.play(match.id, 0, wrong)
            await alice.receive()
        alice.reply(turn)
        await alice.receive()
        assert (await last_ledger(server, match)).charged == 600


class TestPongs:
    @virtually
    async def test_before_the_first_pong_there_is_no_credit_for_the_network(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        await passed(0.2)
        alice.reply(turn)
        await alice.receive()
        reckoned = await last_ledger(server, match)
        assert (reckoned.round_trip, reckoned.credited, reckoned.charged) == (None, 0, 200)

    @virtually
    async def test_holding_some_pongs_back_gains_nothing_while_one_of_eight_is_honest(self) -> None:
        server = InMemoryArbiter()
        session = (await server.connect("alice")).session
        for number in range(100, 200):
            session.ping_sent(number, 0)
            session.pong_arrived(number, 30 if number % 8 == 0 else 5_000)
            assert number < 104 or session.round_trip_ms == 30

    @virtually
    async def test_early_repeated_or_invented_pongs_never_lengthen_the_round_trip(self) -> None:
        server = InMemoryArbiter()
        bot = await server.connect("alice")
        session, now = bot.session, server.clock.now_ms()
        ping = next(item for item in await bot.receive() if isinstance(item, PingItem))
        for number in range(-1, 20):
            session.pong_arrived(number, now + 5_000)  # no ping has been sent yet
        assert session.round_trip_ms is None
        session.ping_sent(ping.number, now)
        session.pong_arrived(ping.number, now + 40)
        for number in (ping.number, ping.number + 1, 2**63):
            session.pong_arrived(number, now + 5_000)
        assert session.round_trip_ms == 40

    @virtually
    async def test_delaying_all_pongs_gains_at_most_the_quota(self) -> None:
        server = InMemoryArbiter()
        rules = CreditRules(network_most_ms=300, bank_ms=1_000, refill_ms=100)
        bots = {name: await server.connect(name) for name in ("alice", "bob")}
        measured(bots["alice"], 60_000)
        measured(bots["bob"], 0)
        match = await server.create(policy=Policy(start=ClockStart.AT_ONCE, credit=rules))
        for ply in range(60):
            bot = bots["alice" if ply % 2 == 0 else "bob"]
            turn = await bot.turn()
            await passed(0.4 if ply < 40 else 0)  # at the end both answer at once
            bot.reply(turn)
            await bot.receive()
        alice, bob = (await ledgers(server, match))[::2], (await ledgers(server, match))[1::2]
        assert max(each.credited for each in alice) == rules.network_most_ms
        for moves in range(1, 31):
            gained = sum(each.credited for each in alice[:moves])
            assert gained <= rules.bank_ms + rules.refill_ms * (moves - 1)
        assert [each.credited for each in alice[10:20]] == [rules.refill_ms] * 10
        assert [(each.credited, each.charged) for each in alice[20:]] == [(0, 0)] * 10  # no credit beyond zero
        assert sum(each.credited for each in bob) == 0


class TestSweep:
    @virtually
    async def test_pings_are_spread_and_every_stream_gets_them(self) -> None:
        server = InMemoryArbiter()
        bots = [await server.connect(f"bot-{n}") for n in range(30)]
        for bot in bots:
            await bot.receive()
        for bot in bots[:5]:
            bot.leave()
        live = bots[5:]
        for _ in range(50):
            server.arbiter.sessions.pings.sweep(share=0.02)
            assert sum(bot.session.waiting for bot in live) <= 1
            for bot in live:
                await bot.receive()
        for bot in live:
            assert [item.number for item in bot.received if isinstance(item, PingItem)] == [1, 2]

    @virtually
    async def test_a_single_stream_is_pinged_as_often_as_one_of_many(self) -> None:
        server = InMemoryArbiter()
        server.arbiter.sessions.pings.sweep(share=0.9)  # no streams yet
        bot = await server.connect("alice")
        for _ in range(12):
            server.arbiter.sessions.pings.sweep(share=0.25)
        assert [item.number for item in await bot.receive() if isinstance(item, PingItem)] == [1, 2, 3, 4]


class TestUnreadStreams:
    """The turn waits behind a write that the bot does not read: this is no delay of the server."""

    async def credited(self, before_ms: int, after_ms: int) -> int:
        """Return the credit for a turn queued this long after a write began, which took this much longer."""
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        await alice.receive()
        alice.session.write_began(server.clock.now_ms())
        await passed(before_ms / 1000)
        match = await server.create(policy=AT_ONCE)
        await passed(after_ms / 1000)
        alice.session.write_ended(server.clock.now_ms())
        alice.reply(await alice.turn())
        await alice.receive()
        reckoned = await last_ledger(server, match)
        assert reckoned.arrived == reckoned.started + after_ms
        assert reckoned.charged + reckoned.credited == after_ms
        return reckoned.credited

    @virtually
    async def test_a_write_of_usual_duration_is_the_servers_delay(self) -> None:
        assert await self.credited(0, 7) == 7
        assert await self.credited(6, 4) == 4

    @virtually
    async def test_a_longer_write_is_the_bots_delay(self) -> None:
        assert await self.credited(0, 90) == WRITE_MS
        assert await self.credited(4, 90) == WRITE_MS - 4
        assert await self.credited(500, 90) == 0

    @virtually
    async def test_a_delay_before_the_turn_no_longer_counts(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        alice.session.write_began(server.clock.now_ms())
        await passed(1)
        alice.session.write_ended(server.clock.now_ms())
        match = await server.create(policy=AT_ONCE)
        await passed(0.05)
        alice.reply(await alice.turn())
        await alice.receive()
        assert (await last_ledger(server, match)).credited == 50
