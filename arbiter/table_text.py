"""Tables as text for other programs: CSV, JSON and Markdown, for commands and for pages.

- CSV is RFC 4180 with line feeds. A spreadsheet runs a cell as a formula that begins with `=`, `+`, `-` or `@`; such a
  cell gets an apostrophe in front, which spreadsheets take for "this is text", unless it is a number.
- JSON is a list with an object for each row; numbers are numbers.
- Markdown is a table of GitHub's dialect; characters that have a meaning in it are escaped.

Whoever wrote the texts of a table, they can't forge a cell or a line (`arbiter.plain_text`).
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from arbiter.plain_text import plain, plain_json

Cell = str | int | float | None
"""The value of a cell; None if it has none."""


class TableForm(StrEnum):
    """How a table is written; the value is the end of a file's name."""

    CSV = "csv"
    JSON = "json"
    MARKDOWN = "md"


class Columns(NamedTuple):
    """A table: the headings of its columns, each another one, and its rows."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]


_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?")
_FORMULA: Final = tuple("=+-@＝＋－＠")
_MARKUP: Final = re.compile(r"([\\`*_\[\]<>|~&#])")


def shown(cell: Cell) -> str:
    """Return the text of a cell; '' if it has no value."""
    return "" if cell is None else f"{cell:.0f}" if isinstance(cell, float) and cell.is_integer() else str(cell)


def table_text(form: TableForm, tables: Mapping[str, Columns]) -> str:
    """Return tables as text, with a line feed at its end.

    Several tables follow one another with an empty line between them; in JSON they are an object, each under its name.
    """
    if form is TableForm.JSON:
        listed = {name: _objects(columns) for name, columns in tables.items()}
        value = listed if len(listed) > 1 else next(iter(listed.values()))
        return plain_json(json.dumps(value, ensure_ascii=False, indent=2)) + "\n"
    write: Callable[[Columns], str] = _csv if form is TableForm.CSV else _markdown
    return "\n".join(write(columns) for columns in tables.values())


def _objects(columns: Columns) -> list[dict[str, Cell]]:
    return [dict(zip(columns.headings, row, strict=True)) for row in columns.rows]


def _csv(columns: Columns) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    lines = (columns.headings, *columns.rows)
    writer.writerows([_harmless(plain(shown(cell))) for cell in line] for line in lines)
    return out.getvalue()


def _harmless(text: str) -> str:
    """Return the text of a cell, with an apostrophe in front if a spreadsheet would run it as a formula."""
    runs = text.lstrip().startswith(_FORMULA) and not _NUMBER.fullmatch(text)
    return f"'{text}" if runs else text


def without_apostrophe(text: str) -> str:
    """Return the text of a cell of CSV without the apostrophe that `_harmless` puts in front."""
    return text[1:] if text.startswith("'") and text[1:].lstrip().startswith(_FORMULA) else text


def _markdown(columns: Columns) -> str:
    head, *rows = ([_unmarked(cell) for cell in line] for line in (columns.headings, *columns.rows))
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))


def _unmarked(cell: Cell) -> str:
    return _MARKUP.sub(r"\\\1", plain(shown(cell)))
