"""Reads records out of the table `event`: checks the type of every value, the seals, and that no number is missing.

The columns are read without SQLAlchemy's conversions: these would raise an error for a value that is not what was
written, without saying in which row it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Engine, bindparam, func, select, text, type_coerce
from sqlalchemy.types import NullType

from arbiter.service.ports.journal import RecordDamaged, Seals, StoredRecord, Subject
from arbiter.store import tables
from arbiter.store.database import kind_of

COLUMNS: Final = tuple(type_coerce(column, NullType()).label(column.name) for column in tables.event.c)
_TYPES: Final[dict[str, type]] = {"sequence": int, "match_id": str, "revision": int, "body": bytes}
_SUBJECTS: Final = {subject.value: subject for subject in Subject}
KEY_ID_BYTES: Final = 8  #: a seal begins with so many bytes of its key's id
_AT_ONCE: Final = 2_000  #: records in one transaction while they are sealed

_COUNT: Final = text("SELECT count(*), max(sequence) FROM event WHERE sequence > :after")
_AFTER_GAP: Final = text(
    "SELECT max(sequence) FROM event WHERE sequence > :after + 1 "
    "AND NOT EXISTS (SELECT 1 FROM event AS before WHERE before.sequence = event.sequence - 1)"
)
_LAST_SEALS: Final = text("SELECT seal FROM event ORDER BY sequence DESC LIMIT :most")
_AFTER_GAPS: Final = text(
    "SELECT sequence, (SELECT max(sequence) FROM event AS before WHERE before.sequence < event.sequence) FROM event "
    "WHERE NOT EXISTS (SELECT 1 FROM event AS before WHERE before.sequence = event.sequence - 1) "
    "AND sequence > 1 ORDER BY sequence"
)


def stored(seals: Seals | None, row: Sequence[Any]) -> StoredRecord:
    """Return the record of a row of COLUMNS, whose seal holds. Raises RecordDamaged."""
    sequence, match_id, revision, body, subject, seal = row
    kind = _SUBJECTS.get(subject) if isinstance(subject, str) else None
    of = kind.value if kind is not None else "match"
    for name, value in zip(_TYPES, (sequence, match_id, revision, body), strict=True):
        if type(value) is not _TYPES[name]:
            raise RecordDamaged(_shown(match_id), _shown(revision), f"its {name} is {_shown(value)}", of)
    if kind is None:
        raise RecordDamaged(match_id, revision, f"its subject is {_shown(subject)}")
    if seal is not None and type(seal) is not bytes:
        raise RecordDamaged(match_id, revision, f"its seal is {_shown(seal)}", of)
    record = StoredRecord(sequence, match_id, revision, body, kind)
    fault = seals.fault(record, seal) if seals is not None else ""
    if fault:
        raise RecordDamaged(match_id, revision, fault, of)
    return record


def last_gap(connection: Connection, after: int) -> int:
    """Return the last sequence number behind `after` and before the last record that no record has; 0 if none."""
    count, last = connection.execute(_COUNT, {"after": after}).one()
    if not count or count == last - after:
        return 0
    found = connection.execute(_AFTER_GAP, {"after": after}).scalar()
    return int(found) - 1 if found else 0


def gaps(connection: Connection) -> Iterable[tuple[int, int]]:
    """Yield the first and last missing number of each gap in the log."""
    first_gap = last_gap(connection, 0)
    if first_gap:
        for following, before in connection.execute(_AFTER_GAPS):
            yield (before or 0) + 1, following - 1


def head(connection: Connection) -> int:
    """Return the last sequence number, 0 if there is none. Raises TypeError if it is no number."""
    found: object = connection.execute(select(func.max(tables.event.c.sequence))).scalar()
    if found is not None and not isinstance(found, int):
        raise TypeError(f"the last sequence number of the log is {_shown(found)}")
    return found or 0


def keys_of_seals(connection: Connection, most: int) -> set[str]:
    """Return the ids of the keys that have sealed the last records, `most` of them, if they have seals."""
    seals = connection.execute(_LAST_SEALS, {"most": most}).scalars()
    return {seal[:KEY_ID_BYTES].hex() for seal in seals if isinstance(seal, bytes)}


def seal_records(engine: Engine, seals: Seals, everything: bool) -> int:
    """Seal the records that have no seal, or (`everything`) all as they stand; return how many.

    They are written in several transactions. If it is interrupted, the next call goes on. Raises RecordDamaged,
    SQLAlchemyError.
    """
    event = tables.event
    query = select(*COLUMNS).where(event.c.sequence > bindparam("after")).order_by(event.c.sequence).limit(_AT_ONCE)
    if not everything:
        query = query.where(event.c.seal.is_(None))
    change = event.update().where(event.c.sequence == bindparam("place")).values(seal=bindparam("mark"))
    after = sealed = 0
    while True:
        with engine.begin() as connection:
            for statement in kind_of(engine).BEGIN:
                connection.exec_driver_sql(statement).close()
            found = [stored(None, row) for row in connection.execute(query, {"after": after})]
            if not found:
                return sealed
            seal = seals.sealer()
            connection.execute(change, [{"place": record.sequence, "mark": seal(*record)} for record in found])
        after = found[-1].sequence
        sealed += len(found)


def _shown(value: object) -> str:
    return repr(value)[:60] if not isinstance(value, str) else value[:60]
