"""Writes that wait for their commit, and what happens to them: shared by the threads that commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, RootTransaction

from arbiter.store.tables import Numbered, Statement

T = TypeVar("T")
Item = TypeVar("Item")


class Transaction:
    """The transaction of a group of writes. It begins when the first write asks for it.

    connection: not in a transaction until then. alone: whether the writes that received this object are the whole
    group; false until the group is complete. careful: the group has failed because of a conflict, so whoever writes
    finds out first what does not fit, and returns `Refused` for it. afterwards: called once it is durable, before
    anybody is told.
    """

    __slots__ = ("_begin", "_root", "afterwards", "alone", "careful", "connection")

    def __init__(self, connection: Connection, begin: tuple[str, ...], careful: bool = False) -> None:
        self.connection = connection
        self.alone = False
        self.careful = careful
        self.afterwards: Callable[[], None] | None = None
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
        if self.afterwards is not None:
            self.afterwards()


class Refused:
    """The result of an item that was not written, with the reason. Whoever returns it has done what `failed` does."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


WriteAll = Callable[[Transaction, list[Item]], Sequence["T | Refused"]]
Claim = Callable[[Transaction], None]
"""Waits until a transaction may write what several servers write by turns. Raises SQLAlchemyError."""
RowsOf = Callable[[Any], "tuple[list[Numbered], list[Statement], Sequence[Any]] | None"]
"""Returns the records that a list of items consists of, what they change besides, and a result for each item.

None if something is to be looked up before they are stored.
"""
Then = Callable[[Any, BaseException | None], None]
"""Called in the event loop with the result of a write that is durable, or with 0 and the reason why it failed."""


class Job:
    """A write that was asked for in an event loop."""

    __slots__ = ("claim", "error", "failed", "item", "loop", "result", "rows_of", "then", "write_all")

    def __init__(
        self,
        write_all: WriteAll[Any, Any],
        item: object,
        then: Then,
        loop: asyncio.AbstractEventLoop,
        failed: Callable[[Any], None] | None = None,
        claim: Claim | None = None,
        rows_of: RowsOf | None = None,
    ) -> None:
        self.write_all = write_all
        self.item = item
        self.then = then
        self.failed = failed
        self.claim = claim
        self.rows_of = rows_of
        self.loop = loop
        self.result: Any = 0
        self.error: BaseException | None = None

    def settle(self) -> None:
        """Tell the caller the outcome, in its event loop."""
        try:
            self.then(self.result, self.error)
        except Exception as error:  # the other callbacks of the commit still run
            context = {"message": "an error after a write", "exception": error}
            self.loop.call_exception_handler(context)


def settle_all(jobs: list[Job]) -> None:
    """Tell the callers of jobs of one event loop, in order. Call this in it."""
    for job in jobs:
        job.settle()
