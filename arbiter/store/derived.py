"""Recomputes the tables that follow from the event log: lists, result counts and players.

The log is the source of truth. The tables for lists, standings and ratings are written in the same transaction as their
events. This module computes them from the events alone, and then either compares them with the tables (`check`) or
replaces the tables (`rebuild`). Snapshots of tournaments are compared with their logs, or removed. Tokens, invitations,
challenges and profiles do not follow from the log and stay as they are. If the log names a player that is missing, the
player is added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, Engine, literal_column, select, text
from sqlalchemy.exc import DBAPIError

from arbiter.errors import OperatorError
from arbiter.event_json.canonical import RecordError
from arbiter.matches.evolution import replay
from arbiter.matches.match import Phase
from arbiter.matches.record import check_chain
from arbiter.ratings.rulings import Rulings
from arbiter.service.ports.directory import Player
from arbiter.service.ports.journal import (
    MatchEnd,
    MatchSummary,
    RecordDamaged,
    Seals,
    StoreDamaged,
    StoredRecord,
    Subject,
    Tally,
    TournamentSummary,
)
from arbiter.service.record import tournament_log
from arbiter.service.record.match_log import end_of, summary_of
from arbiter.store import archive, records, ruling_table, snapshots, tables
from arbiter.store.checked_logs import CheckedLog, checked_log
from arbiter.store.database import WRONG_VALUE, named
from arbiter.store.database_errors import reason
from arbiter.store.dialects import dialect_of
from arbiter.store.directory import player_columns, unreadable
from arbiter.store.gaps import gaps
from arbiter.store.summaries import end_columns, row_columns

Progress = Callable[[int, int], None]
"""Called after each match with the number of matches done, and the number of all matches."""

CheckSize = Callable[[int, int], None]
"""Called with the number of records, and that of rulings on ratings."""

_NO_END: Final = MatchEnd("", 0, "", "", "", 0, "", 0, "", 0)
MOST_FAULTS: Final = 20  #: maximum number of faults that a check reports
_BATCH: Final = 500  #: matches to write at once
_LOGS: Final = text(
    "SELECT match_id, subject, min(sequence) FROM event GROUP BY match_id, subject "
    f"UNION ALL SELECT match_id, '{Subject.MATCH.value}', first_sequence FROM archived_match ORDER BY 3"
)
_SIZES: Final = text("SELECT subject, count(DISTINCT match_id), count(*) FROM event GROUP BY subject")
_ARCHIVED: Final = text("SELECT count(*), coalesce(sum(size), 0) FROM archived_match")
_ORPHANS: Final = {
    Subject.MATCH: text(
        'SELECT match_id FROM "match" WHERE NOT EXISTS (SELECT 1 FROM event WHERE event.match_id = "match".match_id) '
        'AND NOT EXISTS (SELECT 1 FROM archived_match WHERE archived_match.match_id = "match".match_id) '
        "ORDER BY match_id"
    ),
    Subject.TOURNAMENT: text(
        "SELECT tournament_id FROM tournament "
        "WHERE NOT EXISTS (SELECT 1 FROM event WHERE event.match_id = tournament.tournament_id) ORDER BY tournament_id"
    ),
}

Derived: TypeAlias = "MatchSummary | TournamentSummary | Damage"


class Found(NamedTuple):
    """The size of a store. `faults`: sentences, at most MOST_FAULTS of them.

    `players`: how many a rebuild has added. `sealed`: whether the seals of the records were checked.
    """

    matches: int
    records: int
    players: int = 0
    faults: tuple[str, ...] = ()
    tournaments: int = 0
    sealed: bool = False


class Damage(Exception):
    """The record of a match or tournament is damaged."""


def check(engine: Engine, progress: Progress, seals: Seals | None = None, check_size: CheckSize | None = None) -> Found:
    """Read the whole store. Check its pages, seals, hash chains, and that the derived tables agree with the log.

    `seals`: without them, no seal is checked. `check_size` raises OperatorError if it is given the number of too few
    records, or of too few rulings on ratings. The check changes nothing, and reads one consistent snapshot while others
    may write. Raises OperatorError.
    """
    dialect = dialect_of(engine)
    with named(engine.url), engine.connect() as connection:
        for statement in dialect.snapshot:
            connection.exec_driver_sql(statement).close()
        unsound = [*dialect.check_sound(connection), *_missing(connection, check_size, seals)]
        faults = _readable(_faults(connection, unsound, progress, seals))
        first = tuple(islice(faults, MOST_FAULTS))
        found = _size(connection)
        connection.rollback()
    return found._replace(faults=first, sealed=seals is not None)


def _readable(faults: Iterator[str]) -> Iterator[str]:
    """Yield the faults; for a value with which the check cannot go on, one more, which is the last."""
    try:
        yield from faults
    except WRONG_VALUE as error:
        yield f"a value in the lists or counts can't be read: {error}"


def _missing(connection: Connection, check_size: CheckSize | None, seals: Seals | None) -> Iterator[str]:
    """Yield the gaps in the log: at its end, and between its records; and at the end of that of rulings on ratings."""
    try:
        if check_size is not None:
            check_size(records.head(connection), ruling_table.last(connection))
    except OperatorError as error:
        yield str(error)
    try:
        for first, last in gaps(connection, seals):
            yield f"records {first} to {last} of the log are missing"
    except DBAPIError as error:
        yield f"the records of the log can't be counted: {reason(error)}"


def _faults(connection: Connection, unsound: list[str], progress: Progress, seals: Seals | None) -> Iterator[str]:
    unrated, damaged = _unrated(connection, seals)
    yield from (*unsound, *damaged)
    tallies: Counter[Tally] = Counter()
    whole = not damaged
    for name, derived in _derived(connection, progress, unrated, seals):
        if isinstance(derived, Damage):
            whole = False
            yield str(derived)
            continue
        try:
            listed = _is_listed(connection, derived)
        except WRONG_VALUE as error:
            yield f"{name} has an entry in the lists that can't be read: {error}"
            continue
        if listed is None:
            yield f"{name} is in no list"
        elif not listed:
            yield f"{name} is listed otherwise than its record says"
        if isinstance(derived, MatchSummary):
            _count(tallies, derived)
    yield from snapshots.wrong(connection, seals)
    yield from unreadable(connection)
    for subject, query in _ORPHANS.items():
        for id_ in connection.execute(query).scalars():
            yield f"{subject.value} {id_} is listed and has no record"
    if whole:  # otherwise the counts cannot be known
        counted = Counter(
            {Tally(*row)._replace(games=0): row.games for row in connection.execute(tables.tally.select())}
        )
        for tally in sorted(key for key in counted.keys() | tallies.keys() if counted[key] != tallies[key]):
            yield (
                f"{tally.player_1} and {tally.player_2} at {tally.game}: {counted[tally]} ends are counted as "
                f"{tally.result} by {tally.cause}, and there are {tallies[tally]}"
            )


def rebuild(engine: Engine, progress: Progress, seals: Seals | None = None) -> Found:
    """Recompute all derived tables from the log, in one transaction. Without `seals`, no seal is checked.

    The caller must hold the store's lock. Raises OperatorError for a damaged record; then nothing has changed.
    """
    with named(engine.url), engine.begin() as connection:
        for statement in dialect_of(engine).begin:
            connection.exec_driver_sql(statement).close()
        connection.execute(tables.match.delete())
        connection.execute(tables.tally.delete())
        connection.execute(tables.tournament.delete())
        connection.execute(tables.tournament_snapshot.delete())
        tallies: Counter[Tally] = Counter()
        players: dict[str, int] = {}
        unrated, damaged = _unrated(connection, seals)
        if damaged:
            raise OperatorError(f"nothing was rebuilt: {damaged[0]}")
        matches = _derived(connection, progress, unrated, seals)
        while batch := list(islice(matches, _BATCH)):
            rows: list[dict[str, Any]] = []
            for _, derived in batch:
                if isinstance(derived, Damage):
                    raise OperatorError(f"nothing was rebuilt: {derived}; `arbiter store check` names all faults")
                if isinstance(derived, TournamentSummary):
                    connection.execute(tables.tournament.insert(), asdict(derived))
                    continue
                rows.append(_columns(derived))
                _count(tallies, derived)
                for name in (derived.player_1, derived.player_2):
                    players.setdefault(name, derived.created_ms)
            if rows:
                connection.execute(tables.match.insert(), rows)
        if tallies:
            connection.execute(
                tables.tally.insert(), [{**tally._asdict(), "games": games} for tally, games in tallies.items()]
            )
        added = _add_players(connection, players)
        return _size(connection)._replace(players=added)


def _unrated(connection: Connection, seals: Seals | None) -> tuple[dict[str, int], list[str]]:
    """Return the matches that do not count, each with its ruling on ratings, and what is wrong with the rulings."""
    found = Rulings()
    try:
        for record in ruling_table.stored(connection, seals):
            found.follow(record.body)
    except StoreDamaged as error:
        return {}, [error.why]
    except (RecordError, *WRONG_VALUE) as error:
        return {}, [f"ruling {found.revision + 1} on ratings is damaged: {error}"]
    return found.unrated(), []


def _add_players(connection: Connection, players: dict[str, int]) -> int:
    there = set(connection.execute(select(tables.player.c.name)).scalars())
    missing = [player_columns(Player(name, created)) for name, created in players.items() if name not in there]
    if missing:
        connection.execute(tables.player.insert(), missing)
    return len(missing)


def _size(connection: Connection) -> Found:
    sizes: dict[Any, tuple[int, int]] = {kind: (ids, count) for kind, ids, count in connection.execute(_SIZES)}
    matches, of_matches = sizes.get(Subject.MATCH.value, (0, 0))
    tournaments, of_tournaments = sizes.get(Subject.TOURNAMENT.value, (0, 0))
    archived, of_archived = connection.execute(_ARCHIVED).one()
    return Found(matches + archived, of_matches + of_tournaments + of_archived, tournaments=tournaments)


def _is_listed(connection: Connection, derived: MatchSummary | TournamentSummary) -> bool | None:
    """Return whether a match or tournament is listed as derived, None if it is in no list."""
    if isinstance(derived, TournamentSummary):
        mine = tables.tournament.c.tournament_id == derived.tournament_id
        row = connection.execute(select(tables.tournament).where(mine)).first()
        return TournamentSummary(**row._mapping) == derived if row is not None else None
    row = connection.execute(select(tables.match).where(tables.match.c.match_id == derived.match_id)).first()
    return dict(row._mapping) == _columns(derived) if row is not None else None


def _derived(
    connection: Connection, progress: Progress, unrated: Mapping[str, int], seals: Seals | None = None
) -> Iterator[tuple[str, Derived]]:
    """Yield the derived list entry of each match and tournament, with its name, in order of creation.

    unrated: the matches that do not count for ratings, each with the number of the ruling.
    """
    logs = connection.execute(_LOGS).all()
    for done, (id_, subject, _) in enumerate(logs, 1):
        name = f"{subject} {id_}"
        try:
            derived = _derive(connection, id_, subject, seals)
            if isinstance(derived, MatchSummary):
                derived = replace(derived, ruling=unrated.get(derived.match_id, 0))
            yield name, derived
        except StoreDamaged as error:
            yield name, Damage(error.why)
        except RecordError as error:
            yield name, Damage(f"the record of {name} is damaged: {error}")
        except WRONG_VALUE as error:
            yield name, Damage(f"the record of {name} is damaged: {error!r}")
        except DBAPIError as error:
            yield name, Damage(f"the record of {name} can't be read: {reason(error)}")
            return  # after such an error the transaction cannot continue
        progress(done, len(logs))


def _derive(
    connection: Connection, match_id: object, subject: object, seals: Seals | None
) -> MatchSummary | TournamentSummary:
    if not isinstance(match_id, str) or not isinstance(subject, str):
        raise RecordDamaged(repr(match_id), "?", f"its id is {match_id!r:.60}, its subject {subject!r:.60}")
    if subject == Subject.TOURNAMENT:
        return _derive_tournament(checked_log(connection, seals, match_id))
    event = tables.event.c
    mine = (event.match_id == match_id, literal_column("subject") == subject)
    rows = connection.execute(select(*records.COLUMNS).where(*mine).order_by(event.revision))
    found = [records.stored(seals, row) for row in rows]
    archived = archive.read(connection, seals, match_id)
    if archived and found:
        raise RecordDamaged(match_id, 1, "it is in the log and in the archive")
    found = found or archived
    events = check_chain([record.body for record in found])
    match = replay(events, trust=True)
    if match.id != match_id:
        raise RecordError(f"it is that of match {match.id}")
    _check_revisions(found)
    row = replace(summary_of(match.created), sequence=found[0].sequence)
    if match.phase is not Phase.ENDED:
        return row
    return replace(row, ended_sequence=found[-1].sequence, end=end_of(match))


def _derive_tournament(found: CheckedLog) -> TournamentSummary:
    row = replace(tournament_log.summary_of(found.log.tournament), sequence=found.first)
    return replace(row, ended_sequence=found.last) if row.ended_ms else row


def _check_revisions(found: list[StoredRecord]) -> None:
    if [record.revision for record in found] != list(range(1, len(found) + 1)):
        raise RecordError("its revisions are not 1, 2, 3, …")


def _columns(row: MatchSummary) -> dict[str, Any]:
    return row_columns(row, row.sequence) | end_columns(row.end or _NO_END, row.ended_sequence)


def _count(tallies: Counter[Tally], row: MatchSummary) -> None:
    if row.end is not None:
        end = row.end
        counts = row.rated and not row.ruling
        key = (row.label, row.game, counts, row.player_1, row.player_2, end.result, end.winner, end.cause)
        tallies[Tally(*key, 0, end.version_1, end.version_2)] += 1
