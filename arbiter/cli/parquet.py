"""Writes tables as Parquet files, a row group at a time, so that memory does not grow with the table.

Needs pyarrow, which is an extra of the package: import this module only when such a file is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow
from pyarrow.parquet import ParquetWriter

from arbiter.cli import export_columns as kinds
from arbiter.cli.export_columns import Column
from arbiter.runtime import private

ROWS: Final = 50_000  #: rows of a group, which are in memory together

Row = TypeVar("Row")
_TYPES: Final = {
    kinds.TEXT: pyarrow.string(),
    kinds.TEXTS: pyarrow.list_(pyarrow.string()),
    kinds.TRUTH: pyarrow.bool_(),
    kinds.INSTANT: pyarrow.timestamp("ms", "UTC"),
    kinds.SMALL: pyarrow.int8(),
    kinds.SHORT: pyarrow.int16(),
    kinds.INT: pyarrow.int32(),
    kinds.LONG: pyarrow.int64(),
    kinds.REAL: pyarrow.float64(),
}


@contextmanager
def table(file: Path, columns: Sequence[Column[Row]], rows: int = ROWS) -> Iterator[Callable[[Row], None]]:
    """Write a table; the context's value adds a row. The file appears at the end of the context, whole.

    rows: in a group. After an error there is no new file, and one that was there before stays. Raises OSError.
    """
    schema = pyarrow.schema(
        [pyarrow.field(one.name, _TYPES[one.kind], one.optional, {"description": one.about}) for one in columns]
    )
    values: list[list[Any]] = [[] for _ in columns]
    part = file.with_name(file.name + ".part")

    def write() -> None:
        arrays = [pyarrow.array(some, field.type) for some, field in zip(values, schema, strict=True)]
        writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema), row_group_size=rows)
        for some in values:
            some.clear()

    def add(row: Row) -> None:
        for some, column in zip(values, columns, strict=True):
            some.append(column.value(row))
        if len(values[0]) == rows:
            write()

    part.unlink(missing_ok=True)
    part.touch(private.FILE)  # the writer keeps this mode
    try:
        with ParquetWriter(part, schema, compression="zstd") as writer:
            yield add
            if values[0]:
                write()
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
