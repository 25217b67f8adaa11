"""Reads the database's clock, so that all servers on a store have one time."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from arbiter.service.ports.environment import TimeReading
from arbiter.service.ports.journal import StoreFailed
from arbiter.store.database_errors import reason
from arbiter.store.dialects import postgresql

ROUND_TRIPS: Final = 5  #: readings of the clock for one result; the fastest one counts


class DatabaseTime:
    """The clock of a PostgreSQL database. It is read in a thread, by a connection of the engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def readings(self) -> list[TimeReading]:
        """Read the clock several times in a row. Raises StoreFailed."""
        return await asyncio.to_thread(self._read)

    def _read(self) -> list[TimeReading]:
        dialect, found = postgresql(), []
        try:
            with self._engine.connect().execution_options(**dialect.lone_reads) as connection:
                connection.exec_driver_sql(dialect.now_ms).close()  # the first one may take longer
                for _ in range(ROUND_TRIPS):
                    asked = time.monotonic_ns()
                    answer = connection.exec_driver_sql(dialect.now_ms)
                    answered = time.monotonic_ns()
                    theirs_ns = int(answer.scalar_one() * 1_000_000)
                    found.append(TimeReading(theirs_ns, (asked + answered) // 2, answered - asked))
        except SQLAlchemyError as error:
            raise StoreFailed(f"it does not answer what time it is ({reason(error)})") from None
        return found
