"""Queries on the database, in threads of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from arbiter.errors import shortened
from arbiter.service.ports.journal import StoreDamaged, StoreFailed
from arbiter.service.ports.log import Logger
from arbiter.store.database import WRONG_VALUE
from arbiter.store.database_errors import damaged, reason, whole
from arbiter.store.dialects import dialect_of

T = TypeVar("T")


class Reader:
    """Runs queries in its own threads, so that the event loop never waits for the disk."""

    def __init__(self, engine: Engine, log: Logger, threads: int = 2) -> None:
        self._engine = engine
        self._lone = dialect_of(engine).lone_reads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="store-reader")
        self._log = log
        self._closed = False

    async def read(self, query: Callable[[Connection], T], snapshot: bool = False) -> T:
        """Run a query and return what it returns. Raises StoreFailed.

        snapshot: the query begins a transaction, in which it reads a snapshot.
        """

        def run() -> T:
            try:
                with self._engine.connect() as connection:
                    return query(connection if snapshot else connection.execution_options(**self._lone))
            except SQLAlchemyError as error:
                self._log.error("store_failed", reads=1, error=whole(error))
                failed = StoreDamaged if damaged(error) else StoreFailed
                raise failed(f"it gave no answer ({reason(error)})") from None
            except WRONG_VALUE as error:
                self._log.error("store_failed", reads=1, error=repr(error))
                raise StoreDamaged(f"a value in it is not of its column's type ({shortened(str(error))})") from None

        if self._closed:  # a server that stops may still have work under way
            raise StoreFailed("it is closed")
        return await asyncio.get_running_loop().run_in_executor(self._pool, run)

    def close(self) -> None:
        """Wait until running queries have ended; later ones fail."""
        self._closed = True
        self._pool.shutdown()
