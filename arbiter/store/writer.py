"""Group commit: one thread writes, and many writes share a transaction.

A durable commit costs a disk flush, however much it holds. While one flush runs, new writes queue up, and the next
transaction takes all of them. So the load sets the size of the groups; there is no timer. The writes of one turn of the
event loop are queued together, at its end.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine, RootTransaction
from sqlalchemy.exc import SQLAlchemyError

from arbiter.service.ports.journal import StoreFailed
from arbiter.service.ports.log import Logger
from arbiter.store.database import kind_of
from arbiter.store.failure import deadlocked, lost, reason, whole

LOOK_S: Final = 0.5  #: interval between two checks of the store's files while nothing is written
GONE: Final = "its files are not those that it opened"  #: a clause for players; the log says more
_LITTLE: Final = 250  #: pages: moving this many into the file delays no commit for long
_MOST_REPEATS: Final = 5  #: of a write whose transaction the database rolled back to end a deadlock
_MOST_ROUNDS: Final = 4  #: rounds in which the checkpoint thread tries to reduce the rest to _LITTLE

T = TypeVar("T")
Item = TypeVar("Item")
Write = Callable[[Connection], T]
Committed = Callable[[int, float], None]
"""Called in the writer's thread after each commit, with its number of writes and its duration in seconds."""


class Transaction:
    """The transaction of a group of writes. It begins when the first write asks for it.

    connection: not in a transaction until then. alone: whether the writes that received this object are the whole
    group; false until the group is complete.
    """

    __slots__ = ("_begin", "_root", "alone", "connection")

    def __init__(self, connection: Connection, begin: tuple[str, ...]) -> None:
        self.connection = connection
        self.alone = False
        self._begin = begin
        self._root: RootTransaction | None = None

    def begun(self) -> Connection:
        """Return the connection, inside the transaction. Raises SQLAlchemyError."""
        if self._root is None:
            self._root = self.connection.begin()
            for statement in self._begin:
                self.connection.exec_driver_sql(statement).close()
        return self.connection

    def commit(self) -> None:
        """Commit durably. Raises SQLAlchemyError."""
        if self._root is not None:
            self._root.commit()


WriteAll = Callable[[Transaction, list[Item]], Sequence[T]]
Claim = Callable[[Transaction], None]
"""Waits until a transaction may write what several servers write by turns. Raises SQLAlchemyError."""
Then = Callable[[Any, BaseException | None], None]
"""Called in the event loop with the result of a write that is durable, or with 0 and the reason why it failed."""


class _Job:
    __slots__ = ("claim", "error", "failed", "item", "loop", "result", "then", "write_all")

    def __init__(
        self,
        write_all: WriteAll[Any, Any],
        item: object,
        then: Then,
        loop: asyncio.AbstractEventLoop,
        failed: Callable[[Any], None] | None,
        claim: Claim | None,
    ) -> None:
        self.write_all = write_all
        self.item = item
        self.then = then
        self.failed = failed
        self.claim = claim
        self.loop = loop
        self.result: Any = 0
        self.error: BaseException | None = None

    def settle(self) -> None:
        try:
            self.then(self.result, self.error)
        except Exception as error:  # the other callbacks of the commit still run
            context = {"message": "an error after a write", "exception": error}
            self.loop.call_exception_handler(context)


