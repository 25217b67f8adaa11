"""Group commit: one thread writes, and many writes share a transaction.

A durable commit costs a disk flush, however much it holds. While one flush runs, new writes queue up, and the next
transaction takes all of them. So the load sets the size of the groups; there is no timer. The writes of one turn of the
event loop are queued together, at its end.

Where a store can commit without the interpreter's lock (`Dialect.commit_thread`), such a thread
stores what looks nothing up, such as moves, while the writer's thread has nothing to do: see `unlocked.py`.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from arbiter.service.ports.journal import JournalConflict, StoreFailed
from arbiter.service.ports.log import Logger
from arbiter.store.database_errors import deadlocked, lost, reason, whole
from arbiter.store.dialects import dialect_of
from arbiter.store.jobs import Claim, Item, Job, Refused, RowsOf, T, Then, Transaction, WriteAll, settle_all
from arbiter.store.unlocked import UnlockedCommits

LOOK_S: Final = 0.5  #: interval between two checks of the store's files while nothing is written
GONE: Final = "its files are not those that it opened"  #: a clause for players; the log says more
_LITTLE: Final = 250  #: pages: moving this many into the file delays no commit for long
_MOST_REPEATS: Final = 5  #: of a write whose transaction the database rolled back to end a deadlock
_MOST_ROUNDS: Final = 4  #: rounds in which the checkpoint thread tries to reduce the rest to _LITTLE

Write = Callable[[Connection], T]
Committed = Callable[[int, float], None]
"""Called after each commit, with its number of writes and its duration in seconds: in the thread that committed, or in
the event loop."""


class Writer:
    """Writes to a database, one transaction after another."""

    def __init__(
        self,
        engine: Engine,
        log: Logger,
        committed: Committed | None = None,
        largest_group: int = 2_000,
        commits_a_checkpoint: int = 500,
        unlocked: bool = True,
    ) -> None:
        """`unlocked`: whether to commit without the interpreter's lock where this is possible."""
        self._engine = engine
        self._dialect = dialect_of(engine)
        self._connection: Connection | None = None  # the writer's thread holds it between commits
        self._committed = committed
        self._largest = largest_group
        self._commits_a_checkpoint = commits_a_checkpoint
        self._turn: list[Job] = []  # what was asked for in this turn of the event loop
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._checkpoint_due = threading.Event()
        self._rest_due = False  # pages that were committed while the checkpoint thread worked
        self._log = log
        self._closing = False
        self._ended = False  # whether the writer's thread has taken the last write
        self.when_failed: Final[list[Callable[[], None]]] = []
        """Called after a failed transaction: in the writer's thread, or in the event loop while that is idle."""
        self._files = self._dialect.files(engine)
        self._gone = ""  # what is wrong with the files; once set, nothing is written
        self._looked = False  # at the files, since connections were closed
        self._behind = 0  # writes of the writer's thread whose callers have no result yet
        self._commits = 0
        thread = self._dialect.commit_thread(engine, largest_group) if unlocked else None
        self.needs_lock: Final = thread is None  #: whether each commit takes the interpreter's lock before and after it
        self._unlocked = UnlockedCommits(thread, self._note_unlocked, self._wake_if_due) if thread is not None else None
        self._gate = threading.Lock()  # orders the last write and `close`: no write is queued after the end
        self._committer = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._checkpointer = threading.Thread(target=self._checkpoint, name="store-checkpoint", daemon=True)
        self._committer.start()
        if self._dialect.checkpoints:
            self._checkpointer.start()

    def write(self, write: Write[T]) -> asyncio.Future[T]:
        """Queue a write for the next transaction. The returned future completes once that transaction is durable.

        A write may run several times (again, if its group failed; again after a deadlock with another server), so it
        must have no effect outside the database. Writes take effect in the order of the calls. The future raises what
        the write raised, or StoreFailed.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.write_among(_one_by_one, write, partial(settle, future))
        return future

    def write_among(
        self,
        write_all: WriteAll[Item, T],
        item: Item,
        then: Then,
        failed: Callable[[Item], None] | None = None,
        claim: Claim | None = None,
        rows_of: RowsOf | None = None,
    ) -> None:
        """Write an item together with neighbouring calls that have the same `write_all`.

        `write_all` gets the items of one transaction, in order, and returns a result for each. The rules of `write`
        hold. If it raises JournalConflict, the whole group is written again, in a careful transaction. After another
        error, or a second one, each half of the group is written by itself, and so on down to a single item. `failed`
        is called in the writer's thread with an item that could not be written, or of which nobody knows, before any
        later item is written. `then` is called in the event loop, for all writes of a commit in one go. `claim` is
        called in the writer's thread before the first `write_all` of a transaction; what is queued meanwhile joins the
        transaction. `rows_of` is called in the event loop while no transaction is under way in the writer's thread. If
        it returns rows, they may be stored in its place; if that fails, the callbacks of `when_failed` are called, and
        then `write_all`.
        """
        loop = asyncio.get_running_loop()
        job = Job(write_all, item, then, loop, failed, claim, rows_of)
        with self._gate:
            if self._closing:
                job.error = StoreFailed("it is closed")
                loop.call_soon(job.settle)
            else:
                if not self._turn or self._turn[-1].loop is not loop:
                    loop.call_soon(self._hand_over)
                self._turn.append(job)

    def _hand_over(self) -> None:
        """Queue the writes of a turn of the event loop.

        If each was queued at once, the thread would wake at the first, and commit that alone while the others wait.
        """
        with self._gate:
            if self._closing or not self._turn:
                return
            if not self._given():
                self._queue_turn()

    def _queue_turn(self) -> None:
        turn, self._turn = self._turn, []
        self._behind += len(turn)
        for job in turn:
            self._jobs.put(job)

    def _given(self) -> bool:
        """Give the writes of this turn to the thread that needs no lock, if that can store them."""
        if self._unlocked is None or self._behind or self._gone:
            return False
        try:
            given = self._unlocked.give(self._turn)
        except Exception:  # the writer's thread meets it again, and tells the caller
            self._tell_of_failure()
            return False
        if given:
            self._turn = []
        return given

    def _note_unlocked(self, jobs: list[Job], seconds: float, same_files: bool) -> None:
        """Settle the writes of a commit that needed no lock; its thread has looked at the files."""
        if self._gone or (not (same_files and self._looked) and self._have_gone()):
            self._fail(jobs, StoreFailed(GONE))
        elif self._committed is not None:
            self._committed(len(jobs), seconds)
        self._count_commit()
        settle_all(jobs)

    def _wake_if_due(self) -> None:
        """Have the writer's thread store what a commit without the lock gave back."""
        if self._unlocked is None or self._unlocked.failure() is None:
            return
        with self._gate:
            if not self._closing and not self._behind:  # else it wakes in any case
                self._behind += 1
                self._jobs.put(Job(lambda _, items: items, None, lambda *_: None, asyncio.get_running_loop()))

    def queued(self) -> int:
        """Return how many writes wait for the next transaction. Any thread may ask."""
        return self._jobs.qsize() + len(self._turn) + (self._unlocked.waiting() if self._unlocked else 0)

    def close(self) -> None:
        """Finish the queued writes, then stop the threads."""
        with self._gate:
            self._closing = True
            self._queue_turn()
            self._jobs.put(None)
        self._committer.join()
        if self._unlocked is not None:
            self._unlocked.close()
        self._checkpoint_due.set()
        if self._checkpointer.is_alive():
            self._checkpointer.join()

    def _run(self) -> None:
        while not self._ended and (job := self._jobs.get()) is not None:
            group = [*self._given_back(), job]
            self._gather(group)
            self._commit(group, gather=True)
            self._settle(group)
            if self._rest_due:
                self._move_rest()
            self._count_commit()
        if rest := self._given_back():
            self._commit(rest)
            self._settle(rest)
        self._let_go()

    def _given_back(self) -> list[Job]:
        """Wait for the thread that needs no lock; return what it could not store, in order."""
        if self._unlocked is None:
            return []
        jobs = self._unlocked.given_back()
        if jobs:
            self._log.warning("commit_repeated", writes=len(jobs), error=self._unlocked.failure())
            with self._gate:
                self._behind += len(jobs)
            self._tell_of_failure()
        return jobs

    def _tell_of_failure(self) -> None:
        for callback in self.when_failed:
            callback()

    def _count_commit(self) -> None:
        self._commits += 1
        if self._commits % self._commits_a_checkpoint == 0:
            self._checkpoint_due.set()

    def _gather(self, group: list[Job]) -> None:
        """Add what is queued to a group."""
        with self._gate:
            pass  # the event loop may be queuing its turn, of which no write is to be left for the next transaction
        while len(group) < self._largest and not self._ended:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._ended = True
            else:
                group.append(job)

    def _commit(
        self, group: list[Job], gather: bool = False, repeats: int = _MOST_REPEATS, careful: bool = False
    ) -> None:
        """Write a group in a transaction. `gather`: while it waits for its turn, what is queued joins the group.

        `repeats`: how often a single write is repeated whose transaction was in a deadlock with another server's.
        """
        try:
            self._write(group, gather, careful)
        except Exception as error:
            self._let_go()
            self._tell_of_failure()
            if len(group) > 1 and not lost(error) and not self._gone:  # one bad write must not fail the others
                if isinstance(error, JournalConflict) and not careful:
                    self._commit(group, careful=True)
                else:  # one transaction for each would let the last ones wait for long
                    self._commit(group[: len(group) // 2], careful=careful)
                    self._commit(group[len(group) // 2 :], careful=careful)
            elif deadlocked(error) and repeats:  # the transaction is rolled back, and the other one goes on
                self._commit(group, repeats=repeats - 1)
            else:  # the connection was lost: nobody knows whether the commit succeeded, so do not retry
                self._fail(group, error)

    def _write(self, group: list[Job], gather: bool, careful: bool) -> None:
        """Write a group in a transaction, and note the results. Raises what a write raises, SQLAlchemyError."""
        began = time.perf_counter()
        if self._gone:
            raise StoreFailed(GONE)
        transaction = Transaction(self._connected(), self._dialect.begin, careful)
        claim = next((job.claim for job in group if job.claim is not None), None)
        if claim is not None:
            claim(transaction)
            if gather:
                self._gather(group)
        runs = [(write_all, list(jobs)) for write_all, jobs in groupby(group, _write_all)]
        transaction.alone = len(runs) == 1
        for write_all, jobs in runs:
            for job, result in zip(jobs, write_all(transaction, [job.item for job in jobs]), strict=True):
                job.result, job.error = (0, result.error) if type(result) is Refused else (result, None)
        transaction.commit()
        if self._have_gone():  # the writes went into a file that nobody will find again
            raise StoreFailed(GONE)
        if self._committed is not None:
            self._committed(len(group), time.perf_counter() - began)

    def _connected(self) -> Connection:
        """Return the connection, which the writer keeps between commits. Raises SQLAlchemyError."""
        if self._connection is not None and not self._dialect.still_connected(self._connection):
            self._let_go()
        if self._connection is None:
            self._connection = self._dialect.connect_writer(self._engine)
        return self._connection

    def _let_go(self) -> None:
        """Return the connection to the pool, outside any transaction. The next commit takes a new one."""
        connection, self._connection = self._connection, None
        self._looked = False
        self._files.reopened()
        if connection is not None:
            with suppress(SQLAlchemyError), connection:  # the pool discards a connection that it cannot reuse
                connection.rollback()  # after a failed commit, closing the connection is not enough

    def _have_gone(self) -> bool:
        """Check the store's files. If they are not the opened ones, log that once."""
        if not self._gone:
            self._looked = True
            self._gone = self._files.missing()
            if self._gone:
                self._log.error("store_files_gone", why=self._gone)
        return bool(self._gone)

    def _fail(self, group: list[Job], error: Exception) -> None:
        failed = isinstance(error, SQLAlchemyError)
        if failed:
            self._log.error("store_failed", writes=len(group), error=whole(error))
        for job in group:
            job.error = StoreFailed(f"it took no write ({reason(error)})") if failed else error
            if job.failed is not None:
                job.failed(job.item)

    def _settle(self, group: list[Job]) -> None:
        loops: dict[asyncio.AbstractEventLoop, list[Job]] = {}
        for job in group:
            loops.setdefault(job.loop, []).append(job)
        for loop, jobs in loops.items():
            if loop.is_closed():  # nobody waits for them
                with self._gate:
                    self._behind -= len(jobs)
            else:
                loop.call_soon_threadsafe(self._settle_behind, jobs)

    def _settle_behind(self, jobs: list[Job]) -> None:
        """Settle writes of the writer's thread, after those that were stored before without the lock."""
        if self._unlocked is not None:
            self._unlocked.take(jobs[0].loop)
        with self._gate:
            self._behind -= len(jobs)
            if not self._behind and self._unlocked is not None:
                self._unlocked.resume()
        settle_all(jobs)

    def _checkpoint(self) -> None:
        # In its own thread, so that no commit waits for it: an automatic checkpoint adds a tail latency of 15 ms.
        while True:
            while not self._checkpoint_due.wait(LOOK_S):
                if self._connection is not None:  # otherwise the log may just be restarting
                    self._have_gone()
            self._checkpoint_due.clear()
            # If this fails, the log stays until the next checkpoint; the writer reports what matters.
            with suppress(SQLAlchemyError), self._engine.connect() as connection:
                moved, pages = 0, self._dialect.checkpoint(connection)
                for _ in range(_MOST_ROUNDS):
                    if pages - moved <= _LITTLE:
                        break
                    moved, pages = pages, self._dialect.checkpoint(connection)
                self._rest_due = pages > moved
                if self._rest_due and self._unlocked is not None:
                    self._unlocked.checkpoint()
            if self._closing:
                return

    def _move_rest(self) -> None:
        """Finish a checkpoint while no commit runs: only after a complete one does the log restart.

        Without this the log grows as long as the load lasts, by 28 MB a second at 5,000 moves a second. A growing file
        also costs more to flush than one that is overwritten: 470 instead of 350 microseconds of processor time for a
        commit of 12 moves.
        """
        self._rest_due = False
        if self._connection is not None:
            with suppress(SQLAlchemyError):
                self._dialect.checkpoint(self._connection)


def settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    """Give a future the result of a write, or its error, unless its awaiter has cancelled it."""
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


_write_all = attrgetter("write_all")


def _one_by_one(transaction: Transaction, writes: list[Write[Any]]) -> list[Any]:
    connection = transaction.begun()
    return [write(connection) for write in writes]
