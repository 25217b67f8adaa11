"""The log of rulings on ratings in a relational database, and what they change in the lists and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from sqlalchemy import ColumnElement, Connection, func, insert, or_, select, text, true, update
from sqlalchemy.exc import IntegrityError

from arbiter.ratings.rulings import Selection
from arbiter.service.ports.journal import RULINGS, JournalConflict, Record, Seals, StoredRecord, Subject
from arbiter.store import records, tables
from arbiter.store.numbering import Seal, unsealed
from arbiter.store.reader import Reader
from arbiter.store.writer import Writer

ROWS: Final = text(
    f"SELECT number, '{RULINGS}', number, body, '{Subject.RATINGS.value}', seal FROM rating_ruling "
    "WHERE number > :after ORDER BY number"
)
_LAST: Final = select(func.max(tables.rating_ruling.c.number))
#: Moves a match that counts, or one that does not, to the other count.
_COUNT: Final = text(
    "INSERT INTO tally (label, game, rated, player_1, player_2, result, winner, cause, games, version_1, version_2) "
    "SELECT label, game, :rated, player_1, player_2, result, winner, cause, :games, version_1, version_2 "
    'FROM "match" WHERE match_id = :which '
    "ON CONFLICT (label, game, rated, player_1, player_2, result, winner, cause, version_1, version_2) "
    "DO UPDATE SET games = tally.games + excluded.games"
)


class SqlRulings:
    """What a journal does with rulings on ratings; see `arbiter.service.ports.Journal`."""

    def __init__(self, writer: Writer, reader: Reader, seals: Seals | None) -> None:
        self._writer = writer
        self._reader = reader
        self._seals = seals

    async def rule_on_ratings(self, ruling: Record, changes: Mapping[str, int]) -> None:
        """Store a ruling and what it changes. Raises JournalConflict, StoreFailed."""
        await self._writer.write(partial(_rule, self._sealer, ruling, dict(sorted(changes.items()))))

    async def rulings(self, after: int = 0) -> list[StoredRecord]:
        """Return the rulings after a number, in order."""
        return await self._reader.read(lambda connection: list(stored(connection, self._seals, after)))

    async def rated_matches(self, which: Selection, most: int) -> list[str]:
        """Return the ids of rated matches that have ended and are not void, in the order of their end."""
        match = tables.match.c
        query = select(match.match_id).where(*_wanted(which)).order_by(match.ended_sequence).limit(most)
        return await self._reader.read(lambda connection: [str(one) for one in connection.execute(query).scalars()])

    def _sealer(self) -> Seal:
        return self._seals.sealer() if self._seals is not None else unsealed


def stored(connection: Connection, seals: Seals | None, after: int = 0) -> Iterator[StoredRecord]:
    """Yield the rulings after a number, in order. Raises RecordDamaged."""
    for row in connection.execute(ROWS, {"after": after}):
        yield records.stored(seals, row)


def last(connection: Connection) -> int:
    """Return the number of the last ruling, 0 without one."""
    return connection.execute(_LAST).scalar() or 0


def rated_condition() -> list[ColumnElement[bool]]:
    """Return the SQL conditions for rated matches that have ended and are not void, with or without a ruling."""
    match = tables.match.c
    return [match.rated == true(), match.ended_sequence > 0, match.result != "void"]


def _wanted(which: Selection) -> list[ColumnElement[bool]]:
    match, wanted = tables.match.c, rated_condition()
    one, two = match.player_1.in_(which.players), match.player_2.in_(which.players)
    if which.players:
        wanted += [or_(one, two)] if len(which.players) == 1 else [one, two]
    if which.label:
        wanted.append(match.label == which.label)
    if which.game:
        wanted.append(match.game == which.game)
    if which.since:
        wanted.append(match.ended_ms >= which.since)
    if which.until:
        wanted.append(match.ended_ms < which.until)
    if which.matches:
        wanted.append(match.match_id.in_(which.matches))
    return wanted


def _rule(sealer: Callable[[], Seal], ruling: Record, changes: Mapping[str, int], connection: Connection) -> None:
    number, kind = ruling.revision, ruling.subject.value
    seal = sealer()(number, ruling.match_id, number, ruling.body, kind)
    try:
        connection.execute(insert(tables.rating_ruling), {"number": number, "body": ruling.body, "seal": seal})
    except IntegrityError as error:
        raise JournalConflict(str(error.orig)) from None
    match = tables.match.c
    for match_id, by in changes.items():
        mine = match.match_id == match_id
        before = connection.execute(select(match.ruling).where(mine)).scalar_one()
        connection.execute(update(tables.match).where(mine).values(ruling=by))
        if bool(before) != bool(by):
            for rated, games in ((True, -1 if by else 1), (False, 1 if by else -1)):
                connection.execute(_COUNT, {"which": match_id, "rated": rated, "games": games})
