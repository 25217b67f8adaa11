"""What is done after the store has failed: matches are read again from the journal, and go on from there.

Three things can have happened. An append failed: the match in memory is ahead of the record, so it is read again. The
making of a match failed: the match is looked for, because the store may have taken it all the same. A match is read
that is not live and has not ended: its making was reported as failed and had been stored, so it becomes live now.

A match whose record turns out to be damaged is set aside: it is live no longer, whoever asks for it is told what is
damaged, and the other matches go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Final

from arbiter.matches.commands import Interrupt, Interruption
from arbiter.matches.match import Match, Phase, with_position
from arbiter.service.matches.live import LiveMatches
from arbiter.service.matches.live_match import LiveMatch
from arbiter.service.ports.journal import RETRY_MS, Journal, StoreDamaged, StoredRecord, StoreFailed
from arbiter.service.ports.log import Logger
from arbiter.service.record.matches import event_of, load_match

RETRY_S: Final = RETRY_MS / 1000


class Recovery:
    """Brings live matches back to what the journal has. `append_failed` is one of their listeners for failures."""

    def __init__(self, journal: Journal, matches: LiveMatches, log: Logger) -> None:
        self._journal = journal
        self._matches = matches
        self._tasks: set[asyncio.Task[None]] = set()
        self._log = log

    @property
    def pending(self) -> int:
        """How many failed writes are being recovered from."""
        return len(self._tasks)

    def append_failed(self, live: LiveMatch) -> None:
        """Read a match again whose append failed; until that is done it takes no commands."""
        self._spawn(self._read_again(live))

    def creation_failed(self, match_id: str) -> None:
        """Look for a match whose making failed: if it was stored all the same, it becomes live.

        Nobody else would look for it if the player who made it never asks again.
        """
        self._spawn(self._look_for(match_id))

    async def adopt(self, match: Match) -> Match:
        """Make a match live that was read from the journal and has not ended; return it as far as it is durable."""
        if self._matches.draining or self._matches.find(match.id) is not None:
            return match
        live = self._matches.enter(match)
        await self._go_on(live)
        return live.durable or match

    async def stop(self) -> None:
        """Leave the rest undone: the next start reads the journal anyway."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _look_for(self, match_id: str) -> None:
        while True:
            await asyncio.sleep(RETRY_S)
            if self._matches.find(match_id) is not None:
                return  # somebody has asked for it
            try:
                records = await self._journal.read(match_id)
                match = load_match(records) if records else None
            except StoreDamaged as damage:
                self._log.error("match_set_aside", match=match_id, error=damage.why)
                return
            except StoreFailed:
                continue
            if match is not None and match.phase is not Phase.ENDED:
                await self.adopt(match)
            return

    async def _read_again(self, live: LiveMatch) -> None:
        match_id = live.newest.id
        if live.failures > 1:
            await asyncio.sleep(RETRY_S)
        while True:
            while live.tail is not None:  # commands that came after the failed append have their answers first
                await asyncio.wait([live.tail])
            try:
                records = await self._journal.read(match_id)
                match = load_match(records)
                break
            except StoreDamaged as damage:  # it is of no use to read it again: others go on without it
                self._log.error("match_set_aside", match=match_id, error=damage.why)
                self._matches.leave(live)
                return
            except StoreFailed as failure:
                self._log.warning("match_not_read", match=match_id, error=failure.message)
                await asyncio.sleep(RETRY_S)
        self._log.info("match_read_again", match=match_id, revision=match.revision)
        if self._restore(live, match, records):
            await self._go_on(live)

    def _restore(self, live: LiveMatch, match: Match, records: Sequence[StoredRecord]) -> bool:
        """Set a live match to the state of its records; return whether it has not ended.

        Events that were stored although the append was reported as failed are told to the listeners now.
        """
        assert live.durable is not None
        missed = records[live.durable.revision :]
        live.newest = with_position(match)._replace(secret=live.newest.secret)
        if missed:
            self._matches.became_durable(live, live.newest, missed, [event_of(record) for record in missed])
        live.failed = False
        if match.phase is Phase.ENDED:
            return False
        live.durable = live.newest
        return True

    async def _go_on(self, live: LiveMatch) -> None:
        """Interrupt a match, so that the outage is charged to nobody, and resume it with the players who are there."""
        await self._matches.decide(live, Interrupt(Interruption.RESTART))
        self._matches.note_present_players(live)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
