"""Commits that need no interpreter lock: of writes that look nothing up, such as moves and the ends of matches.

The thread that stores them (`_commit_thread.c`) never takes the interpreter's lock, and the writer's thread has nothing
to do meanwhile. What it can't store it gives back, and the writer's thread stores that: it alone deals with errors.
Either thread waits until the other one has finished, so the order of the calls is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from arbiter.store.jobs import Job

if TYPE_CHECKING:
    from arbiter.store._commit_thread import CommitThread

JobsCommitted = Callable[[list[Job], float, bool], None]
"""Called in the event loop with the jobs of a commit, in order, its duration in seconds, and `same_files`.

same_files: whether the store's files were those of the commit before, when it was done.
"""


class UnlockedCommits:
    """The jobs that the thread without the interpreter's lock has. One event loop uses it at a time."""

    def __init__(self, thread: CommitThread, committed: JobsCommitted, woken: Callable[[], None]) -> None:
        """`woken` is called in the event loop after commits, also after one that failed."""
        self._commit_thread = thread
        self._committed = committed
        self._woken = woken
        self._loop: asyncio.AbstractEventLoop | None = None  # the event loop that takes the results
        self._given = self._taken = 0  # jobs: only the event loop changes these
        self._returned = 0  # jobs: only the writer's thread changes this

    def give(self, jobs: list[Job]) -> bool:
        """Queue the jobs of a turn of the event loop for the next commit, all or none. Return whether it did.

        Call this in their event loop, only while the writer's thread has nothing to do. Raises what `rows_of` raises,
        TypeError for rows of another form.
        """
        first = jobs[0]
        for job in jobs:
            if job.rows_of is None or job.rows_of is not first.rows_of or job.loop is not first.loop:
                return False
        if self.failure() is not None or not self._takes_results(first.loop):
            return False
        assert first.rows_of is not None
        found = first.rows_of([job.item for job in jobs])
        if found is None or not self._commit_thread.put(jobs, found[0], found[1]):
            return False
        for job, result in zip(jobs, found[2], strict=True):
            job.result = result
        self._given += len(jobs)
        return True

    def _takes_results(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Return whether an event loop takes the results: the first one does, and after its end the next one."""
        if self._loop is None or self._loop.is_closed():
            loop.add_reader(self._commit_thread.fileno(), self._take_and_wake)
            self._loop = loop
        return self._loop is loop

    def _take_and_wake(self) -> None:
        if self._loop is not None:
            self.take(self._loop)
        self._woken()

    def take(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hand over what has been stored, in this event loop; does nothing if another one gave it."""
        if loop is not self._loop:
            return
        stored = list[Job]()
        for jobs, seconds, same_files in self._commit_thread.finished():
            stored += jobs
            if seconds >= 0:  # it is the last batch of its commit
                self._taken += len(stored)
                self._committed([job for job in stored if not job.loop.is_closed()], seconds, same_files)
                stored = []

    def failure(self) -> str | None:
        """Return why the thread stores nothing more until `resume`; None if it does."""
        return self._commit_thread.stopped()

    def given_back(self) -> list[Job]:
        """Wait until the thread has nothing to do; return what it could not store, in order.

        Only the writer's thread calls this.
        """
        self._commit_thread.wait_idle()
        jobs = [job for batch in self._commit_thread.given_back() for job in batch]
        self._returned += len(jobs)
        return jobs

    def checkpoint(self) -> None:
        """Have the thread finish a checkpoint between two commits. Any thread may call this."""
        self._commit_thread.checkpoint()

    def resume(self) -> None:
        """Let the thread store again after a failure: what it gave back is dealt with."""
        self._commit_thread.resume()

    def waiting(self) -> int:
        """Return how many jobs the thread has, and whose results nobody has taken."""
        return self._given - self._taken - self._returned

    def close(self) -> None:
        """Store what is queued, and end the thread. Results that nobody has taken are taken by the event loop."""
        self._commit_thread.close()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take_last, self._loop)

    def _take_last(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.remove_reader(self._commit_thread.fileno())
        self.take(loop)
