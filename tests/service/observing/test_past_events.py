"""Past events for streams: pages are shared, players take turns, and the number of pages in use is limited."""

from __future__ import annotations

import asyncio
from collections import Counter

from arbiter.bootstrap.store import Store
from arbiter.config import Limits
from arbiter.matches.commands import Create
from arbiter.service.observing.feed import Reached, Stream
from arbiter.service.observing.past_events import PAGE, ReadingTurns
from arbiter.service.ports.journal import StoredRecord
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import MemoryDirectory, MemoryJournal

MATCHES = 3 * PAGE + 7  #: with one event each


class CountingJournal(MemoryJournal):
    """Counts the reads of pages of all events, by the place where they begin."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: Counter[int] = Counter()

    async def read_all(self, after: int, most: int) -> list[StoredRecord]:
        """Return the records after a place."""
        self.pages[after] += 1
        assert most <= PAGE
        return await super().read_all(after, most)


async def past(limits: Limits) -> tuple[InMemoryArbiter, CountingJournal]:
    """Return an arbiter with several pages of history."""
    journal = CountingJournal()
    server = InMemoryArbiter(Store(journal, MemoryDirectory()), limits=limits)
    for number in range(MATCHES):
        await server.arbiter.matches.create(
            Create(game="pods", players=("ann", "ben"), time="1m", creator="org", request=str(number))
        )
    return server, journal


async def places(stream: Stream) -> list[int]:
    """Read a stream until it has caught up; return the places of its events."""
    found: list[int] = []
    async for batch in stream:
        if isinstance(batch, Reached):
            return found
        assert 0 < len(batch) <= PAGE
        found += [event.sequence for event in batch]
    raise AssertionError("it has ended")


async def read(server: InMemoryArbiter, after: int, player: str) -> list[int]:
    async with server.arbiter.feed.of_all(after, "", player) as stream:
        return await places(stream)


@virtually
async def test_readers_of_the_same_events_share_pages_wherever_they_began() -> None:
    server, journal = await past(Limits())
    last = await journal.head()
    assert last > 2 * PAGE
    begins = [0, 0, 0, 7, PAGE, PAGE + 1]
    found = await asyncio.gather(*(read(server, after, f"p{n}") for n, after in enumerate(begins)))
    assert found == [list(range(after + 1, last + 1)) for after in begins]
    assert {after: times for after, times in journal.pages.items() if times > 1 and after + PAGE <= last} == {}


@virtually
async def test_a_reader_that_does_not_read_holds_a_limited_number_of_pages_and_others_go_on() -> None:
    server, journal = await past(Limits(history_pages=5, history_pages_of_player=2))
    feed, last = server.arbiter.feed, await journal.head()
    turns = feed.history.turns

    async def take_one(player: str) -> None:
        async with feed.of_all(0, "", player) as stream:
            await anext(stream)
            await asyncio.Event().wait()  # it never asks for more: its reader does not read

    lazy = [asyncio.create_task(take_one("eve")) for _ in range(20)]
    await settle()
    assert turns.under_way == {"eve": 2}
    assert await read(server, 0, "ann") == list(range(1, last + 1))
    others = [asyncio.create_task(take_one(f"eve {n}")) for n in range(10)]
    await settle()
    assert turns.under_way.total() == 5
    blocked = asyncio.create_task(read(server, 0, "ann"))
    await settle()
    assert not blocked.done()
    for task in (*lazy, *others):
        task.cancel()
    await asyncio.gather(*lazy, *others, return_exceptions=True)
    assert await blocked == list(range(1, last + 1))
    assert not turns.under_way


@virtually
async def test_players_take_turns_however_many_streams_they_have() -> None:
    turns, served = ReadingTurns(Limits(history_pages=1)), list[str]()

    async def reader(player: str) -> None:
        await turns.take(player)
        served.append(player)
        await asyncio.sleep(1)
        turns.give_back(player)

    await asyncio.gather(*(reader(player) for player in ("eve",) * 6 + ("ann", "ann", "ben")))
    assert served == ["eve", "ann", "ben", "eve", "ann", "eve", "eve", "eve", "eve"]


@virtually
async def test_pages_a_second_are_limited() -> None:
    turns, loop = ReadingTurns(Limits(history_pages_a_second=10)), asyncio.get_running_loop()
    began = loop.time()
    for _ in range(31):
        await turns.take("eve")
        turns.give_back("eve")
    assert 2.0 <= loop.time() - began <= 2.2  # the first ten at once


@virtually
async def test_the_turn_of_a_stream_that_has_just_left_is_given_back() -> None:
    turns = ReadingTurns(Limits(history_pages=1))
    await turns.take("ann")
    waiting = asyncio.create_task(turns.take("ben"))
    await settle()
    turns.give_back("ann")
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await settle()
    assert not turns.under_way
    await turns.take("cat")
