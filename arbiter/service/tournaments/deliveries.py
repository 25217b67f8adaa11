"""Deliveries to web hooks: events of tournaments go out in order, each until its receiver has accepted it.

The log of the tournament says what is to be delivered. Of a web hook the store has the revision up to which that is
done. Before an attempt, this is written beside it: how often the delivery was tried, and when the next attempt may
begin if nothing more is heard of this one. So after a crash the next server goes on there; and of several servers that
try at the same time, one can write it down and makes the attempt. While the player that made a web hook is suspended,
no attempt is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NoReturn

from arbiter.config import WebHookSettings
from arbiter.errors import shortened
from arbiter.service.ports.directory import Directory
from arbiter.service.ports.journal import StoreDamaged, StoredRecord, StoreFailed, Subject
from arbiter.service.ports.web_hooks import DeliveryFailed, Sender, WebHook
from arbiter.service.record.tournament_log import event_of
from arbiter.service.tournaments.tournament_ports import Dependencies
from arbiter.service.tournaments.tournament_registry import TournamentRegistry
from arbiter.service.tournaments.web_hook_message import TYPES, body_of, headers_of
from arbiter.tournaments import events as ev
from arbiter.tournaments.tournament import Tournament

AT_ONCE: Final = 32  #: attempts of a server at the same time; further ones wait
LOOK_S: Final = 1.0  #: time between two looks for attempts that are due
PAUSE_S: Final = 0.1  #: least time between two looks: a tournament of fast bots grows many times a second
GRACE_MS: Final = 5_000  #: after the time limit of an attempt, until another server takes it for lost
SUSPENDED: Final = "the player that made it is suspended: it goes on once that has ended"
LONGEST_ERROR: Final = 200  #: characters of the reason of a failure that are kept
RECORDS: Final = 100  #: records of a log that are read at once


def pause_ms(settings: WebHookSettings, tries: int) -> int:
    """Return the pause after a number of attempts in vain, from 1, in milliseconds."""
    return int(min(settings.pause_ms * 2 ** min(tries - 1, 40), settings.longest_pause_ms))


class Deliveries:
    """Delivers the events of tournaments to their web hooks, on each server that has players."""

    def __init__(
        self,
        dependencies: Dependencies,
        tournaments: TournamentRegistry,
        directory: Directory,
        sender: Sender,
        settings: WebHookSettings,
    ) -> None:
        self.hooks: Final = directory.web_hooks
        self._directory = directory
        self._journal = dependencies.journal
        self._tournaments = tournaments
        self.sender: Final = sender
        self._clock = dependencies.clock
        self.settings: Final = settings
        self._others = dependencies.others
        self._log = dependencies.log
        self._grown: set[str] = set()  # tournaments with new records
        self._wake = asyncio.Event()
        self._under_way: dict[str, asyncio.Task[None]] = {}  # by web hook
        self._at_once = asyncio.Semaphore(AT_ONCE)

    def tournament_changed(self, tournament: Tournament, events: Sequence[ev.Event]) -> None:
        """Look at the web hooks of a tournament with new events."""
        if any(type(event) in TYPES for event in events):
            self.look_at(tournament.id)

    def log_grown(self, found: Sequence[StoredRecord]) -> None:
        """Look at the web hooks of the tournaments of which other servers have stored events."""
        for record in found:
            if record.subject is Subject.TOURNAMENT:
                self.look_at(record.match_id)

    def look_at(self, tournament_id: str) -> None:
        """Look soon at the web hooks of a tournament."""
        self._grown.add(tournament_id)
        self._wake.set()

    async def run(self) -> NoReturn:
        """Deliver until cancelled. A process that has the page only delivers nothing."""
        if self._others.page_only:
            await asyncio.Future()
        every = True
        try:
            while True:
                every = not await self._look(every) and every
                await asyncio.sleep(PAUSE_S)
                timer = asyncio.get_running_loop().call_later(LOOK_S, self._wake.set)
                await self._wake.wait()
                timer.cancel()
                self._wake.clear()
        finally:
            tasks = list(self._under_way.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self, every: bool) -> bool:
        """Go on with the web hooks that may have something to deliver; return whether the store could be read.

        every: go on with all that have not stopped, as after a start.
        """
        grown, self._grown = self._grown, set()
        try:
            found = await (self.hooks.active() if every else self.hooks.due(self._clock.now_ms()))
            for tournament_id in sorted(grown):
                found += await self.hooks.of_tournament(tournament_id)
        except StoreFailed as failure:
            self._grown |= grown
            self._log.warning("web_hooks_not_read", error=failure.message)
            return False
        for hook in found:
            if hook.hook_id not in self._under_way:
                await self._at_once.acquire()  # before there is a task: thousands of them would begin in one step
                self._under_way[hook.hook_id] = asyncio.create_task(self._go_on(hook))
            elif hook.tournament_id in grown:
                self._grown.add(hook.tournament_id)  # it may have read the log before that
        return True

    async def _go_on(self, hook: WebHook) -> None:
        """Make all deliveries of a web hook that are due."""
        try:
            following: WebHook | None = hook
            while following is not None:
                following = await self._step(following)
        except StoreFailed as failure:
            self._log.warning("web_hook_waits", web_hook=hook.hook_id, error=failure.message)
            self._grown.add(hook.tournament_id)
        except Exception:  # our code has an error: the other web hooks go on
            self._log.exception("web_hook_failed", web_hook=hook.hook_id)
        finally:
            del self._under_way[hook.hook_id]
            self._at_once.release()

    async def _step(self, hook: WebHook) -> WebHook | None:
        """Make the next delivery of a web hook, if it is due; return the web hook if it goes on at once."""
        if hook.stopped or hook.due_ms > self._clock.now_ms():
            return None
        try:
            records = await self._journal.read(hook.tournament_id, hook.revision, RECORDS, Subject.TOURNAMENT)
            told = ((record, event_of(record)) for record in records)
            found = next(((record, event) for record, event in told if type(event) in TYPES), None)
            if found is None:
                if len(records) < RECORDS:
                    return None
                return await self._changed(replace(hook, revision=hook.revision + RECORDS), hook)
            tournament = await self._tournaments.get(hook.tournament_id)
        except StoreDamaged as damage:
            await self.hooks.change(replace(hook, stopped=True, error=damage.message), hook)
            return None
        record, event = found
        if tournament.revision < record.revision:  # this server has not read it yet
            self._grown.add(hook.tournament_id)
            return None
        maker = await self._directory.player(hook.creator)
        if maker is not None and maker.suspended:
            due = self._clock.now_ms() + self.settings.pause_ms
            await self.hooks.change(replace(hook, due_ms=due, error=SUSPENDED), hook)
            return None
        return await self._attempt(hook, record, body_of(tournament, record, event, self.settings.body_bytes))

    async def _attempt(self, hook: WebHook, record: StoredRecord, body: bytes) -> WebHook | None:
        """Try to deliver a record; return the web hook if it goes on at once."""
        now = self._clock.now_ms()
        due = now + self.settings.timeout_ms + GRACE_MS
        tried = replace(hook, revision=record.revision - 1, tries=hook.tries + 1, due_ms=due)
        if not await self.hooks.change(tried, hook):
            return None  # another server makes it, or the web hook was removed
        try:
            await self.sender.send(hook.url, headers_of(hook, record.revision, body, now), body)
        except DeliveryFailed as failure:
            await self.hooks.change(self._failed(tried, failure), tried)
            return None
        now = self._clock.now_ms()
        done = replace(tried, revision=record.revision, tries=0, due_ms=0, error="", delivered_ms=now)
        return await self._changed(done, tried)

    async def _changed(self, hook: WebHook, was: WebHook) -> WebHook | None:
        return hook if await self.hooks.change(hook, was) else None

    def _failed(self, tried: WebHook, failure: DeliveryFailed) -> WebHook:
        """Return a web hook after an attempt in vain."""
        stopped = failure.gone or tried.tries >= self.settings.tries
        self._log.info("not_delivered", web_hook=tried.hook_id, tries=tried.tries, stopped=stopped, error=str(failure))
        due = self._clock.now_ms() + pause_ms(self.settings, tried.tries)
        return replace(tried, due_ms=due, error=shortened(str(failure), LONGEST_ERROR), stopped=stopped)
