"""The disk of a simulated server: group commits that take virtual time, fail, lie, or are interrupted by a crash.

While the log is locked (`log_lock`), the disk of a server that is alone on its store stands still.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from arbiter.matches import decide, seal
from arbiter.matches.commands import Interrupt, Interruption
from arbiter.service.ports.journal import Append, JournalConflict, Record, StoreFailed, Subject
from arbiter.service.record.match_log import load_match
from arbiter.testing.faults import FaultyJournal
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, lose_basis
from arbiter.testing.simulation.log_lock import LogLock
from arbiter.testing.simulation.plan import Fault
from arbiter.testing.virtual_processes import WORLD

Chance = Callable[[Fault], bool]
"""Throws the dice for a fault: whether it happens now."""


class Job(NamedTuple):
    """An append that waits for its commit, and its answer."""

    append: Append
    answer: asyncio.Future[int]


class Disk(FaultyJournal):
    """The view that one server process has of the journal in `stored`, which outlives the process.

    Waiting appends share the next commit, as in the writer of a real store (group commit). A commit takes up to two
    milliseconds, and up to three seconds when it is slow, and waits while the log is locked. Once the process has
    crashed, no call returns any more.
    """

    def __init__(self, stored: MemoryJournal, dice: Random, chance: Chance, lock: LogLock | None = None) -> None:
        super().__init__(stored)
        self._stored = stored
        self._dice = dice
        self._chance = chance
        self._lock = lock or LogLock()
        self._waiting: list[Job] = []
        self._writing: list[Job] = []
        self._dead = False
        self._never: list[asyncio.Future[Any]] = []  # futures that the crashed process waits for

    def append(self, append: Append) -> asyncio.Future[int]:
        """Store records in the next commit."""
        job = Job(append, asyncio.get_running_loop().create_future())
        if self._dead:
            self._never.append(job.answer)
            return job.answer
        self._waiting.append(job)
        if not self._writing:
            self._begin()
        return job.answer

    def _begin(self) -> None:
        self._writing, self._waiting = self._waiting, []
        slow = self._chance(Fault.SLOW)
        took_s = self._dice.uniform(0.05, 3.0) if slow else self._dice.uniform(0.0001, 0.002)
        asyncio.get_running_loop().call_later(took_s, self._arrive, context=WORLD)

    def _arrive(self) -> None:
        """Commit, once the log is not locked."""
        self._lock.when_free(self._commit)

    def _commit(self) -> None:
        if self._dead:
            return
        group, self._writing = self._writing, []
        refused, lied = self._chance(Fault.REFUSED), self._chance(Fault.LIED)
        alone = self._dice.choice(group) if (refused or lied) and self._dice.random() < 0.5 else None
        for job in group:
            struck = alone is None or job is alone
            self._store(job, refused and struck, lied and struck)
        if self._waiting:
            self._begin()

    def _store(self, job: Job, refused: bool, lied: bool) -> None:
        if refused:
            lose_basis(job.append)
            _resolve(job.answer, StoreFailed("a fault of the simulation"))
            return
        if self._chance(Fault.OVERTAKEN):
            interrupt_elsewhere(self._stored, job.append.records[0])
        try:
            place = self._stored.store(job.append)
        except JournalConflict as conflict:
            _resolve(job.answer, conflict)
            return
        if lied:
            lose_basis(job.append)
        _resolve(job.answer, StoreFailed("a fault of the simulation") if lied else place)

    def crash(self) -> None:
        """Crash the process: a prefix of the commit under way is stored, and waiting appends are lost.

        If the log is locked, nothing is.
        """
        self._dead = True
        kept = self._writing[: self._dice.randint(0, len(self._writing))]
        if self._lock.is_held:
            self._keep(kept)
        else:
            self._store_rest(kept)
        self._never += [job.answer for job in (*self._writing, *self._waiting)]

    def _keep(self, jobs: list[Job]) -> None:
        """Store what the process had written when it died while the log was locked: nothing has come to the disk."""

    def _store_rest(self, jobs: list[Job]) -> None:
        for job in jobs:
            try:
                self._stored.store(job.append)
            except JournalConflict:
                continue

    async def before_reading(self) -> None:
        """Delay a read, or make it fail."""
        await self._lock.free()
        if self._dead:
            never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._never.append(never)
            await never
        if self._chance(Fault.SLOW):
            await asyncio.sleep(self._dice.uniform(0.01, 0.5))
            await self.before_reading()
        elif self._chance(Fault.DEAF):
            raise StoreFailed("a fault of the simulation")


class FaultyDirectory(MemoryDirectory):
    """The directory on the same disk: players and tokens, which sometimes cannot be read or written."""

    def __init__(self, chance: Chance, lock: LogLock) -> None:
        super().__init__()
        self._chance = chance
        self._lock = lock

    async def before(self) -> None:
        """Delay a call, or make it fail."""
        await super().before()
        await self._lock.free()
        if self._chance(Fault.DEAF):
            raise StoreFailed("a fault of the simulation")


def interrupt_elsewhere(stored: MemoryJournal, before: Record) -> None:
    """Have another server interrupt a match just before a record of it, unless it is its first, or it has ended."""
    records = stored.of_match(before.match_id)
    if before.subject is not Subject.MATCH or not records:
        return
    match = load_match(records)
    events = decide(match, Interrupt(Interruption.RESTART), match.at).events
    if events:
        sealed = seal(match, events)
        stored.store(Append(tuple(Record(match.id, each.revision, each.data, Subject.MATCH) for each in sealed)))


def _resolve(answer: asyncio.Future[int], outcome: int | Exception) -> None:
    if answer.done():
        return
    if isinstance(outcome, Exception):
        answer.set_exception(outcome)
    else:
        answer.set_result(outcome)
