"""Reads the logs of tournaments out of the table `event`, to check them: in portions, since some are long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection, literal_column, select

from arbiter.event_json.canonical import RecordError
from arbiter.service.ports.journal import Seals, StoredRecord, Subject
from arbiter.service.record.tournament_log import StoredLog, follow, read
from arbiter.store import records, tables
from arbiter.tournaments.folding import fold

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
        log = follow(log, [record.body for record in found]) if log is not None else _begun(tournament, found)
        if log is None:  # a later decision may be about an old game; or damage, which `read` names
            whole = [record for some in _portions(connection, seals, tournament) for record in some]
            return CheckedLog(_begun(tournament, whole), first, whole[-1].sequence)
        first, last = first or found[0].sequence, found[-1].sequence
    if log is None:
        raise RecordError("it has no records")
    return CheckedLog(log, first, last)


def _begun(tournament: str, found: Sequence[StoredRecord]) -> StoredLog:
    log = read(tournament, found)
    fold(log.tournament, len(found))
    return log


def _portions(connection: Connection, seals: Seals | None, tournament: str) -> Iterator[list[StoredRecord]]:
    """Yield all records of a tournament, some at a time. Raises RecordDamaged, RecordError, StoreFailed."""
    event = tables.event.c
    mine = (event.match_id == tournament, literal_column("subject") == Subject.TOURNAMENT.value)
    query = select(*records.COLUMNS).where(*mine).order_by(event.revision).limit(PORTION)
    after = 0
    while found := [records.stored(seals, row) for row in connection.execute(query.where(event.revision > after))]:
        if [record.revision for record in found] != list(range(after + 1, after + len(found) + 1)):
            raise RecordError("its revisions are not 1, 2, 3, …")
        yield found
        after = found[-1].revision
