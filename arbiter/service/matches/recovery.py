"""Recovery when memory and the journal differ: matches are read again, and continue from the stored state.

There are four cases:

- An append failed. The match in memory is ahead of the record, so the record is read again.
- The creation of a match failed. The match is looked for, because the store may have accepted it all the same.
- Another server appended first, or the log shows that it has appended (`elsewhere`). Its events are applied.
- A match that was read has not ended, is not live here, and is not one of the second case. Another server serves it.
  So it becomes live here in its stored state.

In the first two cases the match is interrupted, so that nobody is charged for the outage. In the others, nobody
notices.

If the record of a match turns out to be damaged, the match is set aside: it is no longer live, calls about it are
refused with the reason, and the other matches go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Final

from arbiter.matches.commands import Interrupt, Interruption
from arbiter.matches.match import Match, Phase
from arbiter.service.matches.attendance import Attendance
from arbiter.service.matches.decisions import Decisions
from arbiter.service.matches.live_match import AdoptionListener, LiveMatch
from arbiter.service.ports.journal import RETRY_MS, AppendBase, Journal, RecordUnreadable, StoredRecord, StoreFailed
from arbiter.service.ports.log import Logger
from arbiter.service.record.match_log import Loading, event_of, load_match
from arbiter.service.record.published import published
from arbiter.service.tasks import Tasks

RETRY_S: Final = RETRY_MS / 1000


class Recovery:
    """Brings live matches back to their stored state. `append_failed` is one of their failure listeners.

    `adoption_listeners` are called with each match that has become live here in the state that was read from the store.
    """

    def __init__(
        self,
        journal: Journal,
        decisions: Decisions,
        attendance: Attendance,
        adoption_listeners: Sequence[AdoptionListener],
        log: Logger,
    ) -> None:
        self._journal = journal
        self._decisions = decisions
        self._attendance = attendance
        self._live = decisions.live
        self._adoption_listeners = adoption_listeners
        self._tasks = Tasks()
        self._unsure: set[str] = set()  # matches whose creation here failed, but that may be stored
        self._stopped = False
        self._log = log

    @property
    def pending(self) -> int:
        """The number of recoveries under way."""
        return len(self._tasks)

    def append_failed(self, live: LiveMatch) -> None:
        """Recover a match whose append failed, or which another server has changed.

        Until this is done, the match decides no commands.
        """
        self._spawn(self._read_again(live) if live.failed else self._catch_up(live))

    def take_in(self, live: LiveMatch) -> None:
        """Apply the events that another server may have appended. The match must have no append under way here."""
        self._decisions.fall_behind(live, lost=False)

    def creation_failed(self, match_id: str) -> None:
        """Look for a match whose creation failed. If it was stored all the same, it becomes live.

        Nobody else would look for it if its creator never repeats the request.
        """
        self._unsure.add(match_id)
        self._spawn(self._look_for(match_id))

    async def adopt(self, match: Match) -> Match:
        """Make an unfinished match live that was read from the journal; return its durable state.

        If its creation here failed, the match is interrupted, because its players may be waiting for it. Otherwise
        another server has created it and may be serving it: its clocks go on, and the events that the other server has
        appended meanwhile are applied. A match of a game whose rules are not installed waits, and does not become live.
        """
        if self._live.draining or self._live.find(match.id) is not None or not match.game.installed:
            return match
        live, created_here = self._live.enter(match), match.id in self._unsure
        if not created_here:
            self._decisions.watch(live)
            self.take_in(live)
        for listener in self._adoption_listeners:
            listener(live.newest)
        if created_here:
            await self._go_on(live)
        else:
            self._attendance.note_present_players(live)
        return live.durable or match

    async def stop(self) -> None:
        """Cancel all recoveries, and begin none any more: the next start reads the journal anyway."""
        self._stopped = True
        await self._tasks.cancel()

    async def _look_for(self, match_id: str) -> None:
        try:
            await self._look_until_known(match_id)
        finally:
            self._unsure.discard(match_id)

    async def _look_until_known(self, match_id: str) -> None:
        while True:
            await asyncio.sleep(RETRY_S)
            if self._live.find(match_id) is not None:
                return  # another call has made it live
            try:
                records = await self._journal.read(match_id)
                match = load_match(records) if records else None
            except RecordUnreadable as damage:
                self._live.note_unreadable(match_id, damage)
                return
            except StoreFailed:
                continue
            if match is not None and match.phase is not Phase.ENDED:
                await self.adopt(match)
            return

    async def _catch_up(self, live: LiveMatch) -> None:
        """Apply the events that another server has appended to a match.

        If they can't be read, and an append here was refused, the store has failed. If no append was refused, nothing
        is lost, and the read is repeated.
        """
        assert live.durable is not None
        match_id, known = live.durable.id, live.durable.revision
        while live.tail is not None:  # appends that build on the refused one are refused too
            await live.tail.done()
        loading = Loading(live.durable)
        while True:
            try:
                records = await self._journal.read(match_id, known)
                events = [loading.add(record) for record in records]
                break
            except RecordUnreadable as damage:
                self._decisions.set_aside(live, damage)
                return
            except StoreFailed as failure:
                if live.lost:
                    self._decisions.fail(live, failure)
                    return
                self._decisions.refuse_waiting(live, failure)
                live.waiting = []
            await asyncio.sleep(RETRY_S)
        if records or not live.lost:
            if records:
                self._log.info("match_caught_up", match=match_id, known=known, revision=loading.match.revision)
            self._decisions.catch_up(live, loading.match, records, events)
            if records and loading.match.phase is not Phase.ENDED:
                # players of this server may be absent for the other server
                self._attendance.note_present_players(live)
        else:  # refused although no server wrote it first: memory differs from the store
            self._decisions.fail(live, StoreFailed(f"it has no record after revision {known} of match {match_id}"))

    async def _read_again(self, live: LiveMatch) -> None:
        match_id = live.newest.id
        if live.failures > 1:
            await asyncio.sleep(RETRY_S)
        while True:
            while live.tail is not None:  # first answer the commands after the failed append
                await live.tail.done()
            try:
                records = await self._journal.read(match_id)
                match = load_match(records)
                break
            except RecordUnreadable as damage:  # a retry does not help; the other matches go on
                self._decisions.set_aside(live, damage)
                return
            except StoreFailed as failure:
                self._log.warning("match_not_read", match=match_id, error=failure.message)
                await asyncio.sleep(RETRY_S)
        self._log.info("match_read_again", match=match_id, revision=match.revision)
        if self._restore(live, match, records):
            await self._go_on(live)

    def _restore(self, live: LiveMatch, match: Match, records: Sequence[StoredRecord]) -> bool:
        """Set a live match to the state of its records; return whether it has not ended.

        If events were stored although their append was reported as failed, the listeners are called with them now.
        """
        assert live.durable is not None
        missed = records[live.durable.revision :]
        self._live.renew(live, match)
        if missed:
            events = [event_of(record) for record in missed]
            self._decisions.became_durable(live, live.newest, published(missed, events, match.created.label))
        live.failed = False
        live.basis = AppendBase()
        if match.phase is Phase.ENDED:
            return False
        live.durable = live.newest
        return True

    async def _go_on(self, live: LiveMatch) -> None:
        """Interrupt a match, so that nobody is charged for the outage, and resume it with the present players."""
        await self._decisions.decide(live, Interrupt(Interruption.RESTART))
        self._attendance.note_present_players(live)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        if self._stopped:
            work.close()
        else:
            self._tasks.start(work)
