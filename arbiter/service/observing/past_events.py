"""Reads of past events: pages of the journal, shared by all readers, in the background.

A page is small, so that a reader that stops reading takes little memory. The readers of a page share its events and
their serialized form. Pages are granted in turn, by player. A page is in transit until its stream asks for the next
one. The number of pages in transit is limited, for each player and in all.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Final

from arbiter.config import Limits
from arbiter.service.background import Background
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.ports.journal import Journal, StoredRecord, Subject
from arbiter.service.record import tournament_log
from arbiter.service.record.match_log import event_of
from arbiter.service.record.published import Published
from arbiter.service.token_bucket import SECOND_MS, TokenBucket

PAGE: Final = 50  #: events in a page
AT_ONCE: Final = 10  #: events to decode in one step
KEPT: Final = 40  #: pages in the cache

Place = tuple[str, int]


def full(after: int) -> int:
    """Return how many events a page after a position has: up to a multiple of PAGE, so that readers share pages."""
    return PAGE - after % PAGE


class ReadingTurns:
    """Grants turns to read a page: to one stream after the other, in turn by player."""

    def __init__(self, limits: Limits) -> None:
        self._rate = TokenBucket(limits.history_pages_a_second, SECOND_MS)
        self._most = limits.history_pages
        self._most_of_player = limits.history_pages_of_player
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # the last served at the end
        self.under_way: Counter[str] = Counter()  #: pages in transit, by player
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    async def take(self, player: str) -> None:
        """Wait for a turn. Call `give_back` once the page has been sent."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(player, deque()).append(turn)
        self._changed.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back(player)
            raise

    def give_back(self, player: str) -> None:
        """Note that a page has been sent, or that its stream has ended."""
        self.under_way[player] -= 1
        if not self.under_way[player]:
            del self.under_way[player]
        self._changed.set()

    async def _run(self) -> None:
        """Grant turns until no stream waits."""
        now = asyncio.get_running_loop().time
        while self._waiting:
            player = self._next()
            if player is None:
                self._changed.clear()
                await self._changed.wait()
                continue
            while wait_ms := self._rate.take(round(now() * 1_000)):  # noqa: ASYNC110 - there is no event but time
                await asyncio.sleep(wait_ms / 1_000)

    def _next(self) -> str | None:
        """Grant a turn to the next player that may have one; return the player, or None."""
        if self.under_way.total() >= self._most:
            return None
        for player, turns in list(self._waiting.items()):
            while turns and turns[0].done():  # its stream has left
                turns.popleft()
            if not turns:
                del self._waiting[player]
            elif self.under_way[player] < self._most_of_player:
                turns.popleft().set_result(None)
                self.under_way[player] += 1
                if turns:
                    self._waiting.move_to_end(player)
                else:
                    del self._waiting[player]
                return player
        return None


class ReadingTurn:
    """The current turn of one stream, if it has one."""

    def __init__(self, history: History, player: str) -> None:
        self._history = history
        self._player = player
        self._has_turn = False

    async def read(self, match_id: str, after: int) -> tuple[list[Published], bool]:
        """Return the events after a position, and whether more may follow.

        match_id: '' for the events of all matches.
        """
        await self.turn()
        events = await self._history.page(match_id, after, self._player)
        return events, len(events) == full(after)

    async def turn(self) -> None:
        """Wait for this stream's turn to read past events. Its previous page counts as sent."""
        self.sent()
        await self._history.turns.take(self._player)
        self._has_turn = True

    async def each(self, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the parts of a record; each one waits for its turn."""
        await self.turn()
        async for part in parts:
            yield part
            await self.turn()

    def sent(self) -> None:
        """Note that the last page has been sent."""
        if self._has_turn:
            self._has_turn = False
            self._history.turns.give_back(self._player)


class History:
    """The past events of all matches and tournaments."""

    def __init__(self, journal: Journal, limits: Limits, matches: MatchRegistry, background: Background) -> None:
        self._journal = journal
        self._background = background
        self._matches = matches
        self.turns = ReadingTurns(limits)
        self._kept: OrderedDict[Place, list[Published]] = OrderedDict()
        self._reading: dict[Place, asyncio.Task[list[Published]]] = {}

    @contextmanager
    def reader(self, player: str) -> Iterator[ReadingTurn]:
        """Open a reader of pages, which counts for a player."""
        page = ReadingTurn(self, player)
        try:
            yield page
        finally:
            page.sent()

    async def page(self, match_id: str, after: int, reader: str) -> list[Published]:
        """Return the events of the page after a position."""
        place = match_id, after
        kept = self._kept.get(place)
        if kept is not None:
            self._kept.move_to_end(place)
            return kept
        reading = self._reading.get(place)
        if reading is not None:
            events = await asyncio.shield(reading)
            if len(events) == full(after):
                return events  # otherwise there may be more by now
        reading = asyncio.create_task(self._in_turn(match_id, after, reader))
        self._reading.setdefault(place, reading)
        reading.add_done_callback(lambda done: self._has_read(place, done))
        return await asyncio.shield(reading)

    def _has_read(self, place: Place, reading: asyncio.Task[list[Published]]) -> None:
        if self._reading.get(place) is reading:
            del self._reading[place]
        if not reading.cancelled():
            reading.exception()  # read it, so that asyncio does not log it if all readers have left

    async def _in_turn(self, match_id: str, after: int, reader: str) -> list[Published]:
        return await self._background.run(self._read(match_id, after, full(after)), reader)

    async def _read(self, match_id: str, after: int, most: int) -> list[Published]:
        read = self._journal.read(match_id, after, most) if match_id else self._journal.read_all(after, most)
        records = await read
        events = []
        for number, record in enumerate(records, 1):
            events.append(await self._published(record))
            if not number % AT_ONCE:
                await asyncio.sleep(0)
        if len(records) == most:  # a full page does not change
            self._kept[match_id, after] = events
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return events

    async def _published(self, record: StoredRecord) -> Published:
        if record.subject is Subject.TOURNAMENT:
            return Published(record.sequence, record, tournament_log.event_of(record), record.match_id)
        event, begun = event_of(record), await self._matches.begun(record.match_id)
        return Published(record.sequence, record, event, begun.created.label)
