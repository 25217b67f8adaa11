"""Follows the log of a store that other servers write too, and tells who wants to know what is new.

The records of this server are among them: who listens passes over what it knows. A server that is alone on its store
follows nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from arbiter.service.ports.journal import Journal, StoreDamaged, StoredRecord, StoreFailed
from arbiter.service.ports.log import Logger

LOOK_S: Final = 0.05  #: time between two looks for new records
MOST: Final = 1_000  #: records in one look; behind a full one the next follows at once

Listener = Callable[[Sequence[StoredRecord]], None]
"""Called after each look with the records that are new, in the order of the log; there may be none."""


class Follower:
    """Looks for new records, and calls `listeners` in their order. `place`: of the last record that it has seen."""

    def __init__(self, journal: Journal, listeners: list[Listener], log: Logger) -> None:
        self.place = 0
        self._journal = journal
        self._listeners = listeners
        self._log = log
        self._blind = False  # the last look has failed
        self._looking = asyncio.Lock()

    async def begin(self) -> None:
        """Follow the log from where it ends now: to be called before what has not ended is read. Raises StoreFailed."""
        self.place = await self._journal.head()

    async def run(self) -> NoReturn:
        """Look until cancelled. While the store can't be read, nothing is told; afterwards all of it is."""
        while True:
            try:
                await self.look()
                self._blind = False
            except StoreFailed as failure:
                if not self._blind:
                    self._log.warning("log_not_followed", error=failure.message)
                self._blind = True
            except Exception:  # a mistake of ours in one listener: the others and what comes next are told all the same
                self._log.exception("log_listener_failed", place=self.place)
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Tell all that the log has by now. Raises StoreFailed."""
        async with self._looking:
            most = MOST
            while True:
                try:
                    found = await self._journal.read_all(self.place, most)
                except StoreDamaged as damage:
                    if most > 1:
                        most = 1  # one by one, up to that which is damaged
                        continue
                    self._log.error("record_passed_over", place=self.place + 1, error=damage.why)
                    found, self.place = [], self.place + 1
                if found:
                    self.place = found[-1].sequence
                for listener in self._listeners:
                    listener(found)
                if len(found) < most:
                    return
