"""Follows the log of a store that several servers write to, and calls listeners with the new records.

These include the records of this server: a listener skips those that it knows. A server that is alone on its store does
not follow its log.

This server need not read its own records: its commits give them. A commit also brings the records of the others that
come before its own (`Journal.brought`), because it asks for the last number of the log in any case.

While this server commits nothing, it reads the log:

- every LOOK_S; every HURRY_S while others write; every ALONE_S while no other server is there;
- at once, if a commit shows that records come before it which it did not bring;
- less often, and more at once, if a read takes long: reads take half of the time at most.

With a bus, the other servers send their records in reports, in any order, or report that there are some. Then the log
is read where records are missing, and once a second in any case.

However records come, listeners get all of them in the order of the log.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NoReturn

from arbiter.service.play.waits import AFTER_S, SILENCE_S
from arbiter.service.ports.journal import Journal, Record, StoreDamaged, StoredRecord, StoreFailed
from arbiter.service.ports.log import Logger
from arbiter.service.sharing.news import News

LOOK_S: Final = 0.05  #: time between two reads of new records
MOST: Final = 1_000  #: records in one read; after a full one the next read follows at once
ALONE_S: Final = 0.5  #: the same while no other server uses the store
HURRY_S: Final = 0.004  #: least time between two reads
CLOCK_S: Final = 0.001  #: the event loop's clock may go in such steps
GAP_S: Final = 0.002  #: with a bus: how long records that have arrived wait for those before them; then these are read

Listener = Callable[[Sequence[StoredRecord]], None]
"""Called after each read with the new records, in the order of the log; there may be none."""


class Follower:
    """Reads new records, and calls `listeners` in order. place: the sequence number of the last record read.

    long_s: how long the log is silent, in seconds, if it counts as an outage. is_alone: returns whether no other server
    uses the store now. news: the bus between the servers, or None. reads: how often the log was read.
    """

    def __init__(
        self,
        journal: Journal,
        listeners: Sequence[Listener],
        log: Logger,
        long_s: float,
        is_alone: Callable[[], bool],
        news: News | None = None,
    ) -> None:
        self.place = 0
        self.reads = 0
        self._is_alone = is_alone
        self._journal = journal
        self._listeners = listeners
        self._log = log
        self._news = news
        self._runs = False  # from here on, commits are to bring records
        self._blind = False  # the last read has failed
        self._found = -LOOK_S  # when there were last records of others, by the event loop's time
        self._level = 0.0  # when a read or a commit has last said what the log has
        self._asked: float | None = None  # when the first read was begun that was not answered yet
        self._answers_since = -math.inf  # the end of the last silence
        self._outage = (-math.inf, -math.inf)  # from when to when the last long one lasted
        self._long_s = long_s
        self._looking = asyncio.Lock()
        self._early: dict[int, StoredRecord] = {}  # by sequence number: records that came before earlier ones
        self._appending = 0  # appends of this server that are under way
        self._is_due = False  # `_take_new` is about to be called
        self._own: list[StoredRecord] = []  # committed in this call of the event loop
        self._missing = asyncio.Event()  # there are records before those that have arrived

    async def begin(self) -> None:
        """Follow the log from its current end on. Call this before unfinished matches are read. Raises StoreFailed."""
        self.place = await self._journal.head()

    async def run(self) -> NoReturn:
        """Follow until cancelled. Records that could not be read because the store failed are read later."""
        self._runs = True
        if self._news is not None:
            self._news.on_records(self.take)
        now = asyncio.get_running_loop().time
        while True:
            began = now()
            try:
                await self.look()
                self._blind = False
            except StoreFailed as failure:
                if not self._blind:
                    self._log.warning("log_not_followed", error=failure.message)
                self._blind = True
            except Exception:  # an error in a listener: go on with the next records
                self._log.exception("log_listener_failed", place=self.place)
            if self._news is None:
                await self._pause(now() - began)
                continue
            while not await self._news.log_grown(LOOK_S):
                self._call(())  # a listener may have put something off

    async def _pause(self, took_s: float) -> None:
        """Wait until the log is to be read again, after a read that took this long."""
        least_s = min(max(HURRY_S, took_s), LOOK_S)
        await asyncio.sleep(least_s)
        now = asyncio.get_running_loop().time
        while not self._missing.is_set():
            often_s = ALONE_S if self._is_alone() else LOOK_S
            if now() - self._found < LOOK_S:
                often_s = LOOK_S if self._appending else least_s
            rest_s = self._level + often_s - now()
            if rest_s < CLOCK_S:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(min(rest_s, HURRY_S) if self._appending else rest_s):
                    await self._missing.wait()

    def _call(self, found: Sequence[StoredRecord]) -> None:
        try:
            self._pass_on(found)
        except Exception:  # as in `run`
            self._log.exception("log_listener_failed", place=self.place)

    async def look(self) -> None:
        """Read all new records, and call the listeners with them. Raises StoreFailed."""
        async with self._looking:
            self._missing.clear()
            most = MOST
            while True:
                self.reads += 1
                wanted = min(most, min(self._early) - self.place - 1) if self._early else most
                self._level = asyncio.get_running_loop().time()
                if self._asked is None:  # else the last read has failed
                    self._asked = self._level
                try:
                    found = await self._journal.read_all(self.place, wanted)
                    self._answered()
                except StoreDamaged as damage:
                    self._answered()
                    if most > 1:
                        most = 1  # one by one, up to the damaged one
                        continue
                    self._log.error("record_passed_over", place=self.place + 1, error=damage.why)
                    found, self.place = [], self.place + 1
                if found:
                    self._found = asyncio.get_running_loop().time()
                self._pass_on([record for record in found if record.sequence > self.place])  # others came meanwhile
                if self._early:
                    self._pass_on(self._next_early())
                if len(found) < wanted or (wanted < most and not self._early):
                    return

    def _answered(self) -> None:
        """Note that a read has been answered, and for how long the log was silent before, if it was."""
        now = asyncio.get_running_loop().time()
        silent_s = now - self._asked if self._asked is not None else 0.0
        self._asked = None
        if silent_s >= SILENCE_S:
            self._answers_since = now
        if silent_s >= self._long_s:
            self._outage = (now - silent_s, now)

    def silence_s(self) -> float:
        """Return for how long the log has not answered this server, in seconds; 0.0 if it does answer.

        A long silence that was over only a few seconds ago counts too, from its beginning until now.
        """
        now = asyncio.get_running_loop().time()
        began, ended = self._outage
        if now - ended <= AFTER_S:
            return now - began
        return now - self._asked if self._asked is not None else 0.0

    def is_silent(self) -> bool:
        """Return whether the log does not answer, or does so again only for a moment: others may have used it."""
        now = asyncio.get_running_loop().time()
        asked_s = now - self._asked if self._asked is not None else 0.0
        return asked_s >= SILENCE_S or now - self._answers_since < SILENCE_S

    def began(self) -> None:
        """Note that an append of this server is under way."""
        self._appending += 1

    def settled(self) -> None:
        """Note that one has ended, well or not; what it has brought is taken soon.

        All that ends in one call of the event loop, which is a commit, is taken together.
        """
        self._appending -= 1
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._take_new)

    def stored(self, records: Sequence[Record], last: int) -> None:
        """Take records of an append that has settled and is durable; `last` is the sequence number of the last one."""
        self._own += [StoredRecord(number, *record) for number, record in enumerate(records, last - len(records) + 1)]

    def _take_new(self) -> None:
        self._is_due = False
        own, self._own = self._own, []
        brought = self._journal.brought()
        if brought and brought[-1].sequence > self.place:
            self._found = asyncio.get_running_loop().time()
        if own or brought:
            self.take([*brought, *own])
            if not self._early:
                self._level = asyncio.get_running_loop().time()

    def take(self, records: Sequence[StoredRecord]) -> None:
        """Take records that a server has committed. Those after a gap wait for a moment; then the log is read."""
        for record in records:
            if record.sequence > self.place:
                self._early[record.sequence] = record
        self._call(self._next_early())
        if self._early and self._news is None:
            self._missing.set()
        elif self._early:
            asyncio.get_running_loop().call_later(GAP_S, self._look_for, min(self._early) - 1)

    def _look_for(self, sequence: int) -> None:
        if self.place < sequence and self._news is not None:
            self._news.look_again()

    def _next_early(self) -> list[StoredRecord]:
        """Return the records that have arrived and follow the last one, and forget those that are known by now."""
        found: list[StoredRecord] = []
        while record := self._early.pop(self.place + len(found) + 1, None):
            found.append(record)
        if self._early:
            self._early = {number: record for number, record in self._early.items() if number > self.place}
        if len(self._early) > MOST:
            self._early.clear()  # they will be read
        return found

    def _pass_on(self, found: Sequence[StoredRecord]) -> None:
        if found:
            self.place = found[-1].sequence
        if self._runs:
            self._journal.know(self.place)
        if self._news is not None:
            self._news.read_log(self.place)
        for listener in self._listeners:
            listener(found)
