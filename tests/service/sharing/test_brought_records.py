"""Records of other servers that come with the commits of this one: they need no read, and everybody gets them in order.

The journal here is a stand-in: what a commit brings, and when, is up to the test.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from arbiter.service.ports.journal import Append, Record, Stored, StoredRecord, StoreFailed, Subject
from arbiter.service.sharing.following import ALONE_S, HURRY_S, LOOK_S, Follower
from arbiter.service.sharing.reporting import ReportingAppends
from arbiter.testing.clock import settle, virtually
from arbiter.testing.memory import MemoryJournal

BODY = b"{}"
COMMIT_S = 0.001


class Log:
    """A log that servers share. `commits`: whether commits bring the records of others."""

    def __init__(self) -> None:
        self.records: list[StoredRecord] = []
        self.commits = True

    def add(self, by: str) -> StoredRecord:
        """Store a record."""
        self.records.append(StoredRecord(len(self.records) + 1, by, len(self.records) + 1, BODY, Subject.MATCH))
        return self.records[-1]


class OneServer(MemoryJournal):
    """A server's view of a log. passed: the sequence numbers that listeners got; told: what else they saw between."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self.log = log
        self.fails = False
        self.alone = False
        self.known = 0
        self.reads = 0
        self._brought: list[StoredRecord] = []
        self.passed: list[int | str] = []
        listeners = [lambda found: self.passed.extend(each.sequence for each in found)]
        self.follower = Follower(self, listeners, structlog.get_logger(), 2.0, lambda: self.alone)
        self.appends = ReportingAppends(self, self.follower, self.follower.stored)

    # -- the journal

    def know(self, place: int) -> None:
        self.known = place

    def brought(self) -> list[StoredRecord]:
        found, self._brought = self._brought, []
        return found

    async def head(self) -> int:
        return len(self.log.records)

    async def read_all(self, after: int, most: int) -> list[StoredRecord]:
        self.reads += 1
        return self.log.records[after : after + most]

    def append_then(self, append: Append, then: Stored) -> None:
        asyncio.get_running_loop().call_later(COMMIT_S, self._commit, append, then)

    def _commit(self, append: Append, then: Stored) -> None:
        if self.log.commits and self.known:
            self._brought = [record for record in self.log.records[self.known :] if record.match_id != "own"]
        if self.fails:
            then(0, StoreFailed())
        else:
            then(self.log.add("own").sequence, None)

    # -- what it is asked for

    def commit(self, tell: Callable[[], object] = lambda: None) -> None:
        """Append a record of this server."""

        def told(*_: object) -> None:
            tell()

        self.appends.append_then(Append((Record("own", 1, BODY, Subject.MATCH),)), told)


@asynccontextmanager
async def following() -> AsyncIterator[OneServer]:
    log = Log()
    log.add("first")
    server = OneServer(log)
    await server.follower.begin()
    task = asyncio.create_task(server.follower.run())
    await asyncio.sleep(3 * LOOK_S)
    yield server
    await asyncio.sleep(3 * LOOK_S)
    assert [each for each in server.passed if isinstance(each, int)] == list(range(2, len(log.records) + 1))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def write(server: OneServer, seconds: float, often_s: float) -> None:
    """Have others write often, and the server itself."""
    end = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < end:
        server.log.add("other")
        await asyncio.sleep(often_s / 3)
        server.log.add("other")
        server.commit()
        await asyncio.sleep(often_s * 2 / 3)


@virtually
async def test_a_server_that_commits_often_reads_nothing() -> None:
    async with following() as server:
        await write(server, 0.1, HURRY_S * 0.9)
        before = server.reads
        await write(server, 1.0, HURRY_S * 0.9)
        assert server.reads == before


@virtually
async def test_a_server_that_commits_rarely_reads_between_its_commits() -> None:
    async with following() as server:
        await write(server, 0.1, 10 * HURRY_S)
        before = server.reads
        await write(server, 1.0, 10 * HURRY_S)
        assert 1.0 / (10 * HURRY_S) < server.reads - before <= 1.0 / HURRY_S


@virtually
async def test_a_server_that_commits_nothing_reads_as_often_as_ever_while_others_write() -> None:
    async with following() as server:
        for _ in range(100):
            server.log.add("other")
            await asyncio.sleep(HURRY_S / 2)
            assert server.follower.place >= len(server.log.records) - LOOK_S / HURRY_S * 2
        before = server.reads
        for _ in range(100):
            server.log.add("other")
            await asyncio.sleep(HURRY_S / 2)
        assert 45 <= server.reads - before <= 51


@virtually
async def test_no_read_is_made_while_a_commit_is_under_way_that_will_bring_the_records() -> None:
    async with following() as server:
        server.log.add("other")
        await asyncio.sleep(LOOK_S + HURRY_S)  # it reads every few milliseconds now
        before = server.reads
        for _ in range(8):
            server.follower.began()
            await asyncio.sleep(HURRY_S)
        assert server.reads <= before + 1
        server.log.add("other")
        await asyncio.sleep(LOOK_S)
        assert server.follower.place == len(server.log.records), "a commit that takes long is not waited for"
        for _ in range(8):
            server.follower.settled()


@virtually
async def test_an_append_is_answered_before_what_it_has_brought_is_passed_on() -> None:
    async with following() as server:
        await asyncio.sleep(LOOK_S / 2)  # until the next read it takes as long
        other = server.log.add("other").sequence
        server.commit(lambda: server.passed.append("told"))
        await asyncio.sleep(COMMIT_S)
        await settle()
        assert server.passed == ["told", other, other + 1]


@virtually
async def test_records_of_an_earlier_commit_come_before_those_that_a_later_one_brings() -> None:
    """Both commits are settled in one turn of the event loop."""
    async with following() as server:
        await asyncio.sleep(LOOK_S / 2)  # until the next read it takes as long
        before = server.reads
        server.commit(lambda: server.log.add("other"))
        server.commit()
        await asyncio.sleep(2 * COMMIT_S)
        assert server.passed == [2, 3, 4]
        assert server.reads == before


@virtually
async def test_an_append_that_fails_brings_records_too() -> None:
    async with following() as server:
        server.fails = True
        server.log.add("other")
        server.commit()
        await asyncio.sleep(COMMIT_S)
        await settle()
        assert server.passed == [2]


@virtually
async def test_where_commits_bring_nothing_a_gap_before_own_records_is_read_soon() -> None:
    async with following() as server:
        server.log.commits = False
        for _ in range(5):
            server.log.add("other")
            server.commit()
            await asyncio.sleep(COMMIT_S + 2 * HURRY_S)
            assert server.follower.place == len(server.log.records)


@virtually
async def test_records_that_are_known_already_are_passed_on_once() -> None:
    async with following() as server:
        known = server.log.add("other")
        server.follower.take([known])
        server.follower.take([known])
        server.follower.take([known, server.log.add("other")])
        assert server.passed == [2, 3]


@virtually
async def test_a_server_that_does_not_follow_yet_is_brought_nothing() -> None:
    """What it has not loaded yet would meet news of it."""
    server = OneServer(Log())
    server.log.add("first")
    await server.follower.begin()
    server.log.add("other")
    server.commit()
    await asyncio.sleep(COMMIT_S)
    assert server.passed == []


@virtually
async def test_a_lone_server_that_commits_does_not_read_more_often() -> None:
    async with following() as server:
        server.alone = True
        await asyncio.sleep(ALONE_S)
        before = server.reads
        for _ in range(1_000):
            server.commit()
            await asyncio.sleep(0.01)
        assert server.reads == before
