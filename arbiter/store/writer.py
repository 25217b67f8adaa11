"""Group commit: one thread writes, many writes share a transaction.

A commit with full durability costs a disk flush whatever it holds. While one flush is under way the writes that come
in wait, and the next transaction takes all of them: the load sets the size of the groups, no timer does.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, TypeVar

import structlog
from sqlalchemy import Connection, Engine, RootTransaction
from sqlalchemy.exc import SQLAlchemyError

from arbiter.service.ports.journal import StoreFailed
from arbiter.store.database import kind_of
from arbiter.store.failure import lost, reason, whole

LOOK_S: Final = 0.5  #: between two looks at the store's files while nothing is written
GONE: Final = "its files are not those that it opened"  #: a clause for players; the log says more
_LITTLE: Final = 250  #: pages: so many are moved into the file while no commit waits for long
_MOST_ROUNDS: Final = 4  #: in which a checkpoint's thread tries to come that near to what is committed meanwhile

T = TypeVar("T")
Item = TypeVar("Item")
Write = Callable[[Connection], T]
Committed = Callable[[int, float], None]
"""Is told, in the writer's thread, of each commit: how many writes it held, and its transaction's seconds."""


class Transaction:
    """What the writes of a group take part in. It begins when one of them asks for it.

    connection: outside of it until then. alone: whether those who were handed this are all that take part.
    """

    __slots__ = ("_begin", "_root", "alone", "connection")

    def __init__(self, connection: Connection, begin: tuple[str, ...], alone: bool) -> None:
        self.connection = connection
        self.alone = alone
        self._begin = begin
        self._root: RootTransaction | None = None

    def begun(self) -> Connection:
        """Return the connection, in this transaction. Raises SQLAlchemyError."""
        if self._root is None:
            self._root = self.connection.begin()
            for statement in self._begin:
                self.connection.exec_driver_sql(statement).close()
        return self.connection

    def commit(self) -> None:
        """Make what was written in it durable. Raises SQLAlchemyError."""
        if self._root is not None:
            self._root.commit()


WriteAll = Callable[[Transaction, list[Item]], Sequence[T]]


class _Job:
    __slots__ = ("error", "future", "item", "loop", "result", "write_all")

    def __init__(self, write_all: WriteAll[Any, Any], item: object, loop: asyncio.AbstractEventLoop) -> None:
        self.write_all = write_all
        self.item = item
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class Writer:
    """The one thread that writes to a database."""

    def __init__(
        self,
        engine: Engine,
        committed: Committed | None = None,
        largest_group: int = 2_000,
        commits_a_checkpoint: int = 500,
    ) -> None:
        self._engine = engine
        self._kind = kind_of(engine)
        self._connection: Connection | None = None  # the writer's thread has it, from one commit to the next
        self._committed = committed
        self._largest = largest_group
        self._commits_a_checkpoint = commits_a_checkpoint
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._checkpoint_due = threading.Event()
        self._rest_due = False  # of a checkpoint: what was committed while its thread was about it
        self._log = structlog.get_logger("arbiter.store")
        self._closing = False
        self._when_failed: list[Callable[[], None]] = []
        self._files = self._kind.Files(engine)
        self._gone = ""  # what is wrong with the files: from then on nothing is written
        self._gate = threading.Lock()  # between the last write and the end: nothing is asked for behind it
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._checkpointer = threading.Thread(target=self._checkpoint, name="store-checkpoint", daemon=True)
        self._thread.start()
        if engine.dialect.name == "sqlite":  # other databases look after their logs themselves
            self._checkpointer.start()

    def write(self, write: Write[T]) -> asyncio.Future[T]:
        """Run a write in the next transaction; its future is done once that is durable.

        A write may run twice (alone, after it failed in a group), so it only touches the database. Writes take effect
        in the order of the calls. The future raises what the write raised, or StoreFailed.
        """
        return self.write_among(_one_by_one, write)

    def write_among(self, write_all: WriteAll[Item, T], item: Item) -> asyncio.Future[T]:
        """Write an item together with those of the calls before and after it that have the same `write_all`.

        That is given the items of a transaction, in order, and returns a result for each. What holds for `write` holds
        here: where it raises, it is called again, for each item alone.
        """
        job = _Job(write_all, item, asyncio.get_running_loop())
        with self._gate:
            if self._closing:
                job.future.set_exception(StoreFailed("it is closed"))
            else:
                self._jobs.put(job)
        return job.future

    def when_failed(self, tell: Callable[[], None]) -> None:
        """Have something told, in the writer's thread, of each transaction that failed, whether in it or at its end."""
        self._when_failed.append(tell)

    def close(self) -> None:
        """Finish what was asked for, then stop the threads."""
        with self._gate:
            self._closing = True
            self._jobs.put(None)
        self._thread.join()
        self._checkpoint_due.set()
        if self._checkpointer.is_alive():
            self._checkpointer.join()

    def _run(self) -> None:
        commits = 0
        while (job := self._jobs.get()) is not None:
            group, last = self._gather(job)
            self._commit(group)
            self._settle(group)
            if self._rest_due:
                self._move_rest()
            commits += 1
            if commits % self._commits_a_checkpoint == 0:
                self._checkpoint_due.set()
            if last:
                break
        self._let_go()

    def _gather(self, first: _Job) -> tuple[list[_Job], bool]:
        group = [first]
        while len(group) < self._largest:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                return group, True
            group.append(job)
        return group, False

    def _commit(self, group: list[_Job]) -> None:
        began = time.perf_counter()
        try:
            if self._gone:
                raise StoreFailed(GONE)
            if self._connection is None:
                self._connection = self._kind.connect_writer(self._engine)
            runs = [(write_all, list(jobs)) for write_all, jobs in groupby(group, _write_all)]
            transaction = Transaction(self._connection, self._kind.BEGIN, alone=len(runs) == 1)
            for write_all, jobs in runs:
                for job, result in zip(jobs, write_all(transaction, [job.item for job in jobs]), strict=True):
                    job.result = result
            transaction.commit()
            if self._have_gone():  # what was written is in a file that nobody will find again
                raise StoreFailed(GONE)
            if not self._kind.KEEPS_CONNECTION:
                self._let_go()
            if self._committed is not None:
                self._committed(len(group), time.perf_counter() - began)
        except Exception as error:
            self._let_go()
            for tell in self._when_failed:
                tell()
            if len(group) > 1 and not lost(error) and not self._gone:
                for job in group:  # one bad write must not take the others down: each gets a transaction of its own
                    self._commit([job])
            else:  # where the connection was lost, nobody knows whether the commit took place: it is not tried again
                self._fail(group, error)

    def _let_go(self) -> None:
        """Give the connection back, out of any transaction: the next commit takes one anew."""
        connection, self._connection = self._connection, None
        self._files.reopened()
        if connection is not None:
            with suppress(SQLAlchemyError), connection:  # the pool throws away what it can't use again
                connection.rollback()  # where a commit failed, to close the connection alone would not do it

    def _have_gone(self) -> bool:
        """Look at the store's files; say once, in the log, if they are not those that were opened."""
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

    def _settle(self, group: list[_Job]) -> None:
        loops: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
        for job in group:
            loops.setdefault(job.loop, []).append(job)
        for loop, jobs in loops.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle_all, jobs)

    def _checkpoint(self) -> None:
        # In a thread of its own, so that no commit waits for it: an automatic checkpoint shows as a tail of 15 ms.
        while True:
            while not self._checkpoint_due.wait(LOOK_S):
                if self._connection is not None:  # else its log may just be made anew
                    self._have_gone()
            self._checkpoint_due.clear()
            # Where it fails, the log stays longer, until the next one; the writer reports what matters.
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
        """Finish a checkpoint while nothing is committed: only a log that is moved as a whole is written anew.

        Without this it grows for as long as the load lasts: by 28 MB a second at 5,000 moves a second. And a file that
        grows is dearer to flush than one that is overwritten: 470 microseconds of processor time a commit of 12 moves,
        not 350.
        """
        self._rest_due = False
        if self._connection is not None:
            with suppress(SQLAlchemyError):
                self._kind.checkpoint(self._connection)


_write_all = attrgetter("write_all")


def _one_by_one(transaction: Transaction, writes: list[Write[Any]]) -> list[Any]:
    connection = transaction.begun()
    return [write(connection) for write in writes]


def _settle_all(jobs: list[_Job]) -> None:
    for job in jobs:
        job.settle()
