"""A file of entrants: CSV, as spreadsheets save it, with a line of headings."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from arbiter.cli.failure import Failure
from arbiter.cli.given_files import read_text
from arbiter.plain_text import plain
from arbiter.table_text import without_apostrophe

DELIMITERS: Final = ",;\t"


class FileEntrant(NamedTuple):
    """A line of the file. rating: 0 if it has none; byes: rounds that the player sits out; team, category: or ''."""

    player: str
    rating: int = 0
    byes: tuple[int, ...] = ()
    team: str = ""
    category: str = ""


def _player(text: str) -> str:
    if not text:
        raise ValueError("the name of a player")
    return text


def _rating(text: str) -> int:
    if not re.fullmatch(r"\d{0,5}", text, re.ASCII):
        raise ValueError("a rating, as a whole number, or nothing")
    return int(text or 0)


def _byes(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"(\d{1,3}( +\d{1,3})*)?", text, re.ASCII):
        raise ValueError("the numbers of rounds with spaces between them, such as 2 5, or nothing")
    return tuple(int(each) for each in text.split())


COLUMNS: Final[Mapping[str, Callable[[str], Any]]] = {
    "player": _player,
    "rating": _rating,
    "byes": _byes,
    "team": str,
    "category": str,
}
"""The reader of each column; it raises ValueError, whose text says what is expected."""


def read_entrants(path: Path) -> list[FileEntrant]:
    """Return the entrants of a file, in its order. Raises Failure, which names file, line and column."""
    text = read_text(path)
    first = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=first.count)
    rows = csv.reader(text.split("\n"), delimiter=delimiter, strict=True)
    found: dict[str, FileEntrant] = {}
    try:
        headings = _headings(path, next(rows, []))
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            entrant = _entrant(path, rows.line_num, headings, row)
            if entrant.player in found:
                raise Failure(f"{path}, line {rows.line_num}: {plain(entrant.player)} is in the file twice: remove one")
            found[entrant.player] = entrant
    except csv.Error as error:
        raise Failure(f"{path}, line {rows.line_num}: this is no CSV: {error}") from None
    if not found:
        raise Failure(f"{path} has no entrants: write a line of headings, then a line for each player")
    return [*found.values()]


def _headings(path: Path, row: list[str]) -> list[str]:
    known = ", ".join(COLUMNS)
    headings = [cell.strip().lower() for cell in row]
    for column, heading in enumerate(headings, 1):
        if heading not in COLUMNS:
            raise Failure(f"{path}, line 1, column {column}: {plain(heading)!r} is no column here ({known}): remove it")
        if heading in headings[: column - 1]:
            raise Failure(f"{path}, line 1, column {column}: {heading} is there twice: remove one")
    if "player" not in headings:
        raise Failure(f"{path}, line 1: the column player is missing; these are known: {known}")
    return headings


def _entrant(path: Path, line: int, headings: list[str], row: list[str]) -> FileEntrant:
    if len(row) != len(headings):
        raise Failure(f"{path}, line {line}: it has {len(row)} cells, and the headings are {len(headings)}")
    values = {}
    for column, (heading, cell) in enumerate(zip(headings, row, strict=True), 1):
        text = without_apostrophe(cell.strip())
        try:
            values[heading] = COLUMNS[heading](text)
        except ValueError as error:
            wrong = f"{plain(text[:40])!r} is no {heading}: expected {error}"
            raise Failure(f"{path}, line {line}, column {column}: {wrong}") from None
    return FileEntrant(**values)
