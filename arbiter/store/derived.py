"""What is derived from the log, derived again: the list of matches, the tallies of ends, the players that it names.

The log is the truth. What lists, standings and ratings are read from is written in the same transaction as the events
that it follows from; here it is computed once more from the events alone, to be compared with what stands there
(`check`) or to take its place (`rebuild`). The directory's own (tokens, invitations, challenges, what a player says of
itself) is not derived; a player whom the log names and the directory lacks is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Engine, func, select, text
from sqlalchemy.exc import DBAPIError

from arbiter.errors import OperatorError
from arbiter.matches.evolution import replay
from arbiter.matches.fields import RecordError
from arbiter.matches.match import Phase
from arbiter.matches.record import check_chain
from arbiter.service.ports import MatchEnd, MatchRow, Player, Tally
from arbiter.service.rows import end_of, row_of
from arbiter.store import tables
from arbiter.store.database import kind_of, named
from arbiter.store.directory import player_columns
from arbiter.store.failure import reason
from arbiter.store.journal import end_columns, read_row, row_columns

Progress = Callable[[int, int], None]
"""Is told how many matches are done, and of how many."""

_NO_END: Final = MatchEnd("", 0, "", "", "", 0, "", 0, "", 0)
MOST_FAULTS: Final = 20  #: how many faults a check names
_BATCH: Final = 500  #: matches that are written at once
_ORPHANS: Final = text(
    'SELECT match_id FROM "match" WHERE NOT EXISTS (SELECT 1 FROM event WHERE event.match_id = "match".match_id) '
    "ORDER BY match_id"
)


class Found(NamedTuple):
    """What a store holds. `faults` are sentences, at most MOST_FAULTS of them; `players` were added by a rebuild."""

    matches: int
    records: int
    players: int = 0
    faults: tuple[str, ...] = ()


class Damage(Exception):
    """The record of a match is not what was written."""


def check(engine: Engine, progress: Progress) -> Found:
    """Read all of a store, and compare: pages, hash chains, and what is derived with what the log says.

    Changes nothing, and sees one state of the store, whoever writes meanwhile. Raises OperatorError.
    """
    kind = kind_of(engine)
    with named(engine.url), engine.connect() as connection:
        for statement in kind.SNAPSHOT:
            connection.exec_driver_sql(statement).close()
        faults = _faults(connection, kind.check_sound(connection), progress)
        first = tuple(islice(faults, MOST_FAULTS))
        matches, records = _size(connection)
        connection.rollback()
    return Found(matches, records, faults=first)


def _faults(connection: Connection, unsound: list[str], progress: Progress) -> Iterator[str]:
    yield from unsound
    tallies: Counter[Tally] = Counter()
    whole = True
    for match_id, derived in _derived(connection, progress):
        if isinstance(derived, Damage):
            whole = False
            yield str(derived)
            continue
        stored = connection.execute(select(tables.match).where(tables.match.c.match_id == match_id)).first()
        if stored is None:
            yield f"match {match_id} is in no list"
        elif read_row(stored) != derived:
            yield f"match {match_id} is listed otherwise than its record says"
        _count(tallies, derived)
    for match_id in connection.execute(_ORPHANS).scalars():
        yield f"match {match_id} is listed and has no record"
    if whole:  # else they can't be told
        counted = Counter(
            {Tally(*row)._replace(games=0): row.games for row in connection.execute(tables.tally.select())}
        )
        for tally in sorted(key for key in counted.keys() | tallies.keys() if counted[key] != tallies[key]):
            yield (
                f"{tally.player_1} and {tally.player_2} at {tally.game}: {counted[tally]} ends are counted as "
                f"{tally.result} by {tally.cause}, and there are {tallies[tally]}"
            )


def rebuild(engine: Engine, progress: Progress) -> Found:
    """Derive everything anew from the log, in one transaction.

    The caller holds the store alone. Raises OperatorError for a record that is damaged; nothing has changed then.
    """
    with named(engine.url), engine.begin() as connection:
        for statement in kind_of(engine).BEGIN:
            connection.exec_driver_sql(statement).close()
        connection.execute(tables.match.delete())
        connection.execute(tables.tally.delete())
        tallies: Counter[Tally] = Counter()
        players: dict[str, int] = {}
        matches = _derived(connection, progress)
        while batch := list(islice(matches, _BATCH)):
            rows = []
            for _, derived in batch:
                if isinstance(derived, Damage):
                    raise OperatorError(f"nothing was rebuilt: {derived}; `arbiter store check` names all faults")
                rows.append(derived)
                _count(tallies, derived)
                for name in (derived.player_1, derived.player_2):
                    players.setdefault(name, derived.created_ms)
            connection.execute(tables.match.insert(), [_columns(row) for row in rows])
        if tallies:
            connection.execute(
                tables.tally.insert(), [{**tally._asdict(), "games": games} for tally, games in tallies.items()]
            )
        added = _add_players(connection, players)
        return Found(*_size(connection), players=added)


def _add_players(connection: Connection, players: dict[str, int]) -> int:
    there = set(connection.execute(select(tables.player.c.name)).scalars())
    missing = [player_columns(Player(name, created)) for name, created in players.items() if name not in there]
    if missing:
        connection.execute(tables.player.insert(), missing)
    return len(missing)


def _size(connection: Connection) -> tuple[int, int]:
    event = tables.event.c
    query = select(func.count(event.match_id.distinct()), func.count())
    matches, records = connection.execute(query).one()
    return matches, records


def _derived(connection: Connection, progress: Progress) -> Iterator[tuple[str, MatchRow | Damage]]:
    """Yield what lists show of each match of the log, in the order in which they were made."""
    event = tables.event.c
    order = func.min(event.sequence)
    ids = connection.execute(select(event.match_id).group_by(event.match_id).order_by(order)).scalars().all()
    for done, match_id in enumerate(ids, 1):
        try:
            yield match_id, _derive(connection, match_id)
        except RecordError as error:
            yield match_id, Damage(f"the record of match {match_id} is damaged: {error}")
        except DBAPIError as error:
            yield match_id, Damage(f"the record of match {match_id} can't be read: {reason(error)}")
            return  # a transaction that has met this is over
        progress(done, len(ids))


def _derive(connection: Connection, match_id: str) -> MatchRow:
    event = tables.event.c
    query = select(event.sequence, event.revision, event.body).where(event.match_id == match_id)
    records = connection.execute(query.order_by(event.revision)).all()
    events = check_chain([record.body for record in records])
    match = replay(events, trust=True)
    if match.id != match_id:
        raise RecordError(f"it is that of match {match.id}")
    if [record.revision for record in records] != list(range(1, len(records) + 1)):
        raise RecordError("its revisions are not 1, 2, 3, …")
    row = replace(row_of(match.created), sequence=records[0].sequence)
    if match.phase is not Phase.ENDED:
        return row
    return replace(row, ended_sequence=records[-1].sequence, end=end_of(match))


def _columns(row: MatchRow) -> dict[str, Any]:
    return row_columns(row, row.sequence) | end_columns(row.end or _NO_END, row.ended_sequence)


def _count(tallies: Counter[Tally], row: MatchRow) -> None:
    if row.end is not None:
        end = row.end
        key = (row.label, row.game, row.rated, row.player_1, row.player_2, end.result, end.winner, end.cause)
        tallies[Tally(*key, games=0)] += 1
