"""Copies everything in one store into another, of the same kind of database or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy import Connection, Engine, Table, func, select

from arbiter.errors import OperatorError
from arbiter.store import records, ruling_table, tables
from arbiter.store.database import named, shown_engine
from arbiter.store.dialects import dialect_of

Progress = Callable[[int, int], None]
"""Called from time to time with the number of rows that were copied, and the number of all rows."""

AT_ONCE: Final = 1_000  #: rows that are read and written at once


def copy(
    source: Engine,
    target: Engine,
    progress: Progress,
    copied: Callable[[int, int], None] = lambda records, rulings: None,
) -> int:
    """Copy all rows of a store into one that is empty; return the number of records in its log.

    `copied` is called with this number and that of rulings on ratings when every row is written, before the commit.

    The source is read as one consistent snapshot, while others may write. The target is written in one transaction: if
    this is interrupted, it is as empty as before. Raises OperatorError for a target that is not empty, and for a value
    in the source that can't be read.
    """
    with named(source.url), source.connect() as reading:
        for statement in dialect_of(source).snapshot:
            reading.exec_driver_sql(statement).close()
        sizes = {table: _size(reading, table) for table in tables.metadata.sorted_tables}
        total, done = sum(sizes.values()), 0
        with target.begin() as writing:
            for statement in dialect_of(target).begin:
                writing.exec_driver_sql(statement).close()
            _check_empty(target, writing)
            for table in sizes:
                rows = reading.execution_options(yield_per=AT_ONCE).execute(select(table).order_by(*table.primary_key))
                for part in rows.mappings().partitions():
                    writing.execute(table.insert(), [dict(row) for row in part])
                    done += len(part)
                    progress(done, total)
            head = records.head(writing)
            copied(head, ruling_table.last(writing))
        reading.rollback()
    return head


def _check_empty(target: Engine, connection: Connection) -> None:
    for table in tables.metadata.sorted_tables:
        if _size(connection, table):
            raise OperatorError(f"the store {shown_engine(target)} is not empty ({table.name}): name another")


def _size(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()
