"""The event log in a relational database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Row, Select, and_, func, or_, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from arbiter.service.ports import (
    Append,
    Filter,
    JournalConflict,
    MatchEnd,
    MatchRow,
    StoredRecord,
    StoreFailed,
)
from arbiter.store import tables
from arbiter.store.writer import Writer, reason

T = TypeVar("T")

_INSERT_EVENT = "INSERT INTO event (sequence, match_id, revision, body) VALUES (?, ?, ?, ?)"
_INSERT_NEXT = (
    "INSERT INTO event (sequence, match_id, revision, body) SELECT ?, ?, ?, ? "
    "WHERE EXISTS (SELECT 1 FROM event WHERE match_id = ? AND revision = ?)"
)


class Reader:
    """Reads in threads of their own, so that the event loop never waits for the disk."""

    def __init__(self, engine: Engine, threads: int = 2) -> None:
        self._engine = engine
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="store-reader")

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query and return what it returns. Raises StoreFailed."""

        def run() -> T:
            try:
                with self._engine.connect() as connection:
                    return query(connection)
            except SQLAlchemyError as error:
                raise StoreFailed(f"it gave no answer ({reason(error)})") from None

        return await asyncio.get_running_loop().run_in_executor(self._pool, run)

    def close(self) -> None:
        """Wait for the queries under way."""
        self._pool.shutdown()


class SqlJournal:
    """The journal on SQLite: one writer process, which numbers the records itself.

    The condition of an append is the unique key (match, revision), and that the revision before is there: so a
    match's record has neither a fork nor a gap, whoever writes, and whatever failed before.
    """

    def __init__(self, engine: Engine, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader
        with engine.connect() as connection:
            self._last = connection.execute(select(func.max(tables.event.c.sequence))).scalar() or 0

    def append(self, append: Append) -> asyncio.Future[int]:
        """Store records; see `arbiter.service.ports.Journal`."""
        return self._writer.write(lambda connection: self._append(connection, append))

    def _append(self, connection: Connection, append: Append) -> int:
        first = self._last + 1  # only the writer's thread comes here; a number that was rolled back is not used again
        rows = [(first + n, *record) for n, record in enumerate(append.records)]
        self._last = last = first + len(rows) - 1
        try:
            # Straight to the driver: this is the path of a move, and a compiled statement costs three times as much.
            _insert(connection, rows)
            if append.opened is not None:
                connection.execute(tables.match.insert(), _columns(append.opened, first))
        except IntegrityError as error:
            raise JournalConflict(str(error.orig)) from None
        if append.closed is not None:
            connection.execute(
                update(tables.match).where(tables.match.c.match_id == append.records[0].match_id),
                {**_end_columns(append.closed), "ended_sequence": last},
            )
        return last

    async def read(self, match_id: str, after: int = 0, most: int | None = None) -> list[StoredRecord]:
        """Return the records of a match after a revision, in order."""
        query = (
            select(tables.event)
            .where(tables.event.c.match_id == match_id, tables.event.c.revision > after)
            .order_by(tables.event.c.revision)
            .limit(most)
        )
        return await self._reader.read(lambda connection: [StoredRecord(*row) for row in connection.execute(query)])

    async def read_all(self, after: int, most: int) -> list[StoredRecord]:
        """Return records of all matches after a journal place, in order."""
        query = (
            select(tables.event).where(tables.event.c.sequence > after).order_by(tables.event.c.sequence).limit(most)
        )
        return await self._reader.read(lambda connection: [StoredRecord(*row) for row in connection.execute(query)])

    async def head(self) -> int:
        """Return the journal place of the last record, 0 if there is none."""
        query = select(func.max(tables.event.c.sequence))
        return await self._reader.read(lambda connection: connection.execute(query).scalar() or 0)

    async def unfinished(self) -> list[str]:
        """Return the ids of the matches that have not ended, oldest first."""
        query = (
            select(tables.match.c.match_id).where(tables.match.c.ended_sequence == 0).order_by(tables.match.c.sequence)
        )
        return await self._reader.read(lambda connection: list(connection.execute(query).scalars()))

    async def row(self, match_id: str) -> MatchRow | None:
        """Return what lists show of a match."""
        return await self._one(select(tables.match).where(tables.match.c.match_id == match_id))

    async def row_of_request(self, creator: str, request_id: str) -> MatchRow | None:
        """Return the match that a caller's request made."""
        return await self._one(
            select(tables.match).where(tables.match.c.creator == creator, tables.match.c.request_id == request_id)
        )

    async def rows(self, which: Filter, before: int, most: int) -> list[MatchRow]:
        """Return matches whose `sequence` is less than `before` (0: all), newest first."""
        match = tables.match.c
        wanted = [match.sequence < before] if before else []
        if which.player:
            wanted.append(or_(match.player_1 == which.player, match.player_2 == which.player))
        if which.game:
            wanted.append(match.game == which.game)
        if which.label:
            wanted.append(match.label == which.label)
        if which.ended is not None:
            wanted.append(match.ended_sequence > 0 if which.ended else match.ended_sequence == 0)
        return await self._many(select(tables.match).where(*wanted).order_by(match.sequence.desc()).limit(most))

    async def results(self, player: str, after: int, most: int) -> list[MatchRow]:
        """Return a player's ended matches whose `ended_sequence` is greater than `after`, in order."""
        match = tables.match.c
        mine = or_(match.player_1 == player, match.player_2 == player)
        wanted = and_(mine, match.ended_sequence > after)
        return await self._many(select(tables.match).where(wanted).order_by(match.ended_sequence).limit(most))

    async def _one(self, query: Select[Any]) -> MatchRow | None:
        return next(iter(await self._many(query)), None)

    async def _many(self, query: Select[Any]) -> list[MatchRow]:
        return await self._reader.read(lambda connection: [_row(row) for row in connection.execute(query)])


def _insert(connection: Connection, rows: list[tuple[int, str, int, bytes]]) -> None:
    _, match_id, revision, _ = rows[0]
    if revision > 1:
        inserted = connection.exec_driver_sql(_INSERT_NEXT, (*rows[0], match_id, revision - 1))
        if inserted.rowcount != 1:
            raise JournalConflict(f"revision {revision - 1} of match {match_id} is not there")
        rows = rows[1:]
    if rows:
        connection.exec_driver_sql(_INSERT_EVENT, rows)


def _columns(row: MatchRow, sequence: int) -> dict[str, Any]:
    return {
        "match_id": row.match_id,
        "game": row.game,
        "player_1": row.player_1,
        "player_2": row.player_2,
        "time_control": row.time_control,
        "rated": row.rated,
        "label": row.label,
        "creator": row.creator,
        "request_id": row.request_id,
        "created_ms": row.created_ms,
        "sequence": sequence,
    }


_END = ("result", "winner", "reason", "cause", "party", "seat", "note", "ended_ms", "position", "ply")


def _end_columns(end: MatchEnd) -> dict[str, Any]:
    return {name: getattr(end, name) for name in _END}


def _row(row: Row[Any]) -> MatchRow:
    fields = row._mapping
    end = MatchEnd(**{name: fields[name] for name in _END}) if fields["ended_sequence"] else None
    kept = {name: value for name, value in fields.items() if name not in _END}
    return MatchRow(**kept, end=end)
