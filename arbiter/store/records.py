"""Reads records out of the table `event`: checks the type of every value, and the seals.

The columns are read without SQLAlchemy's conversions: these would raise an error for a value that is not what was
written, without saying in which row it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, func, select, text, type_coerce
from sqlalchemy.types import NullType

from arbiter.service.ports.journal import RecordDamaged, Seals, StoredRecord, Subject
from arbiter.store import tables

LAST_RECORDS: Final = 100  #: at the end of the log, whose seals and instants are looked at
COLUMNS: Final = tuple(type_coerce(column, NullType()).label(column.name) for column in tables.event.c)
_TYPES: Final[dict[str, type]] = {"sequence": int, "match_id": str, "revision": int, "body": bytes}
_SUBJECTS: Final = {subject.value: subject for subject in Subject}
KEY_ID_BYTES: Final = 8  #: length in bytes of the key id at the beginning of a seal

_LAST_SEALS: Final = text("SELECT seal FROM event ORDER BY sequence DESC LIMIT :most")


def stored(seals: Seals | None, row: Sequence[Any]) -> StoredRecord:
    """Return the record of a row of COLUMNS, whose seal holds. Raises RecordDamaged."""
    sequence, match_id, revision, body, subject, seal = row
    kind = _SUBJECTS.get(subject) if isinstance(subject, str) else None
    if not (type(sequence) is int and type(match_id) is str and type(revision) is int and type(body) is bytes):
        raise RecordDamaged(_shown(match_id), _shown(revision), _mistyped(row), _name(kind))
    if kind is None:
        raise RecordDamaged(match_id, revision, f"its subject is {_shown(subject)}")
    if seal is not None and type(seal) is not bytes:
        raise RecordDamaged(match_id, revision, f"its seal is {_shown(seal)}", _name(kind))
    record = StoredRecord(sequence, match_id, revision, body, kind)
    fault = seals.fault(record, seal) if seals is not None else ""
    if fault:
        raise RecordDamaged(match_id, revision, fault, _name(kind))
    return record


def _mistyped(row: Sequence[Any]) -> str:
    """Return which one of the first values of a row lacks the type that was written, as a clause."""
    found = zip(_TYPES.items(), row, strict=False)
    return next(f"its {name} is {_shown(value)}" for (name, kind), value in found if type(value) is not kind)


def _name(kind: Subject | None) -> str:
    return kind.value if kind is not None else "match"


def head(connection: Connection) -> int:
    """Return the last sequence number, 0 if there is none. Raises TypeError if it is no number."""
    found: object = connection.execute(select(func.max(tables.event.c.sequence))).scalar()
    if found is not None and not isinstance(found, int):
        raise TypeError(f"the last sequence number of the log is {_shown(found)}")
    return found or 0


def keys_of_seals(connection: Connection) -> set[str]:
    """Return the ids of the keys that have sealed the last LAST_RECORDS records, if they have seals."""
    seals = connection.execute(_LAST_SEALS, {"most": LAST_RECORDS}).scalars()
    return {seal[:KEY_ID_BYTES].hex() for seal in seals if isinstance(seal, bytes)}


def _shown(value: object) -> str:
    return repr(value)[:60] if not isinstance(value, str) else value[:60]
