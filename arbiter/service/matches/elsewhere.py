"""What other servers do with the matches of a store that this one shares: which of these are live here, and how far.

A match is live here while it is on this server's own account: because it was made, asked for, or read here, or because
one of its players is here. What another server appends to it is taken in as soon as the log says so.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from arbiter.matches.match import Phase
from arbiter.service.matches.live import LiveMatches
from arbiter.service.matches.presence import Presence
from arbiter.service.matches.recovery import RETRY_S, Recovery
from arbiter.service.ports.journal import Filter, Journal, NewRecord, StoreDamaged, StoreFailed, Subject
from arbiter.service.ports.log import Logger
from arbiter.service.record.matches import load_match

PAGE: Final = 200  #: matches in one read of a player's list


class MatchesElsewhere:
    """Keeps the matches that are live here level with the log. `log_grown` listens to a `Follower` of it."""

    def __init__(
        self, journal: Journal, live: LiveMatches, recovery: Recovery, presence: Presence, log: Logger
    ) -> None:
        self._journal = journal
        self._live = live
        self._recovery = recovery
        self._presence = presence
        self._behind: dict[str, int] = {}  # matches that are live here, and up to which revision the log has them
        self._coming: Counter[str] = Counter()  # players whose matches are being read
        self._tasks: set[asyncio.Task[None]] = set()
        self._log = log

    def log_grown(self, news: Sequence[NewRecord]) -> None:
        """Take in what is new of matches that are live here, and make those live that are of players who are here."""
        for record in news:
            if record.subject is not Subject.MATCH:
                continue
            if self._live.find(record.match_id) is not None:
                self._behind[record.match_id] = record.revision
            elif any(self._is_here(player) for player in record.players):
                self._spawn(self._adopt(record.match_id))
        for match_id, revision in list(self._behind.items()):
            live = self._live.find(match_id)
            if live is None or (live.durable is not None and live.durable.revision >= revision):
                del self._behind[match_id]
            elif live.durable is not None and live.tail is None and live.waiting is None and not live.failed:
                self._recovery.take_in(live)  # otherwise an append of our own will show it, or it is being read anyway

    @asynccontextmanager
    async def gathered(self, player: str) -> AsyncIterator[None]:
        """Have all matches of a player live that have not ended, and during the context those that are made meanwhile.

        Raises StoreFailed.
        """
        self._coming[player] += 1
        try:
            before = 0
            while rows := await self._journal.summaries(Filter(player=player, ended=False), before, PAGE):
                for row in rows:
                    if self._live.find(row.match_id) is None:
                        await self._read(row.match_id)
                before = rows[-1].sequence
            yield
        finally:
            self._coming[player] -= 1
            if not self._coming[player]:
                del self._coming[player]

    async def stop(self) -> None:
        """Leave the rest unread."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _is_here(self, player: str) -> bool:
        return player in self._coming or self._presence.is_present(player)

    async def _adopt(self, match_id: str) -> None:
        """Make a match live that another server has made; it is tried until the store can be read."""
        while self._live.find(match_id) is None and not self._live.draining:
            try:
                await self._read(match_id)
                return
            except StoreFailed:
                await asyncio.sleep(RETRY_S)

    async def _read(self, match_id: str) -> None:
        """Make a match live. One that has ended is entered as it began: its players here are told what came then."""
        try:
            records = await self._journal.read(match_id)
            match = load_match(records)
            if match.phase is Phase.ENDED:
                match = load_match(records[:1])
        except StoreDamaged as damage:
            self._log.error("match_set_aside", match=match_id, error=damage.why)
            return
        await self._recovery.adopt(match)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
