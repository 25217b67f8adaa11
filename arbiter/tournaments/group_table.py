"""The standings of a category: of some players of a tournament among themselves."""

from __future__ import annotations

from collections.abc import Collection

from arbiter.errors import argument_invalid
from arbiter.tournaments.groups import Named
from arbiter.tournaments.standings import StandingsRow, Table


def table_of(table: Table, known: Named, category: str) -> Table:
    """Return the standings of one of the known categories, '' for all. Raises Refusal ARGUMENT_INVALID."""
    if not category:
        return table
    if category not in known:
        allowed = f"one of {', '.join(known)}" if known else "left out: this tournament has no categories"
        raise argument_invalid(category, "category", allowed)
    return _among(table, frozenset(known[category]))


def _among(table: Table, players: Collection[str]) -> Table:
    """Return the rows of some players, with places among themselves, and without teams."""
    rows: list[StandingsRow] = []
    last = 0
    for row in table.rows:
        if row.player in players:
            shares = bool(rows) and row.place == last
            last = row.place
            rows.append(row._replace(place=rows[-1].place if shares else len(rows) + 1))
    return table._replace(rows=tuple(rows), teams=None)
