"""What lists show of matches and tournaments, to columns of their tables and back."""

from __future__ import annotations

import dataclasses
from typing import Any

from sqlalchemy import Row

from arbiter.service.ports.journal import MatchEnd, MatchSummary, TournamentSummary

_END = tuple(field.name for field in dataclasses.fields(MatchEnd))
_KEPT = tuple(field.name for field in dataclasses.fields(MatchSummary) if field.name != "end")
_BEGINNING = tuple(name for name in _KEPT if name not in ("sequence", "ended_sequence"))


def row_columns(row: MatchSummary, sequence: int) -> dict[str, Any]:
    """Return the columns of a new match; `sequence` is the number of its first record."""
    return {name: getattr(row, name) for name in _BEGINNING} | {"sequence": sequence}


def end_columns(end: MatchEnd, sequence: int) -> dict[str, Any]:
    """Return the columns that change at a match's end; `sequence` is the number of its last record."""
    return {name: getattr(end, name) for name in _END} | {"ended_sequence": sequence}


def tournament_columns(row: TournamentSummary, sequence: int, ended_sequence: int) -> dict[str, Any]:
    """Return a tournament's columns, given the numbers of its first and last record (0: it has not ended)."""
    return dataclasses.asdict(row) | {"sequence": sequence, "ended_sequence": ended_sequence}


def read_row(row: Row[Any]) -> MatchSummary:
    """Return the list entry of a match, read from its columns."""
    fields = row._mapping
    end = MatchEnd(**{name: fields[name] for name in _END}) if fields["ended_sequence"] else None
    kept = {name: fields[name] for name in _KEPT}
    return MatchSummary(**kept, end=end)
