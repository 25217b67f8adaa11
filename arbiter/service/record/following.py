"""Follows the log of a store that several servers write to, and calls listeners with the new records.

These include the records of this server: a listener skips those that it knows. A server that is alone on its store does
not follow its log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from arbiter.service.ports.journal import Journal, StoreDamaged, StoredRecord, StoreFailed
from arbiter.service.ports.log import Logger

LOOK_S: Final = 0.05  #: time between two reads of new records
MOST: Final = 1_000  #: records in one read; after a full one the next read follows at once

Listener = Callable[[Sequence[StoredRecord]], None]
"""Called after each read with the new records, in the order of the log; there may be none."""


class Follower:
    """Reads new records, and calls `listeners` in order. place: the sequence number of the last record read."""

    def __init__(self, journal: Journal, listeners: list[Listener], log: Logger) -> None:
        self.place = 0
        self._journal = journal
        self._listeners = listeners
        self._log = log
        self._blind = False  # the last read has failed
        self._looking = asyncio.Lock()

    async def begin(self) -> None:
        """Follow the log from its current end on. Call this before unfinished matches are read. Raises StoreFailed."""
        self.place = await self._journal.head()

    async def run(self) -> NoReturn:
        """Follow until cancelled. Records that could not be read because the store failed are read later."""
        while True:
            try:
                await self.look()
                self._blind = False
            except StoreFailed as failure:
                if not self._blind:
                    self._log.warning("log_not_followed", error=failure.message)
                self._blind = True
            except Exception:  # an error in a listener: go on with the next records
                self._log.exception("log_listener_failed", place=self.place)
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Read all new records, and call the listeners with them. Raises StoreFailed."""
        async with self._looking:
            most = MOST
            while True:
                try:
                    found = await self._journal.read_all(self.place, most)
                except StoreDamaged as damage:
                    if most > 1:
                        most = 1  # one by one, up to the damaged one
                        continue
                    self._log.error("record_passed_over", place=self.place + 1, error=damage.why)
                    found, self.place = [], self.place + 1
                if found:
                    self.place = found[-1].sequence
                for listener in self._listeners:
                    listener(found)
                if len(found) < most:
                    return