class Writer:
    """The single thread that writes to a database."""

    def __init__(
        self,
        engine: Engine,
        log: Logger,
        committed: Committed | None = None,
        largest_group: int = 2_000,
        commits_a_checkpoint: int = 500,
    ) -> None:
        self._engine = engine
        self._kind = kind_of(engine)
        self._connection: Connection | None = None  # the writer's thread holds it between commits
        self._committed = committed
        self._largest = largest_group
        self._commits_a_checkpoint = commits_a_checkpoint
        self._turn: list[_Job] = []  # what was asked for in this turn of the event loop
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._checkpoint_due = threading.Event()
        self._rest_due = False  # pages that were committed while the checkpoint thread worked
        self._log = log
        self._closing = False
        self._ended = False  # whether the writer's thread has taken the last write
        self._when_failed: list[Callable[[], None]] = []
        self._files = self._kind.Files(engine)
        self._gone = ""  # what is wrong with the files; once set, nothing is written
        self._gate = threading.Lock()  # orders the last write and `close`: no write is queued after the end
        self._committer = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._checkpointer = threading.Thread(target=self._checkpoint, name="store-checkpoint", daemon=True)
        self._committer.start()
        if engine.dialect.name == "sqlite":  # other databases manage their logs themselves
            self._checkpointer.start()

    def write(self, write: Write[T]) -> asyncio.Future[T]:
        """Queue a write for the next transaction. The returned future completes once that transaction is durable.

        A write may run several times (again alone, if its group failed; again after a deadlock with another server), so
        it must have no effect outside the database. Writes take effect in the order of the calls. The future raises
        what the write raised, or StoreFailed.
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
    ) -> None:
        """Write an item together with neighbouring calls that have the same `write_all`.

        `write_all` gets the items of one transaction, in order, and returns a result for each. The rules of `write`
        hold: if it raises, it is called again for each item alone. `failed` is called in the writer's thread with an
        item that could not be written, or of which nobody knows, before any later item is written. `then` is called in
        the event loop, for all writes of a commit in one go. `claim` is called in the writer's thread before the first
        `write_all` of a transaction; what is queued meanwhile joins the transaction.
        """
        loop = asyncio.get_running_loop()
        job = _Job(write_all, item, then, loop, failed, claim)
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
            self._queue_turn()

    def _queue_turn(self) -> None:
        for job in self._turn:
            self._jobs.put(job)
        self._turn.clear()

    def queued(self) -> int:
        """Return how many writes wait for the next transaction. Any thread may ask."""
        return self._jobs.qsize() + len(self._turn)

    def when_failed(self, callback: Callable[[], None]) -> None:
        """Add a callback for failed transactions, in a write or at the commit. It runs in the writer's thread."""
        self._when_failed.append(callback)

    def close(self) -> None:
        """Finish the queued writes, then stop the threads."""
        with self._gate:
            self._closing = True
            self._queue_turn()
            self._jobs.put(None)
        self._committer.join()
        self._checkpoint_due.set()
        if self._checkpointer.is_alive():
            self._checkpointer.join()

    def _run(self) -> None:
        commits = 0
        while not self._ended and (job := self._jobs.get()) is not None:
            group = [job]
            self._gather(group)
            self._commit(group, gather=True)
            self._settle(group)
            if self._rest_due:
                self._move_rest()
            commits += 1
            if commits % self._commits_a_checkpoint == 0:
                self._checkpoint_due.set()
        self._let_go()

    def _gather(self, group: list[_Job]) -> None:
        """Add what is queued to a group."""
        while len(group) < self._largest and not self._ended:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._ended = True
            else:
                group.append(job)

    def _commit(self, group: list[_Job], gather: bool = False, repeats: int = _MOST_REPEATS) -> None:
        """Write a group in a transaction. `gather`: while it waits for its turn, what is queued joins the group.

        `repeats`: how often a single write is repeated whose transaction was in a deadlock with another server's.
        """
        try:
            self._write(group, gather)
        except Exception as error:
            self._let_go()
            for callback in self._when_failed:
                callback()
            if len(group) > 1 and not lost(error) and not self._gone:
                for job in group:  # one bad write must not fail the others: each gets its own transaction
                    self._commit([job])
            elif deadlocked(error) and repeats:  # the transaction is rolled back, and the other one goes on
                self._commit(group, repeats=repeats - 1)
            else:  # the connection was lost: nobody knows whether the commit succeeded, so do not retry
                self._fail(group, error)

    def _write(self, group: list[_Job], gather: bool) -> None:
        """Write a group in a transaction, and note the results. Raises what a write raises, SQLAlchemyError."""
        began = time.perf_counter()
        if self._gone:
            raise StoreFailed(GONE)
        transaction = Transaction(self._connected(), self._kind.BEGIN)
        claim = next((job.claim for job in group if job.claim is not None), None)
        if claim is not None:
            claim(transaction)
            if gather:
                self._gather(group)
        runs = [(write_all, list(jobs)) for write_all, jobs in groupby(group, _write_all)]
        transaction.alone = len(runs) == 1
        for write_all, jobs in runs:
            for job, result in zip(jobs, write_all(transaction, [job.item for job in jobs]), strict=True):
                job.result = result
        transaction.commit()
        if self._have_gone():  # the writes went into a file that nobody will find again
            raise StoreFailed(GONE)
        if self._committed is not None:
            self._committed(len(group), time.perf_counter() - began)

    def _connected(self) -> Connection:
        """Return the connection, which the writer keeps between commits. Raises SQLAlchemyError."""
        if self._connection is not None and not self._kind.still_connected(self._connection):
            self._let_go()
        if self._connection is None:
            self._connection = self._kind.connect_writer(self._engine)
        return self._connection

    def _let_go(self) -> None:
        """Return the connection to the pool, outside any transaction. The next commit takes a new one."""
        connection, self._connection = self._connection, None
        self._files.reopened()
        if connection is not None:
            with suppress(SQLAlchemyError), connection:  # the pool discards a connection that it cannot reuse
                connection.rollback()  # after a failed commit, closing the connection is not enough

    def _have_gone(self) -> bool:
        """Check the store's files. If they are not the opened ones, log that once."""
        if not self._gone:
            self._gone = self._files.missing()
            if self._gone:
                self._log.error("store_files_gone", why=self._gone)
        return bool(self._gone)

    def _fail(self, group: list[_Job], error: Exception) -> None:
        failed = isinstance(error, SQLAlchemyError)
        if failed:
            self._log.error("store_failed", writes=len(group), error=whole(error))
        for job in group:
            job.error = StoreFailed(f"it took no write ({reason(error)})") if failed else error
            if job.failed is not None:
                job.failed(job.item)

    def _settle(self, group: list[_Job]) -> None:
        loops: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
        for job in group:
            loops.setdefault(job.loop, []).append(job)
        for loop, jobs in loops.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle_all, jobs)

    def _checkpoint(self) -> None:
        # In its own thread, so that no commit waits for it: an automatic checkpoint adds a tail latency of 15 ms.
        while True:
            while not self._checkpoint_due.wait(LOOK_S):
                if self._connection is not None:  # otherwise the log may just be restarting
                    self._have_gone()
            self._checkpoint_due.clear()
            # If this fails, the log stays until the next checkpoint; the writer reports what matters.
            with suppress(SQLAlchemyError), self._engine.connect() as connection:
                moved, pages = 0, self._kind.checkpoint(connection)
                for _ in range(_MOST_ROUNDS):
                    if pages - moved <= _LITTLE:
                        break
                    moved, pages = pages, self._kind.checkpoint(connection)
                self._rest_due = pages > moved
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
                self._kind.checkpoint(self._connection)


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


def _settle_all(jobs: list[_Job]) -> None:
    for job in jobs:
        job.settle()
