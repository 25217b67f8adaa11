"""What a server has committed itself is not read again, and everybody still gets the log in its order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from arbiter.bootstrap.store import Store
from arbiter.service.ports.journal import StoredRecord
from arbiter.service.sharing.following import ALONE_S, HURRY_S, LOOK_S
from arbiter.service.sharing.replica import BEAT_S
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, MemoryReplicas
from tests.service.sharing.servers import AT_ONCE, SILENCE_MS, observed

AT_ONCE_S = 0.001  #: much less than any interval between two reads
SOON_S = 3 * LOOK_S


class Watched:
    """A server that shares its store. log: what its follower has passed on. read: the records that it has read."""

    def __init__(self, server: InMemoryArbiter) -> None:
        self.server = server
        self.log: list[int] = []
        self.read: list[int] = []
        self.calls = 0
        self._read_all = server.journal.read_all
        server.journal.read_all = self._watched  # type: ignore[method-assign]
        server.arbiter.log_listeners.append(lambda found: self.log.extend(each.sequence for each in found))

    async def _watched(self, after: int, most: int) -> list[StoredRecord]:
        self.calls += 1
        found = await self._read_all(after, most)
        self.read += [record.sequence for record in found]
        return found

    async def create(self, request: str) -> str:
        match = await self.server.create(
            "pondlife", (f"one-{request}", f"two-{request}"), request=request, policy=AT_ONCE
        )
        return match.id

    async def own(self, matches: Sequence[str]) -> set[int]:
        """Return the numbers of the records of some matches."""
        return {record.sequence for record in await self.server.journal.read_many(matches)}


async def watched(number: int, **given: Any) -> list[Watched]:
    first = InMemoryArbiter(Store(MemoryJournal(), MemoryDirectory(), replicas=MemoryReplicas()), **given)
    made = [Watched(server) for server in (first, *(first.beside() for _ in range(number - 1)))]
    for each in made:
        await each.server.share()
    await asyncio.sleep(SOON_S)
    return made


@virtually
async def test_the_records_of_a_server_are_passed_on_at_once_and_not_read() -> None:
    (alone,) = await watched(1)
    for number in range(5):
        await alone.create(str(number))
        await asyncio.sleep(AT_ONCE_S)
        assert alone.log == list(range(1, await alone.server.journal.head() + 1))
    await asyncio.sleep(SOON_S)
    assert alone.log
    assert alone.read == []


@virtually
async def test_only_the_records_of_others_are_read() -> None:
    one, other = await watched(2)
    made: dict[int, list[str]] = {0: [], 1: []}
    for number in range(10):
        made[number % 2].append(await (one, other)[number % 2].create(str(number)))
        await asyncio.sleep(HURRY_S / 2)
    await asyncio.sleep(SOON_S)
    everything = list(range(1, await one.server.journal.head() + 1))
    assert one.log == other.log == everything
    first, second = await one.own(made[0]), await one.own(made[1])
    assert sorted(one.read) == sorted(second)
    assert sorted(other.read) == sorted(first)


@virtually
async def test_a_commit_after_those_of_others_has_these_read_soon() -> None:
    one, other = await watched(2)
    for number in range(5):
        await one.create(f"one-{number}")
        await other.create(f"other-{number}")
        await asyncio.sleep(2 * HURRY_S)
        assert other.log == list(range(1, await other.server.journal.head() + 1))
        await asyncio.sleep(SOON_S + 0.4 * LOOK_S)  # the next time at another point between two reads


@virtually
async def test_while_others_write_the_log_is_read_every_few_milliseconds_and_then_less_often_again() -> None:
    one, other = await watched(2)
    await other.create("wakes it up")
    await asyncio.sleep(LOOK_S + AT_ONCE_S)
    for number in range(20):
        await other.create(str(number))
        await asyncio.sleep(HURRY_S + AT_ONCE_S)
        assert one.log == list(range(1, await one.server.journal.head() + 1))
        await asyncio.sleep(LOOK_S / 5)
    await asyncio.sleep(SOON_S)
    before = one.calls
    await asyncio.sleep(100 * LOOK_S)
    assert one.calls - before <= 101


@virtually
async def test_a_server_whose_reads_take_long_reads_for_half_of_the_time() -> None:
    one, other = await watched(2)
    one.server.journal.late_s = 2 * HURRY_S
    before = one.calls
    for number in range(100):
        await other.create(str(number))
        await asyncio.sleep(HURRY_S)
    assert 0 < one.calls - before <= 100 * HURRY_S / (2 * one.server.journal.late_s) + 1
    await asyncio.sleep(SOON_S)
    assert one.log == list(range(1, await one.server.journal.head() + 1))


@virtually
async def test_observers_of_everything_get_own_events_after_those_of_others_before_them() -> None:
    made = await watched(2)
    places: list[list[int]] = [[], []]
    async with (
        made[0].server.arbiter.feed.of_all(None, "") as first,
        made[1].server.arbiter.feed.of_all(None, "") as second,
    ):
        reading = [
            asyncio.create_task(observed(stream, to)) for stream, to in zip((first, second), places, strict=True)
        ]
        await asyncio.sleep(SOON_S)
        calls = [each.calls - each.server.arbiter.follower.reads for each in made]
        for number in range(10):
            await asyncio.gather(*(each.create(f"{number}-{name}") for name, each in enumerate(made)))
        await asyncio.sleep(SOON_S)
        everything = list(range(1, await made[0].server.journal.head() + 1))
        assert places == [everything, everything]
        assert [each.calls - each.server.arbiter.follower.reads for each in made] == calls, "no stream has read the log"
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)


@virtually
async def test_an_observer_who_comes_while_events_wait_misses_none() -> None:
    one, other = await watched(2)
    await one.create("1")
    await other.create("2")  # waits at its server for those before it
    places: list[int] = []
    async with other.server.arbiter.feed.of_all(0, "") as stream:
        reading = asyncio.create_task(observed(stream, places))
        await other.create("3")
        await asyncio.sleep(SOON_S)
        assert places == list(range(1, await one.server.journal.head() + 1))
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


@virtually
async def test_a_server_reads_the_log_rarely_while_it_is_alone_and_often_again_once_another_one_comes() -> None:
    (alone,) = await watched(1)
    await asyncio.sleep(BEAT_S)
    before = alone.calls
    await asyncio.sleep(10)
    assert alone.calls - before == 10 / ALONE_S
    other = Watched(alone.server.beside())
    await other.server.share()
    await asyncio.sleep(BEAT_S + ALONE_S)
    for number in range(3):
        await other.create(str(number))
        await asyncio.sleep(LOOK_S + AT_ONCE_S)
        assert alone.log == list(range(1, await alone.server.journal.head() + 1))
    await other.server.die()
    await asyncio.sleep(SILENCE_MS / 1_000 + 2 * BEAT_S + ALONE_S)
    before = alone.calls
    await asyncio.sleep(10)
    assert alone.calls - before == 10 / ALONE_S
