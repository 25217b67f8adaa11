"""The parts of a simulated world: the faults of its network and its disk, and what they never do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any
from unittest.mock import Mock

import pytest

from arbiter.matches.commands import Create
from arbiter.matches.creation import create
from arbiter.matches.record import seal_first
from arbiter.service.ports.bus import Message, Report
from arbiter.service.ports.directory import Directory
from arbiter.service.ports.journal import Append, Record, StoreFailed, Subject
from arbiter.service.ports.replicas import Replicas
from arbiter.service.ports.web_hooks import WebHooks
from arbiter.store.directory import SqlDirectory
from arbiter.store.replicas import SqlReplicas
from arbiter.store.web_hooks import SqlWebHooks
from arbiter.testing.clock import settle, virtually
from arbiter.testing.memory import MemoryBroker, MemoryJournal, MemoryReplicas
from arbiter.testing.simulation.disk import Disk
from arbiter.testing.simulation.log_lock import LogLock
from arbiter.testing.simulation.observations import LogHold
from arbiter.testing.simulation.plan import Fault
from arbiter.testing.simulation.simulated_network import Calls, Delays, Link
from arbiter.testing.simulation.store_line import (
    DirectoryOverLine,
    Line,
    Machine,
    ReplicasOverLine,
    SharedDisk,
    StoreCalls,
    WebHooksOverLine,
)


def always(*faults: Fault) -> Callable[[Fault], bool]:
    return lambda fault: fault in faults


def delays(*faults: Fault, rtt_ms: int = 0) -> Delays:
    return Delays(rtt_ms, Random(1), always(*faults))


def made(n: int) -> Append:
    events = create(f"m{n}", Create("pods", ("alice", "bob"), "1m", "org", f"r{n}"), 0).events
    return Append(
        tuple(Record(f"m{n}", item.revision, item.data, Subject.MATCH) for item in seal_first(f"m{n}", events))
    )


async def settle_for(seconds: float) -> None:
    await asyncio.sleep(seconds)
    await settle()


def resolved(answer: object) -> asyncio.Future[object]:
    future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    future.set_result(answer)
    return future


def noted(order: list[str], name: str) -> asyncio.Future[object]:
    """Answer a call at once, and note that it arrived."""
    order.append(name)
    return resolved(None)


class TestStreams:
    @virtually
    async def test_messages_keep_their_order_however_late(self) -> None:
        for network in (delays(), delays(Fault.LATE), delays(rtt_ms=100)):
            link, heard = Link(network), list[int]()
            link.on_message_below = heard.append
            for n in range(50):
                link.down.send(n)
            link.down.stall(1)
            link.down.send(50)
            await settle_for(400)
            assert heard == list(range(51))

    @virtually
    async def test_messages_on_their_way_are_lost_when_the_stream_is_cut(self) -> None:
        link, heard, losses = Link(delays(rtt_ms=100)), list[int](), list[str]()
        link.on_message_above = link.on_message_below = heard.append
        link.on_loss_above, link.on_loss_below = lambda: losses.append("above"), lambda: losses.append("below")
        link.up.send(1)
        link.down.send(2)
        link.cut(below_after_s=2.0, above_after_s=None)
        link.up.send(3)
        await settle_for(1)
        assert losses == []
        await settle_for(2)
        assert (heard, losses) == ([], ["below"])

    @virtually
    async def test_a_sender_waits_for_a_reader_that_stalls(self) -> None:
        link, heard = Link(delays()), list[int]()
        link.on_message_below = heard.append
        link.down.stall(5)
        for n in range(8):
            link.down.send(n)
        await link.down.room()
        assert heard  # the reads took five seconds


class TestCalls:
    @virtually
    async def test_calls_are_lost_or_duplicated(self) -> None:
        for faults, arrivals, answers in (((), 1, 1), ((Fault.DOUBLED,), 2, 2), ((Fault.LOST,), 0, 0)):
            network, arrived, answered = delays(rtt_ms=10), list[int](), list[int]()

            def request(arrived: list[int] = arrived) -> object:
                arrived.append(1)
                return resolved(7)

            Calls(network, Random(1), always(*faults)).call(request, answered.append, lambda: None)  # type: ignore[arg-type]
            await settle_for(1)
            assert (len(arrived), answered) == (arrivals, [7] * answers)

    @virtually
    async def test_late_calls_are_overtaken(self) -> None:
        chances, order = iter([True, False, *[False] * 20]), list[str]()
        network = Delays(10, Random(1), lambda fault: fault is Fault.LATE and next(chances))
        calls = Calls(network, Random(1), always())
        for name in ("first", "second"):
            calls.call(partial(noted, order, name), lambda answer: None, lambda: None)
        await settle_for(10)
        assert order == ["second", "first"]


class TestDisk:
    @virtually
    async def test_appends_are_stored_in_order_and_in_groups(self) -> None:
        stored = MemoryJournal()
        disk = Disk(stored, Random(1), always())
        answers = [disk.append(made(n)) for n in range(5)]
        assert stored.records == []
        assert [await answer for answer in answers] == [1, 2, 3, 4, 5]
        assert [record.match_id for record in stored.records] == [f"m{n}" for n in range(5)]

    @virtually
    async def test_appends_are_refused_or_stored_and_reported_as_failed(self) -> None:
        for fault, kept in ((Fault.REFUSED, 0), (Fault.LIED, 1)):
            stored = MemoryJournal()
            with pytest.raises(StoreFailed):
                await Disk(stored, Random(1), always(fault)).append(made(1))
            assert len(stored.records) == kept

    @virtually
    async def test_a_crash_stores_a_prefix_of_the_appends_and_answers_none(self) -> None:
        kept = set()
        for seed in range(30):
            stored = MemoryJournal()
            disk = Disk(stored, Random(seed), always())
            answers = [disk.append(made(0))]
            await settle()
            answers += [disk.append(made(n)) for n in range(1, 5)]
            disk.crash()
            answers.append(disk.append(made(9)))
            await settle_for(10)
            assert not any(answer.done() for answer in answers)
            assert [record.match_id for record in stored.records] == [f"m{n}" for n in range(len(stored.records))]
            kept.add(len(stored.records))
        assert kept == {0, 1}  # part of the first commit; the others had not begun

    @virtually
    async def test_reads_fail(self) -> None:
        with pytest.raises(StoreFailed):
            await Disk(MemoryJournal(), Random(1), always(Fault.DEAF)).read("m1")


class TestLockedLog:
    @virtually
    async def test_appends_are_stored_in_order_once_it_is_free_and_reads_go_on(self) -> None:
        holds, stored = list[LogHold](), MemoryJournal()
        lock = LogLock(holds)
        disks = [Disk(stored, Random(n), always(), lock) for n in range(2)]
        lock.hold(2.0, queues=False)
        answers = [disks[n % 2].append(made(n)) for n in range(4)]
        reading = asyncio.ensure_future(disks[0].head())
        await settle_for(1)
        lock.hold(2.0, queues=False)
        await settle_for(1.5)
        assert not stored.records
        assert not holds
        assert not reading.done()
        await settle_for(1)
        assert sorted([await answer for answer in answers]) == [1, 2, 3, 4]
        assert await reading > 0
        assert [(round(hold.began_ms), round(hold.ended_ms)) for hold in holds] == [(0, 3_000)]

    @pytest.mark.parametrize("shared", [False, True])
    @virtually
    async def test_what_a_process_had_written_that_dies_is_lost_unless_a_database_has_it(self, shared: bool) -> None:
        kept = set()
        for seed in range(20):
            stored, lock = MemoryJournal(), LogLock()
            line = Line(Random(seed), always())
            disk = SharedDisk(stored, Random(seed), line, Random(seed), lock) if shared else None
            mine = disk or Disk(stored, Random(seed), always(), lock)
            lock.hold(2.0, queues=False)
            mine.append(made(0))
            await settle_for(1)
            mine.crash()
            assert not stored.records
            await settle_for(2)
            kept.add(len(stored.records))
        assert kept == ({0, 1} if shared else {0})

    @pytest.mark.parametrize("queues", [False, True])
    @virtually
    async def test_other_writes_wait_behind_an_append_if_they_are_queued(self, queues: bool) -> None:
        lock, line = LogLock(), Line(Random(1), always())
        disk = SharedDisk(MemoryJournal(), Random(1), line, Random(1), lock)
        rows = ReplicasOverLine(StoreCalls(line, disk.in_turn), MemoryReplicas())
        lock.hold(2.0, queues)
        await rows.enter("s1")
        disk.append(made(0))
        entering = asyncio.ensure_future(rows.enter("s2"))
        await rows.lost_players("s3")
        await settle_for(1)
        assert entering.done() is not queues
        await settle_for(1.5)
        assert entering.done()


@pytest.mark.parametrize(
    ("over_line", "port", "adapter"),
    [
        (DirectoryOverLine, Directory, SqlDirectory),
        (WebHooksOverLine, WebHooks, SqlWebHooks),
        (ReplicasOverLine, Replicas, SqlReplicas),
    ],
)
@virtually
async def test_what_writes_over_a_line_is_what_writes_in_a_real_store(
    over_line: Callable[[StoreCalls, Any], object], port: type, adapter: type
) -> None:
    turns: list[None] = []

    async def in_turn() -> None:
        turns.append(None)

    over = over_line(StoreCalls(Line(Random(1), always()), in_turn), Mock(spec=port))
    methods = [name for name, each in vars(port).items() if not name.startswith("_") and callable(each)]
    assert methods
    for name in methods:
        turns.clear()
        await getattr(over, name)("an argument")
        assert bool(turns) is ("_writer" in getattr(adapter, name).__code__.co_names), name


@virtually
async def test_the_clock_of_a_machine_changes_its_pace_without_a_jump_and_stalls() -> None:
    machine = Machine(Random(1))
    machine.run_at(1.5)
    began = machine.monotonic_ns()
    await asyncio.sleep(2)
    assert machine.monotonic_ns() - began == pytest.approx(3e9)
    machine.run_at(1.0)
    assert machine.monotonic_ns() - began == pytest.approx(3e9)
    await asyncio.sleep(2)
    machine.lose(2)
    assert machine.monotonic_ns() - began == pytest.approx(3e9)


@pytest.mark.parametrize("keeps", [False, True])
@virtually
async def test_a_bus_that_was_away_delivers_what_it_kept_twice_and_in_any_order(keeps: bool) -> None:
    broker = MemoryBroker(Random(1))
    one, other = broker.bus(), broker.bus()
    heard: list[Message] = []
    other.listen(heard.append)
    messages: list[Message] = [Report("s1", 0, n, 0) for n in range(20)]
    broker.away, broker.keeps = True, keeps
    for message in messages:
        one.publish(message)
    await settle_for(10)
    assert heard == []
    broker.come_back()
    await settle_for(10)
    assert sorted(heard) == sorted(messages * 2 if keeps else [])
    assert not keeps or heard[::2] != messages
