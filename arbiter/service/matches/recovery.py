"""What is done when memory and journal differ: matches are read again, and go on from what is stored.

Four things can have happened. An append failed: the match in memory is ahead of the record, so it is read again. The
making of a match failed: the match is looked for, because the store may have taken it all the same. In these two cases
the match is interrupted, so that nobody is charged for the outage. Another server has appended first: what it has
stored is taken in, and nobody notices; the same is done when the log says that another server has appended
(`elsewhere`). A match is read that is not live and has not ended: another server serves it,
so it becomes live here as it is; or its making here was reported as failed and had been stored.

A match whose record turns out to be damaged is set aside: it is live no longer, whoever asks for it is told what is
damaged, and the other matches go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from arbiter.matches.commands import Interrupt, Interruption
from arbiter.matches.match import Match, Phase, with_position
from arbiter.service.matches.live import LiveMatches
from arbiter.service.matches.live_match import AdoptionListener, LiveMatch
from arbiter.service.ports.journal import RETRY_MS, Basis, Journal, StoreDamaged, StoredRecord, StoreFailed
from arbiter.service.ports.log import Logger
from arbiter.service.record.matches import Loading, event_of, load_match

RETRY_S: Final = RETRY_MS / 1000


class Recovery:
    """Brings live matches back to what the journal has. `append_failed` is one of their listeners for failures.

    `adoption_listeners` are called with each match that has become live here as another server has stored it.
    """

    def __init__(
        self, journal: Journal, matches: LiveMatches, adoption_listeners: Iterable[AdoptionListener], log: Logger
    ) -> None:
        self._journal = journal
        self._matches = matches
        self._adoption_listeners = adoption_listeners
        self._tasks: set[asyncio.Task[None]] = set()
        self._unsure: set[str] = set()  # matches whose making here failed, and that may have been stored
        self._log = log

    @property
    def pending(self) -> int:
        """How many failed or overtaken writes are being recovered from."""
        return len(self._tasks)

    def append_failed(self, live: LiveMatch) -> None:
        """Read a match again whose append failed or was overtaken; until that is done it decides no commands."""
        self._spawn(self._read_again(live) if live.failed else self._catch_up(live))

    def take_in(self, live: LiveMatch) -> None:
        """Take in what another server may have appended to a match; it must have no append under way here."""
        self._matches.fall_behind(live, lost=False)

    def creation_failed(self, match_id: str) -> None:
        """Look for a match whose making failed: if it was stored all the same, it becomes live.

        Nobody else would look for it if the player who made it never asks again.
        """
        self._unsure.add(match_id)
        self._spawn(self._look_for(match_id))

    async def adopt(self, match: Match) -> Match:
        """Make a match live that was read from the journal and has not ended; return it as far as it is durable.

        It is interrupted if its making here failed: its players may wait for it in vain. Otherwise another server has
        made it and may be serving it: its clocks run on. What that server has appended meanwhile is taken in.
        """
        if self._matches.draining or self._matches.find(match.id) is not None:
            return match
        live = self._matches.enter(match)
        if match.id in self._unsure:
            await self._go_on(live)
        else:
            self._matches.watch(live)
            self.take_in(live)
            for listener in self._adoption_listeners:
                listener(live.newest)
            self._matches.note_present_players(live)
        return live.durable or match

    async def stop(self) -> None:
        """Leave the rest undone: the next start reads the journal anyway."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _look_for(self, match_id: str) -> None:
        try:
            await self._look_until_known(match_id)
        finally:
            self._unsure.discard(match_id)

    async def _look_until_known(self, match_id: str) -> None:
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

    async def _catch_up(self, live: LiveMatch) -> None:
        """Take in what another server has appended to a match.

        If that can't be read after an append here was refused, the store has failed. Otherwise nothing has been lost
        here, and it is tried again.
        """
        assert live.durable is not None
        match_id, known = live.durable.id, live.durable.revision
        while live.tail is not None:  # what builds on what was overtaken is refused too
            await asyncio.wait([live.tail])
        loading = Loading(live.durable)
        while True:
            try:
                records = await self._journal.read(match_id, known)
                for record in records:
                    loading.add(record)
                break
            except StoreDamaged as damage:
                self._matches.set_aside(live, damage)
                return
            except StoreFailed as failure:
                if live.lost:
                    self._matches.fail(live, failure)
                    return
                self._matches.refuse_waiting(live, failure)
                live.waiting = []
            await asyncio.sleep(RETRY_S)
        if records or not live.lost:
            if records:
                self._log.info("match_caught_up", match=match_id, known=known, revision=loading.match.revision)
            events = [event_of(record) for record in records]
            self._matches.catch_up(live, loading.match, records, events)
            if records and loading.match.phase is not Phase.ENDED:
                # the other may have taken players for absent who are here
                self._matches.note_present_players(live)
        else:  # nobody was first, and yet the revision was refused: what is in memory is not what is stored
            self._matches.fail(live, StoreFailed(f"it has no record behind revision {known} of match {match_id}"))

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
                self._matches.set_aside(live, damage)
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
        live.newest = replace(with_position(match), secret=live.newest.secret)
        if missed:
            self._matches.became_durable(live, live.newest, missed, [event_of(record) for record in missed])
        live.failed = False
        live.basis = Basis()
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
