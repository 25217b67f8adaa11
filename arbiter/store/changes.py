"""What an append changes besides the log: the tables that lists of matches and tournaments are read from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sqlalchemy import Insert, TextClause, Update, bindparam, insert, text, update

from arbiter.service.ports.journal import Append, TournamentSummary
from arbiter.store import tables
from arbiter.store.summaries import end_columns, row_columns, tournament_columns


class Change(NamedTuple):
    """A statement, and its values by name. The statement is always the same object, so it is compiled once."""

    statement: Insert | Update | TextClause
    values: dict[str, Any]


_OPEN_MATCH: Final = insert(tables.match)
_CLOSE_MATCH: Final = update(tables.match).where(tables.match.c.match_id == bindparam("which"))
_COUNT: Final = text(
    "INSERT INTO tally (label, game, rated, player_1, player_2, result, winner, cause, games, version_1, version_2) "
    "SELECT label, game, rated, player_1, player_2, result, winner, cause, 1, version_1, version_2 "
    'FROM "match" WHERE match_id = :which '
    "ON CONFLICT (label, game, rated, player_1, player_2, result, winner, cause, version_1, version_2) "
    "DO UPDATE SET games = tally.games + 1"
)
_OPEN_TOURNAMENT: Final = insert(tables.tournament)
_UPDATE_TOURNAMENT: Final = update(tables.tournament).where(tables.tournament.c.tournament_id == bindparam("which"))


def changes_of(append: Append, last: int) -> Iterator[Change]:
    """Return what an append changes, in order; `last` is the sequence number of its last record."""
    match_id, first = append.records[0].match_id, last - len(append.records) + 1
    if append.opened is not None:
        yield Change(_OPEN_MATCH, row_columns(append.opened, first))
    if append.closed is not None:
        yield Change(_CLOSE_MATCH, end_columns(append.closed, last) | {"which": match_id})
        yield Change(_COUNT, {"which": match_id})
    if append.tournament is not None:
        yield _listed(append.tournament, append.records[0].revision == 1, first, last)


def _listed(row: TournamentSummary, is_new: bool, first: int, last: int) -> Change:
    ended = last if row.ended_ms else 0
    if is_new:
        return Change(_OPEN_TOURNAMENT, tournament_columns(row, first, ended))
    columns = tournament_columns(row, 0, ended)
    del columns["sequence"]
    return Change(_UPDATE_TOURNAMENT, columns | {"which": row.tournament_id})
