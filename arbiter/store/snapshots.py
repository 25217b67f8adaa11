"""The snapshots of tournaments in a relational database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from sqlalchemy import Connection, delete, select, type_coerce
from sqlalchemy.types import NullType

from arbiter.event_json.canonical import RecordError
from arbiter.service.ports.journal import Seals, StoredRecord, StoreFailed, Subject
from arbiter.service.ports.snapshots import EVERY, Snapshot
from arbiter.service.record.snapshots import code_version, difference, unfit
from arbiter.store import records, tables
from arbiter.store.checked_logs import checked_log, gone_on
from arbiter.store.reader import Reader
from arbiter.store.writer import Writer

_TABLE: Final = tables.tournament_snapshot
_NO_RECORD: Final = 0  #: the sequence number in the seal of a snapshot, which no record has
_SELECT: Final = select(*(type_coerce(column, NullType()).label(column.name) for column in _TABLE.c))


class SqlSnapshots:
    """The snapshots; see `arbiter.service.ports.snapshots.Snapshots`. Each is sealed like a record.

    Without `seals` there are none, since it could not be checked whose they are.
    """

    def __init__(self, writer: Writer, reader: Reader, seals: Seals | None, every: int = EVERY) -> None:
        self.every: Final = every
        self._writer = writer
        self._reader = reader
        self._seals = seals

    async def newest(self, tournament: str) -> Snapshot | None:
        return await self._reader.read(lambda connection: newest(connection, self._seals, tournament))

    async def keep(self, snapshot: Snapshot) -> None:
        if self._seals is None:
            return
        seals = self._seals

        def write(connection: Connection) -> None:
            connection.execute(delete(_TABLE).where(_TABLE.c.tournament_id == snapshot.tournament))
            values = (*snapshot, seals.sealer()(*_sealed(snapshot)))
            connection.execute(_TABLE.insert(), dict(zip(_TABLE.c.keys(), values, strict=True)))

        await self._writer.write(write)


def newest(connection: Connection, seals: Seals | None, tournament: str) -> Snapshot | None:
    """Return the snapshot of a tournament; None if there is none, or its seal does not hold. Raises SQLAlchemyError."""
    row: Any = connection.execute(_SELECT.where(_TABLE.c.tournament_id == tournament)).first()
    if row is None or seals is None:
        return None
    *values, seal = row
    if [type(value) for value in values] != [str, int, str, str, bytes] or type(seal) is not bytes:
        return None
    snapshot = Snapshot(*values)
    with suppress(StoreFailed):  # it is sealed by a key that only another server has yet
        if not seals.fault(_sealed(snapshot), seal):
            return snapshot
    return None


def wrong(connection: Connection, seals: Seals | None) -> Iterator[str]:
    """Yield a sentence for each snapshot that a start would use, and that is not what the tournament's log says."""
    event = tables.event.c
    for tournament in connection.execute(select(_TABLE.c.tournament_id).order_by(_TABLE.c.tournament_id)).scalars():
        snapshot = newest(connection, seals, tournament)
        if snapshot is None or snapshot.code != code_version():
            continue
        rest = connection.execute(
            select(*records.COLUMNS)
            .where(
                event.match_id == tournament, event.revision >= snapshot.revision, event.subject == Subject.TOURNAMENT
            )
            .order_by(event.revision)
        )
        with suppress(StoreFailed, RecordError):  # a damaged log, which is named elsewhere
            found = [records.stored(seals, row) for row in rest]
            log = gone_on(connection, seals, snapshot, found) if not unfit(snapshot, found) else None
            if log is None:
                continue
            field = difference(log.tournament, checked_log(connection, seals, tournament).log.tournament)
            if field:
                yield f"the snapshot of tournament {tournament} is not what its log says ({field.strip('_')})"


def _sealed(snapshot: Snapshot) -> StoredRecord:
    """Return what the seal of a snapshot covers, in the form of a record."""
    body = b"\n".join((snapshot.digest.encode(), snapshot.code.encode(), snapshot.state))
    return StoredRecord(_NO_RECORD, snapshot.tournament, snapshot.revision, body, Subject.TOURNAMENT)
