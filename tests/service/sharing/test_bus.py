"""Servers that share a store and a bus: what the bus makes faster, and that a bad bus makes nothing wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random

import pytest
from structlog.testing import capture_logs

from arbiter.bootstrap.store import Store
from arbiter.errors import Reason
from arbiter.matches.commands import Abort
from arbiter.matches.match import with_position
from arbiter.matches.policy import ClockStart, Policy
from arbiter.service.observing.feed import Reached, Stream
from arbiter.service.play.challenges import Terms
from arbiter.service.play.session import ChallengeItem, TurnItem
from arbiter.service.ports.bus import Report, StreamOpened
from arbiter.service.ports.journal import StoredRecord, Subject
from arbiter.service.sharing.following import LOOK_S
from arbiter.service.sharing.news import CHANGE_S, FRESH_MS, MOST_BYTES, RARE_S
from arbiter.service.sharing.replica import HEAR_S
from arbiter.testing.clock import virtually
from arbiter.testing.guarantees import Received, kept
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import MemoryBroker, MemoryDirectory, MemoryJournal, MemoryReplicas
from tests.service.sharing.servers import SILENCE_MS

AT_ONCE = Policy(start=ClockStart.AT_ONCE)
AT_ONCE_S = 0.004  #: much less than any interval of polling
SILENT_S = FRESH_MS / 1_000 + LOOK_S + AT_ONCE_S  #: a bus that falls silent without a sign costs so much once


class Servers(list[InMemoryArbiter]):
    """Servers that share a store and a bus. logs: by server, the sequence numbers that its follower has passed on."""

    def __init__(self, number: int, broker: MemoryBroker) -> None:
        store = Store(MemoryJournal(), MemoryDirectory(), replicas=MemoryReplicas())
        first = InMemoryArbiter(store, broker=broker)
        super().__init__([first, *(first.beside() for _ in range(number - 1))])
        self.broker = broker
        self.logs: list[list[int]] = [[] for _ in self]

    async def share(self) -> None:
        """Start them, and let them hear of each other."""
        for server, log in zip(self, self.logs, strict=True):
            server.arbiter.log_listeners.append(
                lambda found, log=log: log.extend(record.sequence for record in found)  # type: ignore[misc]
            )
            await server.share()
        await asyncio.sleep(1)

    def reads(self) -> list[int]:
        return [server.arbiter.follower.reads for server in self]

    async def reads_a_second(self) -> list[float]:
        before = self.reads()
        await asyncio.sleep(10)
        return [(now - then) / 10 for now, then in zip(self.reads(), before, strict=True)]


async def servers(number: int, broker: MemoryBroker | None = None) -> Servers:
    made = Servers(number, broker or MemoryBroker())
    await made.share()
    return made


@virtually
async def test_a_turn_reaches_a_player_on_another_server_at_once_and_nothing_is_read() -> None:
    made = await servers(2)
    one, other = made
    alice, bob = await one.connect("alice"), await other.connect("bob")
    match = await one.create("pondlife", policy=AT_ONCE)
    await asyncio.sleep(1)
    before, turn = sum(made.reads()), await alice.turn()
    for mover, waiting in [(alice, bob), (bob, alice)] * 3:
        mover.reply(turn)
        await asyncio.sleep(AT_ONCE_S)
        turn, ply = await waiting.turn(), turn.match.ply
        assert turn.match.ply == ply + 1
    assert sum(made.reads()) - before <= 2, "one a second at each server"
    await asyncio.sleep(RARE_S)
    records = await one.journal.read_all(0, 100)
    assert made.logs[0][-len(records) :] == made.logs[1][-len(records) :] == [each.sequence for each in records]
    assert records[-1].match_id == match.id


@virtually
async def test_a_commit_is_one_message() -> None:
    made = await servers(2)
    one, other = made
    assert one.bus is not None
    before = len(one.bus.sent)
    await asyncio.gather(*(one.create("pondlife", request=str(number)) for number in range(5)))
    sent = [message for message in one.bus.sent[before:] if isinstance(message, Report) and message.records]
    assert sum([len(message.records) for message in sent]) >= 5
    assert len(sent) < 5, "what is committed together is reported together"
    await asyncio.sleep(AT_ONCE_S)
    assert len(other.arbiter.matches.live) == 5


@virtually
async def test_records_that_are_too_large_for_a_message_are_read() -> None:
    made = await servers(2)
    one, other = made
    before = made.reads()
    await asyncio.gather(
        *(one.create("pondlife", request=str(number), label="l" * 60) for number in range(MOST_BYTES // 500))
    )
    await asyncio.sleep(2 * AT_ONCE_S)
    assert len(other.arbiter.matches.live) == MOST_BYTES // 500
    assert made.reads()[1] > before[1]


@virtually
async def test_the_log_is_read_rarely_with_a_good_bus_and_often_with_a_bad_one() -> None:
    made = await servers(3)
    assert all(rate == pytest.approx(1 / RARE_S, rel=0.2) for rate in await made.reads_a_second())
    often = pytest.approx(1 / LOOK_S, rel=0.2)
    made.broker.away = True
    assert await made.reads_a_second() == [often] * 3
    made.broker.away = False
    assert made[0].bus is not None
    made[0].bus.cut = True
    assert await made.reads_a_second() == [often] * 3, "it hears nobody, and nobody hears it"
    made[0].bus.cut = False
    made.broker.longest_s = 1
    assert await made.reads_a_second() == [often] * 3, "old reports say nothing about now"
    made.broker.longest_s = 0
    await asyncio.sleep(1)
    assert all(rate == pytest.approx(1 / RARE_S, rel=0.2) for rate in await made.reads_a_second())


@virtually
async def test_a_bus_that_is_away_costs_no_more_than_no_bus() -> None:
    made = await servers(2)
    made.broker.away = True
    await asyncio.sleep(1)
    one, other = made
    match = await one.create("pondlife")
    await asyncio.sleep(LOOK_S + AT_ONCE_S)
    assert other.arbiter.matches.live.find(match.id) is not None


@pytest.mark.parametrize("cut", [0, 1])
@virtually
async def test_a_bus_that_falls_silent_for_one_server_delays_little(cut: int) -> None:
    made = await servers(3)
    bus = made[cut].bus
    assert bus is not None
    bus.cut = True
    match = await made[0].create("pondlife")
    await asyncio.sleep(SILENT_S)
    assert all(server.arbiter.matches.live.find(match.id) is not None for server in made)


@virtually
async def test_a_lost_message_is_made_up_for_by_the_next_report() -> None:
    made = await servers(2)
    one, other = made
    made.broker.lost = 1.0
    match = await one.create("pondlife")
    await asyncio.sleep(AT_ONCE_S)
    made.broker.lost = 0.0
    assert other.arbiter.matches.live.find(match.id) is None
    await asyncio.sleep(2 * LOOK_S)
    assert other.arbiter.matches.live.find(match.id) is not None


@pytest.mark.parametrize("cut", [False, True])
@virtually
async def test_a_revoked_token_and_a_challenge_are_heard_of_at_once(cut: bool) -> None:
    made = await servers(2)
    one, other = made
    caller = await one.caller("alice")
    bob = await other.connect("bob")
    carol = await other.connect("carol")
    assert one.bus is not None
    await asyncio.sleep(1)
    one.bus.cut = cut
    await one.arbiter.challenges.challenge(caller, "request", "bob", Terms("pods", "1m+1s", False, 1))
    await one.arbiter.accounts.revoke(carol.session.caller, carol.session.caller.token_id)
    await asyncio.sleep(AT_ONCE_S)
    heard = any(isinstance(item, ChallengeItem) for item in await bob.receive())
    assert heard is (carol.session.ended is not None) is (not cut)
    await asyncio.sleep(2 * HEAR_S)
    assert heard or any(isinstance(item, ChallengeItem) for item in await bob.receive())
    assert carol.session.ended is not None


@virtually
async def test_a_stream_that_was_replaced_elsewhere_ends_at_once() -> None:
    one, other = await servers(2)
    old = await one.connect("alice")
    await asyncio.sleep(1)
    new = await other.connect("alice")
    await asyncio.sleep(0.05)
    assert old.session.ended is not None
    assert old.session.ended.reason is Reason.SESSION_SUPERSEDED
    assert new.session.ended is None


@virtually
async def test_foreign_and_old_messages_cause_nothing_but_reads() -> None:
    """Of another store, of servers that are gone, or from long ago: nothing of them is believed."""
    made = await servers(2)
    one, other = made
    assert one.bus is not None
    assert other.bus is not None
    alice = await other.connect("alice")
    match = await one.create("pondlife")
    await asyncio.sleep(1)
    past = [message for message in one.bus.sent if isinstance(message, Report)]
    forged = StoredRecord(past[-1].place + 1, "m", 1, b'{"kind":"created"}', Subject.MATCH)
    place = other.arbiter.follower.place
    with capture_logs() as logs:
        for number in range(100):
            now = other.clock.now_ms()
            other.bus.deliver(Report("stranger", now, 10**9 + number, 10**9, (forged,)))
            other.bus.deliver(past[number % len(past)])
            other.bus.deliver(StreamOpened("stranger", "alice"))
            other.bus.deliver(StreamOpened(past[-1].server, "alice"))
            await asyncio.sleep(0.01)
    assert alice.session.ended is None
    assert other.arbiter.follower.place == place
    assert logs == []
    await one.arbiter.matches.answer(match.id, Abort("org", "end"))
    await asyncio.sleep(AT_ONCE_S)
    assert other.arbiter.matches.live.find(match.id) is None


@virtually
async def test_a_report_from_long_ago_does_not_make_the_bus_trusted() -> None:
    made = await servers(2)
    one, other = made
    assert one.bus is not None
    assert other.bus is not None
    news = other.arbiter.replica.news if other.arbiter.replica is not None else None
    assert news is not None
    trusted = [news.is_trusted]
    past = [message for message in one.bus.sent if isinstance(message, Report)][-1]
    one.bus.cut = True
    await asyncio.sleep(1)
    other.bus.deliver(past)
    trusted.append(news.is_trusted)
    other.bus.deliver(past._replace(at_ms=other.clock.now_ms() + 10**9))
    trusted.append(news.is_trusted)
    await asyncio.sleep(1)
    trusted.append(news.is_trusted)
    assert trusted == [True, False, True, False], "a clock that is ahead is not believed for long"


@virtually
async def test_the_log_says_when_the_bus_is_lost_and_when_it_is_back() -> None:
    with capture_logs() as logs:
        made = await servers(2)
        made.broker.away = True
        await asyncio.sleep(CHANGE_S / 2)
        made.broker.away = False
        await asyncio.sleep(2 * CHANGE_S)
        assert logs == [], "for a moment only"
        made.broker.away = True
        await asyncio.sleep(2 * CHANGE_S)
        assert [server.arbiter.life.counts().bus_lost for server in made] == [True, True]
        made.broker.away = False
        await asyncio.sleep(2 * CHANGE_S)
        bus = made[0].bus
        assert bus is not None
        bus.cut = True
        await asyncio.sleep(2 * CHANGE_S)
    of_one = [(entry["event"], entry.get("error")) for entry in logs]
    assert of_one.count(("bus_lost", "the bus is away")) == 2
    assert of_one.count(("bus_back", None)) == 2
    assert of_one.count(("bus_lost", "not all servers are heard")) == 2
    names = [
        server.arbiter.replica.news.server for server in made if server.arbiter.replica and server.arbiter.replica.news
    ]
    assert sorted(entry["unheard"] for entry in logs[-2:]) == sorted([name] for name in names)


@virtually
async def test_a_server_that_dies_or_stops_is_missed_for_no_longer_than_it_counts_as_alive() -> None:
    made = await servers(3)
    with capture_logs() as logs:
        await made[2].die()
        await asyncio.sleep(SILENCE_MS / 1_000 + CHANGE_S + 1)
        await made[1].drain()
        await asyncio.sleep(2 * CHANGE_S)
    assert [entry["event"] for entry in logs if entry["event"].startswith("bus_")] == []
    before = made.reads()[0]
    await asyncio.sleep(10)
    assert made.reads()[0] - before <= 11


class Weather:
    """Changes everything that can be wrong with a bus, at random."""

    def __init__(self, made: Servers, dice: Random) -> None:
        self._made = made
        self._dice = dice

    def change(self) -> None:
        broker, dice = self._made.broker, self._dice
        broker.lost = dice.choice((0.0, 0.0, 0.3, 1.0))
        broker.doubled = dice.choice((0.0, 0.5))
        broker.longest_s = dice.choice((0.0, 0.003, 0.1, 2.0))
        broker.away = dice.random() < 0.1
        for server in self._made:
            assert server.bus is not None
            server.bus.cut = dice.random() < 0.15

    def clear(self) -> None:
        broker = self._made.broker
        broker.lost = broker.doubled = broker.longest_s = 0.0
        broker.away = False


async def observed(stream: Stream, to: list[Received]) -> None:
    async for batch in stream:
        if not isinstance(batch, Reached):
            to += [Received(event.match_id, event.revision) for event in batch]


@pytest.mark.parametrize("seed", range(6))
@virtually
async def test_play_over_a_faulty_bus_misses_doubles_and_reorders_nothing(seed: int) -> None:
    """Five players on three servers, an observer of everything on each; reads of the store fail, and are late."""
    dice = Random(seed)
    made = await servers(3, MemoryBroker(Random(seed + 1)))
    weather = Weather(made, dice)
    names = [f"player-{number}" for number in range(5)]
    readers = [await dice.choice(made).connect(name) for name in names]
    seen: list[list[Received]] = [[] for _ in made]
    async with asyncio.TaskGroup() as group:
        watching = [group.create_task(watch(server, to)) for server, to in zip(made, seen, strict=True)]
        matches = [
            await dice.choice(made).create("circle-of-life(target=1)", dice.sample(names, 2), request=f"m{n}")
            for n in range(8)
        ]
        async with asyncio.timeout(3_600):
            while any(await made[0].journal._journal.unfinished()):
                await asyncio.sleep(dice.choice((0.001, LOOK_S / 2, LOOK_S)))
                if dice.random() < 0.05:
                    weather.change()
                for server in made:
                    server.journal.mute = dice.random() < 0.02
                    server.journal.late_s = dice.choice((0.0, 0.001, 0.01))
                for reader in readers:
                    for item in await reader.receive():
                        if isinstance(item, TurnItem):
                            reader.play(item.match.id, item.match.ply, dice.choice(moves(item)))
        weather.clear()
        for server in made:
            server.journal.mute = False
        await asyncio.sleep(3)
        for task in watching:
            task.cancel()
    records = await made[0].journal.read_all(0, 100_000)
    for log, events in zip(made.logs, seen, strict=True):
        assert log == [record.sequence for record in records]
        kept(events)
        assert sorted(events) == sorted(Received(record.match_id, record.revision) for record in records)
    for reader, name in zip(readers, names, strict=True):
        await reader.receive()
        assert sorted(result.match_id for result in reader.results) == sorted(
            match.id for match in matches if name in match.players
        )
    for server in made:
        assert await server.stuck_matches() == []


async def watch(server: InMemoryArbiter, to: list[Received]) -> None:
    async with server.arbiter.feed.of_all(0, "") as stream:
        await observed(stream, to)


def moves(turn: TurnItem) -> Sequence[str]:
    return sorted(turn.match.game.moves(with_position(turn.match).position))
