"""The counts of results by the time of the end, for histories of ratings.

The counts of all time are in a table. So what ended before some time is these less what has ended since, and only
matches of that time are looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    bindparam,
    func,
    literal_column,
    select,
    true,
    union_all,
)

from arbiter.service.ports.journal import Tally
from arbiter.store import tables

_WAYS = ("game", "player_1", "player_2", "result", "winner", "cause", "version_1", "version_2")


def query(rated: Sequence[ColumnElement[bool]], game: str, period_ms: int, since: int) -> CompoundSelect[Any]:
    """Return the query for the counts of each period from `since` on, and those of all time with the period −1.

    It is one statement, so that both are of the same instant. rated: the conditions for matches that count.
    """
    match, tally = tables.match.c, tables.tally.c
    period = (match.ended_ms // bindparam("period_ms", period_ms, BigInteger, literal_execute=True)).label("period")
    ways = [match[name] for name in _WAYS]
    ended = match.ended_ms >= since * period_ms
    dated = select(period, *ways, func.count().label("games")).where(*rated, ended).group_by(period, *ways)
    ways = [tally[name] for name in _WAYS]
    counted = [tally.rated == true(), tally.result != "void", *([tally.game == game] if game else [])]
    of_all = select(literal_column("-1").label("period"), *ways, func.sum(tally.games).label("games"))
    return union_all(dated, of_all.where(*counted).group_by(*ways))


def tallies(rows: Iterable[Sequence[Any]], since: int) -> list[tuple[int, Tally]]:
    """Return the counts of the query's rows in order of time, those before `since` with the period `since - 1`."""
    dated: list[tuple[int, Tally]] = []
    before: Counter[Tally] = Counter()
    for period, game, player_1, player_2, result, winner, cause, version_1, version_2, games in rows:
        way = Tally("", game, True, player_1, player_2, result, winner, cause, 0, version_1, version_2)
        if period < 0:
            before[way] += int(games)
        else:
            before[way] -= games
            dated.append((period, way._replace(games=games)))
    dated += ((since - 1, way._replace(games=games)) for way, games in before.items() if games > 0)
    return sorted(dated, key=lambda each: (each[0], each[1]._replace(games=0)))
