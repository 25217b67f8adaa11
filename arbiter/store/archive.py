"""The archive: the records of matches that ended long ago, out of the event log, compressed in a table of its own.

Almost everything that a store grows by is records of finished matches, and hardly anybody reads them. So
`arbiter archive` moves them from the table `event`, where each has a row and two index entries, to one row a match in
`archived_match`. Lists, results and ratings stay as they are: they are derived data, in tables of their own.

The archive is in the same database on purpose. Nothing has to be configured, found again or kept in step: a match is
moved in one transaction, so that a kill at any time leaves it in one place or in the other; a backup has both; and
every reader of the log finds an archived match where it was. In PostgreSQL the table can have a tablespace of its
own.

A match is moved as a whole, and only if its record is sound, its end is in it, and it is not the last one in the log:
the table `event` keeps the last record, from which numbers are given. Sequence numbers stay as they were.

- `records` holds every record as it stood in its row, with its sequence number and its seal, but for the hash of the
  record before: that follows from the record before, can't be compressed, and would be two fifths of all. So an
  archived record is checked like any other, and can be changed no more unnoticed.
- `entry` is canonical JSON: `at`, the time of the move (UTC epoch milliseconds), and `places`, the sequence numbers of
  the records in runs, `[[first, count], …]`. It is sealed like a record of revision 0, which no record has. So whoever
  looks for gaps in the numbers need not read the records, and nobody without the keys can cover up a gap by an entry.

Readers look in the log first and then here. A match that is moved in between is found twice, never not at all.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Engine, Select, bindparam, func, select, text
from sqlalchemy.exc import IntegrityError

from arbiter.event_json.canonical import NotCanonicalError, RecordError, decode, digest, encode
from arbiter.matches.events import FIRST_PREVIOUS
from arbiter.matches.evolution import replay
from arbiter.matches.match import Phase
from arbiter.matches.record import check_chain
from arbiter.service.ports.journal import RecordDamaged, Seals, StoredRecord, Subject
from arbiter.store import records, tables
from arbiter.store.dialects import dialect_of

Run = tuple[int, int]
"""Sequence numbers without a gap: the first, and how many."""

_HEADER: Final = struct.Struct(">QBI")  #: before each record: sequence number, bytes of the seal, bytes of the body
_PREVIOUS: Final = b'"previous":"%s"'  #: in a record, with the hash of the one before
_FOLLOWS: Final = _PREVIOUS % b""  #: in its place
_LEVEL: Final = 6  #: of zlib
_FIRST: Final = 16_384  #: bytes in which the first record mostly is
_AT_ONCE: Final = 50  #: rows in one query
_ENTRY_REVISION: Final = 0

_TABLE: Final = tables.archived_match.c
_ROW: Final = (_TABLE.match_id, _TABLE.first_sequence, _TABLE.entry, _TABLE.seal)
_OLD: Final = (
    'FROM "match" WHERE ended_sequence > 0 AND ended_ms < :before AND sequence > :after '
    "AND ended_sequence < (SELECT max(sequence) FROM event) "
    'AND NOT EXISTS (SELECT 1 FROM archived_match WHERE archived_match.match_id = "match".match_id)'
)
_COUNT_OLD: Final = text(f"SELECT count(*) {_OLD}")
_NEXT_OLD: Final = text(f"SELECT match_id, sequence {_OLD} ORDER BY sequence LIMIT :most")


class _ChangedMeanwhileError(Exception):
    """There are not as many records in the log as were read."""


class Packed(NamedTuple):
    """A match that can be archived: its row of the archive, and the bytes of its records in the log."""

    row: dict[str, Any]
    bytes_before: int

    @property
    def bytes_after(self) -> int:
        """The bytes of its records in the archive."""
        return len(self.row["records"]) + len(self.row["entry"])


def count_old(connection: Connection, before_ms: int) -> int:
    """Return how many matches that ended before an instant (UTC epoch milliseconds) are not in the archive."""
    return int(connection.execute(_COUNT_OLD, {"before": before_ms, "after": 0}).scalar_one())


def next_old(connection: Connection, before_ms: int, after: int, most: int) -> list[tuple[str, int]]:
    """Return such matches with the number of their first record, which is greater than `after`, in order."""
    values = {"before": before_ms, "after": after, "most": most}
    return [(str(match_id), int(sequence)) for match_id, sequence in connection.execute(_NEXT_OLD, values)]


def packed(connection: Connection, seals: Seals | None, match_id: str, now_ms: int) -> Packed:
    """Return a match of the log as it would be archived. Raises RecordDamaged if its record is not whole and sound."""
    event = tables.event.c
    query = select(*records.COLUMNS).where(event.match_id == match_id).order_by(event.revision)
    rows = [tuple(row) for row in connection.execute(query)]
    _check(match_id, [records.stored(seals, row) for row in rows])
    data = _pack(rows)
    if _unpack(match_id, data) != rows:  # nothing is deleted that could not be read again
        raise RecordDamaged(match_id, 1, "it can't be compressed")
    entry = _entry(seals, match_id, _runs([row[0] for row in rows]), now_ms)
    return Packed({**entry, "size": len(rows), "records": data}, sum(len(row[3]) + len(row[5] or b"") for row in rows))


def move(engine: Engine, matches: Sequence[Packed]) -> bool:
    """Move matches to the archive in one transaction; return False if somebody else has moved or changed one meanwhile.

    Then nothing is moved. Raises SQLAlchemyError.
    """
    rows = [match.row for match in matches]
    ids = [row["match_id"] for row in rows]
    try:
        with engine.begin() as connection:
            for statement in dialect_of(engine).begin:
                connection.exec_driver_sql(statement).close()
            connection.execute(tables.archived_match.insert(), rows)
            deleted = connection.execute(tables.event.delete().where(tables.event.c.match_id.in_(ids))).rowcount
            if deleted != sum(row["size"] for row in rows):
                raise _ChangedMeanwhileError
    except (IntegrityError, _ChangedMeanwhileError):
        return False
    return True


def read(connection: Connection, seals: Seals | None, match_id: str) -> list[StoredRecord]:
    """Return all records of an archived match, in order; none if it is not archived. Raises RecordDamaged."""
    row = connection.execute(_whole().where(_TABLE.match_id == match_id)).first()
    return _records(seals, row) if row is not None else []


def first_records(connection: Connection, seals: Seals | None, wanted: Select[Any]) -> Iterator[tuple[Any, bytes]]:
    """Yield the rows of a query for matches that are archived, each with the body of its first record.

    Raises RecordDamaged.
    """
    query = wanted.add_columns(_TABLE.records).join(tables.archived_match, _TABLE.match_id == tables.match.c.match_id)
    for row in connection.execute(query):
        yield row, records.stored(seals, _unpack(row.match_id, row.records, first=True)[0]).body


def between(connection: Connection, seals: Seals | None, after: int, last: int, most: int) -> list[StoredRecord]:
    """Return the archived records with numbers from after + 1 to `last`, `most` of them, in order.

    Raises RecordDamaged.
    """
    found: list[StoredRecord] = []
    for row in _overlapping(connection, _whole(), after, last):
        if len(found) >= most and found[most - 1].sequence < row.first_sequence:
            break
        found += (record for record in _records(seals, row) if after < record.sequence <= last)
        found.sort()
    return found[:most]


def places(connection: Connection, seals: Seals | None, after: int, last: int) -> Iterator[Run]:
    """Yield the runs of archived records that overlap the numbers from after + 1 to `last`.

    An entry that is damaged is left out: its records are then missing.
    """
    for row in _overlapping(connection, select(*_ROW), after, last):
        try:
            yield from _places(seals, row)
        except RecordDamaged:
            continue


def seal_again(engine: Engine, seals: Seals) -> int:
    """Seal all archived records and their entries as they stand, with other keys; return how many records.

    Raises RecordDamaged, SQLAlchemyError.
    """
    sealed, after = 0, ""
    change = tables.archived_match.update().where(_TABLE.match_id == bindparam("id"))
    query = _whole().where(_TABLE.match_id > bindparam("after")).order_by(_TABLE.match_id).limit(_AT_ONCE)
    while True:
        with engine.begin() as connection:
            for statement in dialect_of(engine).begin:
                connection.exec_driver_sql(statement).close()
            rows = connection.execute(query, {"after": after}).all()
            if not rows:
                return sealed
            for row in rows:
                whole = _records(None, row)
                seal = seals.sealer()
                packed = _pack([(*record[:4], record.subject.value, seal(*record)) for record in whole])
                fresh = _entry(seals, row.match_id, _places(None, row), decode(row.entry)["at"])
                connection.execute(change.values(seal=fresh["seal"], records=packed), {"id": row.match_id})
                sealed += len(whole)
        after = rows[-1].match_id


def _check(match_id: str, found: Sequence[StoredRecord]) -> None:
    """Raise RecordDamaged unless these are the records of a whole match that has ended."""
    try:
        match = replay(check_chain([record.body for record in found]), trust=True)
    except RecordError as error:
        raise RecordDamaged(match_id, "?", str(error)) from None
    if match.id != match_id or [record.revision for record in found] != list(range(1, len(found) + 1)):
        raise RecordDamaged(match_id, "?", "its records are not those of the match")
    if match.phase is not Phase.ENDED:
        raise RecordDamaged(match_id, match.revision + 1, "its end is missing")


def _entry(seals: Seals | None, match_id: str, runs: Sequence[Run], at: int) -> dict[str, Any]:
    first, last = runs[0][0], runs[-1][0] + runs[-1][1] - 1
    entry = encode({"at": at, "places": [list(run) for run in runs]})
    seal = seals.sealer()(first, match_id, _ENTRY_REVISION, entry, Subject.MATCH.value) if seals is not None else None
    return {"match_id": match_id, "first_sequence": first, "span": last - first, "entry": entry, "seal": seal}


def _places(seals: Seals | None, row: Any) -> list[Run]:
    """Return the sequence numbers that an entry names. Raises RecordDamaged if it is not what was written."""
    try:
        record = StoredRecord(row.first_sequence, row.match_id, _ENTRY_REVISION, bytes(row.entry), Subject.MATCH)
        fault = seals.fault(record, row.seal) if seals is not None else ""
        found = [(int(first), int(count)) for first, count in decode(record.body)["places"]]
    except (NotCanonicalError, LookupError, TypeError, ValueError) as error:
        fault, found = f"it can't be read: {error!r:.60}", []
    if fault or not found:
        raise RecordDamaged(row.match_id, 1, f"the entry of its archive: {fault or 'it is empty'}")
    return found


def _records(seals: Seals | None, row: Any) -> list[StoredRecord]:
    rows = _unpack(row.match_id, row.records)
    if _runs([found[0] for found in rows]) != _places(seals, row):
        raise RecordDamaged(row.match_id, 1, "its archive has other records than its entry says")
    return [records.stored(seals, found) for found in rows]


def _runs(sequences: Sequence[int]) -> list[Run]:
    runs: list[Run] = []
    for sequence in sequences:
        if runs and sum(runs[-1]) == sequence:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((sequence, 1))
    return runs


def _whole() -> Select[Any]:
    return select(*_ROW, _TABLE.records)


def _overlapping(connection: Connection, columns: Select[Any], after: int, last: int) -> Iterator[Any]:
    """Yield the rows with a record that may be in a range of numbers, in the order of their first ones.

    No match has a longer span than the longest, so that an index on the first number is enough.
    """
    longest = connection.execute(select(func.max(_TABLE.span))).scalar()
    low = after - int(longest or 0)
    query = (
        columns.where(
            _TABLE.first_sequence > bindparam("low"),
            _TABLE.first_sequence <= bindparam("last"),
            _TABLE.first_sequence + _TABLE.span > bindparam("after"),
        )
        .order_by(_TABLE.first_sequence)
        .limit(_AT_ONCE)
    )
    while rows := connection.execute(query, {"low": low, "last": last, "after": after}).all():
        yield from rows
        low = rows[-1].first_sequence


def _pack(rows: Sequence[Sequence[Any]]) -> bytes:
    parts: list[bytes] = []
    previous = FIRST_PREVIOUS
    for sequence, _, _, body, _, seal in rows:
        short = body.replace(_PREVIOUS % previous.encode(), _FOLLOWS, 1)
        parts += (_HEADER.pack(sequence, len(seal or b""), len(short)), seal or b"", short)
        previous = digest(body)
    return zlib.compress(b"".join(parts), _LEVEL)


def _unpack(match_id: str, packed: object, first: bool = False) -> list[tuple[Any, ...]]:
    """Return rows of `records.COLUMNS`, or (`first`) the first of them. Raises RecordDamaged."""
    rows: list[tuple[Any, ...]] = []
    try:
        data = memoryview(packed)  # type: ignore[arg-type]
        plain = zlib.decompressobj().decompress(data, _FIRST) if first else zlib.decompress(data)
        place, previous = 0, FIRST_PREVIOUS
        while place < len(plain) and not (first and rows):
            sequence, of_seal, of_body = _HEADER.unpack_from(plain, place)
            at_body = place + _HEADER.size + of_seal
            place = at_body + of_body
            if place > len(plain):
                raise ValueError("it is cut off")
            seal = plain[at_body - of_seal : at_body] or None
            body = plain[at_body:place].replace(_FOLLOWS, _PREVIOUS % previous.encode(), 1)
            previous = digest(body)
            rows.append((sequence, match_id, len(rows) + 1, body, Subject.MATCH.value, seal))
    except (zlib.error, struct.error, TypeError, ValueError) as error:
        if first:
            return _unpack(match_id, packed)  # a first record that is longer
        raise RecordDamaged(match_id, len(rows) + 1, f"its archive can't be read: {error}") from None
    if not rows:
        raise RecordDamaged(match_id, 1, "its archive is empty")
    return rows
