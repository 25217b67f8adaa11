"""Reads the logs of tournaments out of the table `event`, to check them: in portions, since some are long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection, literal_column, select

from arbiter.event_json.canonical import RecordError
from arbiter.service.ports.journal import Seals, StoredRecord, Subject
from arbiter.service.ports.snapshots import Snapshot
from arbiter.service.record.snapshots import go_on_from
from arbiter.service.record.tournament_log import Chain, OldGamesNeeded, StoredLog, follow, read
from arbiter.store import records, tables
from arbiter.tournaments.folding import fold
from arbiter.tournaments.recalling import Recall, put_back, want

PORTION: Final = 5_000  #: records that are read at once


class CheckedLog(NamedTuple):
    """A log whose seals and chain hold, without the old games of a ladder; the numbers of its first and last record."""

    log: StoredLog
    first: int
    last: int


def checked_log(connection: Connection, seals: Seals | None, tournament: str) -> CheckedLog:
    """Return the log of a tournament. Raises RecordDamaged, RecordError, StoreFailed."""
    log: StoredLog | None = None
    first = last = 0
    for found in _portions(connection, seals, tournament):
        try:
            log = follow(log, [record.body for record in found]) if log is not None else _begun(tournament, found)
        except OldGamesNeeded:  # perhaps many: it takes less time to read all of them at once
            log = None
        if log is None:  # or damage, which `read` names
            whole = [record for some in _portions(connection, seals, tournament) for record in some]
            return CheckedLog(_begun(tournament, whole), first, whole[-1].sequence)
        first, last = first or found[0].sequence, found[-1].sequence
    if log is None:
        raise RecordError("it has no records")
    return CheckedLog(log, first, last)


def gone_on(
    connection: Connection, seals: Seals | None, snapshot: Snapshot, found: Sequence[StoredRecord]
) -> StoredLog | None:
    """Return the log from a snapshot and the records from its event on, None if one of these can't be read.

    Old games that these records are about are read from the log. Raises RecordDamaged, RecordError, StoreFailed.
    """
    log = go_on_from(snapshot, [found[0].body])
    while log is not None:
        try:
            return follow(log, [record.body for record in found[1:]])
        except OldGamesNeeded as needed:
            recall, chain = Recall(want(log.tournament, needed.games)), Chain(snapshot.tournament)
            for some in _portions(connection, seals, snapshot.tournament, snapshot.revision):
                recall.read(chain.follow(record.body for record in some))
            put_back(log.tournament, recall.found())
    return None


def _begun(tournament: str, found: Sequence[StoredRecord]) -> StoredLog:
    log = read(tournament, found)
    fold(log.tournament, len(found))
    return log


def _portions(
    connection: Connection, seals: Seals | None, tournament: str, last: int | None = None
) -> Iterator[list[StoredRecord]]:
    """Yield the records of a tournament, some at a time. last: up to this revision; None for all.

    Raises RecordDamaged, RecordError, StoreFailed.
    """
    event = tables.event.c
    mine = (event.match_id == tournament, literal_column("subject") == Subject.TOURNAMENT.value)
    query = select(*records.COLUMNS).where(*mine).order_by(event.revision).limit(PORTION)
    if last is not None:
        query = query.where(event.revision <= last)
    after = 0
    while found := [records.stored(seals, row) for row in connection.execute(query.where(event.revision > after))]:
        if [record.revision for record in found] != list(range(after + 1, after + len(found) + 1)):
            raise RecordError("its revisions are not 1, 2, 3, …")
        yield found
        after = found[-1].revision
