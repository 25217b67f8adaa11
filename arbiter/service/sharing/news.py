"""News between the servers that share a store: what this server reports on the bus, and what the others report.

Every message is a hint to read the store now, or spares a read. A server that hears reports of all other servers trusts
the bus, and reads the store rarely. If a report of one of them is missing or old, it reads the store 20 times a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Final, NoReturn

from arbiter.service.ports.bus import Bus, Message, Report, StreamOpened
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import Record, StoredRecord
from arbiter.service.ports.log import Logger

REPORT_S: Final = 0.05  #: between two reports of a server that commits nothing
FRESH_MS: Final = 120  #: an older report says nothing about now
RARE_S: Final = 1.0  #: between two reads while the bus is trusted
CHANGE_S: Final = (
    3.0  #: the bus is lost, or back, for this long before the log says so; a killed server is known to be gone then
)
MOST_BYTES: Final = 32_768  #: of records in one report

TakeRecords = Callable[[Sequence[StoredRecord]], None]


class _Due:
    """Something that is to be read: at once if somebody says so, and after a while in any case."""

    def __init__(self) -> None:
        self._now = asyncio.Event()
        self._read_at = 0.0

    def now(self) -> None:
        """Say that it is to be read at once."""
        self._now.set()

    async def wait(self, often_s: float, rarely: bool) -> bool:
        """Wait for at most `often_s`; return whether it is to be read. rarely: without cause, once in RARE_S."""
        with suppress(TimeoutError):
            async with asyncio.timeout(often_s):
                await self._now.wait()
        time = asyncio.get_running_loop().time()
        if not self._now.is_set() and rarely and time - self._read_at < RARE_S:
            return False
        self._now.clear()
        self._read_at = time
        return True


class News:
    """The reports of this server and of the others.

    has_stream: returns whether a player has a Play stream here. server: the id of this server, '' until it is known.
    published, received: numbers of messages.
    """

    def __init__(self, bus: Bus, clock: Clock, has_stream: Callable[[str], bool], log: Logger) -> None:
        self.server = ""
        self.published = self.received = 0
        self._bus = bus
        self._clock = clock
        self._log = log
        self._place = self._notice = 0  # what this server has read of the log and of the notices
        self._written = 0  # the last record that it has written
        self._records: list[StoredRecord] = []  # committed in this call of the event loop, and not reported yet
        self._others: frozenset[str] = frozenset()
        self._heard: dict[str, int] = {}  # by server: when its newest report was sent
        self._log_grown, self._noticed, self._stream_opened = _Due(), _Due(), _Due()
        self._take: TakeRecords | None = None
        self._has_stream = has_stream
        self.lost = False  #: whether the bus is not to be trusted, for more than a moment

    def on_records(self, take: TakeRecords) -> None:
        """Have `take` called with records that were committed, by this server or another. Some may be missing."""
        self._take = take

    # -- what this server reports ------------------------------------------------------------------------------------

    def stored(self, records: Sequence[Record], last: int) -> None:
        """Report records of this server that are durable; `last` is the sequence number of the last one.

        All records of one call of the event loop, which are those of a commit, become one report.
        """
        if not self._records:
            asyncio.get_running_loop().call_soon(self._report_stored)
        first = last - len(records) + 1
        self._records += [StoredRecord(number, *record) for number, record in enumerate(records, first)]

    def _report_stored(self) -> None:
        records, self._records = tuple(self._records), []
        size = sum(len(record.body) for record in records)
        self._written = records[-1].sequence
        self._report(records if size <= MOST_BYTES else ())
        if self._take is not None:
            self._take(records)

    def read_log(self, place: int) -> None:
        """Note that this server has read the log up to a sequence number."""
        self._place = place

    def read_notices(self, number: int) -> None:
        """Report that this server has read the notices up to a number, if it is new."""
        if number > self._notice:
            self._notice = number
            self._report()

    def wrote_notice(self) -> None:
        """Have the notices read: this server has written one."""
        self._noticed.now()

    def opened_stream(self, player: str) -> None:
        """Report that a player has opened a Play stream here."""
        self._publish(StreamOpened(self.server, player))

    def _report(self, records: tuple[StoredRecord, ...] = ()) -> None:
        place = max(self._place, self._written)
        self._publish(Report(self.server, self._clock.now_ms(), place, self._notice, records))

    def _publish(self, message: Message) -> None:
        self.published += 1
        self._bus.publish(message)

    # -- what the others report --------------------------------------------------------------------------------------

    def expect(self, others: Collection[str]) -> None:
        """Note the other servers that are alive, by the store."""
        self._others = frozenset(others)
        for server in self._heard.keys() - self._others:
            del self._heard[server]

    def _hear(self, message: Message) -> None:
        if message.server == self.server:
            return
        self.received += 1
        if isinstance(message, StreamOpened):
            if self._has_stream(message.player):
                self._stream_opened.now()
            return
        is_known = message.server in self._others
        if is_known:
            newest = max(self._heard.get(message.server, 0), min(message.at_ms, self._clock.now_ms()))
            self._heard[message.server] = newest
        if message.notice > self._notice:
            self._noticed.now()
        if message.records and is_known and self._take is not None:
            self._take(message.records)
        elif message.place > self._place:
            self._log_grown.now()

    def look_again(self) -> None:
        """Have the log read: records have arrived, and others before them have not."""
        self._log_grown.now()

    @property
    def unheard(self) -> list[str]:
        """The other servers of which no fresh report has arrived."""
        oldest = self._clock.now_ms() - FRESH_MS
        return sorted(server for server in self._others if self._heard.get(server, 0) < oldest)

    @property
    def is_trusted(self) -> bool:
        """Whether the news of all other servers arrives: nothing has to be read that no report has mentioned."""
        return not self._bus.trouble and not self.unheard

    async def log_grown(self, often_s: float) -> bool:
        """Wait, at most for a while, and return whether the log is to be read.

        It is if another server says that there are new records, or after enough time. often_s: the longest wait, and
        the time between two reads where there is no bus.
        """
        return await self._log_grown.wait(often_s, self.is_trusted)

    async def noticed(self, often_s: float) -> bool:
        """Wait for new notices as `log_grown` does for records."""
        return await self._noticed.wait(often_s, self.is_trusted)

    async def stream_opened(self, seconds: float) -> None:
        """Wait until a player who has a stream here may have opened another one elsewhere, or until the time is up."""
        await self._stream_opened.wait(seconds, False)

    # -- whether the bus works -----------------------------------------------------------------------------------------

    async def run(self) -> NoReturn:
        """Report several times a second, and log when the bus is lost and when it is back, until cancelled."""
        self._bus.listen(self._hear)
        now = asyncio.get_running_loop().time
        changed: float | None = None  # since when the bus is not as the log says
        while True:
            self._report()
            if self.is_trusted is not self.lost:
                changed = None
            elif changed is None:
                changed = now()
            elif now() - changed >= CHANGE_S:
                changed, self.lost = None, not self.lost
                self._log_change()
            await asyncio.sleep(REPORT_S)

    def _log_change(self) -> None:
        if self.lost:
            self._log.warning("bus_lost", error=self._bus.trouble or "not all servers are heard", unheard=self.unheard)
        else:
            self._log.info("bus_back")
