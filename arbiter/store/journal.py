"""The event log in a relational database."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Select,
    and_,
    bindparam,
    func,
    or_,
    select,
    true,
    type_coerce,
    union,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.types import NullType

from arbiter.service.ports.journal import (
    Append,
    Filter,
    JournalConflict,
    MatchSummary,
    OpenLimits,
    PlayerResult,
    RatedGames,
    Seals,
    Stored,
    StoreDamaged,
    StoredRecord,
    Subject,
    Tally,
    TooManyOpen,
    TournamentFilter,
    TournamentSummary,
    UnfinishedMatch,
)
from arbiter.store import archive, dated_tallies, records, ruling_table, tables
from arbiter.store.appending import LoneLog, SharedLog
from arbiter.store.changes import changes_of
from arbiter.store.dialects import Sqlite, dialect_of
from arbiter.store.gaps import last_gap
from arbiter.store.jobs import Refused, Transaction
from arbiter.store.reader import Reader
from arbiter.store.summaries import read_row
from arbiter.store.writer import Writer, settle

_OF_REQUEST: Final = select(tables.match).where(
    tables.match.c.creator == bindparam("creator"), tables.match.c.request_id == bindparam("request")
)


class SqlJournal(ruling_table.SqlRulings):
    """The journal in a database.

    An append succeeds only if its revision does not exist yet (the unique key of match and revision), the revision
    before it exists, and no append on which it builds has failed (`AppendBase`): otherwise another writer's record
    could be in the place of that one. So a match's record has no fork and no gap, even with several writers and after
    failures. Records get their sequence numbers in the transaction that stores them, so they become visible in the
    order of these numbers. With several writers this needs a lock; see `arbiter.store.dialects.postgres`.
    """

    def __init__(self, engine: Engine, writer: Writer, reader: Reader, seals: Seals | None = None) -> None:
        """Without `seals`, records get no seal, and seals are not checked: for tools and tests without keys."""
        super().__init__(writer, reader, seals)
        self._stored = partial(records.stored, seals)
        dialect = dialect_of(engine)
        self._snapshot = dialect.snapshot
        self._log: LoneLog | SharedLog
        if isinstance(dialect, Sqlite):
            self._log = LoneLog(dialect, self._sealer)
        else:
            self._log = SharedLog(dialect, self._sealer, self._stored)
        # Only the writer's thread uses it, except that these are called in the event loop, the last one only while the
        # writer's thread has no transaction.
        self.know, self.brought, self._rows_of = self._log.know, self._log.brought, self._log.rows_of
        writer.when_failed.append(self._log.forget)
        self._log_after = dialect.log_after

    def append(self, append: Append) -> asyncio.Future[int]:
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.append_then(append, partial(settle, future))
        return future

    def append_then(self, append: Append, then: Stored) -> None:
        self._writer.write_among(self._append_all, append, then, _lose_basis, self._log.claim, self._rows_of)

    def _append_all(self, transaction: Transaction, appends: list[Append]) -> Sequence[int | Refused]:
        """Store the records of several appends, in order, and update the list tables.

        Return the last number of each append. Raises JournalConflict.
        """
        try:
            if transaction.careful:
                return self._append_fitting(transaction, appends)
            return self._store(transaction, appends)
        except IntegrityError as error:
            raise JournalConflict(str(error.orig)) from None

    def _store(self, transaction: Transaction, appends: Sequence[Append]) -> list[int]:
        places, listed = self._log.append(transaction, appends)
        for append, last in listed:
            self._derive(transaction.connection, append, last)
        return places

    def _append_fitting(self, transaction: Transaction, appends: Sequence[Append]) -> list[int | Refused]:
        """Store the appends that go on where their record ends, and refuse the others, in one transaction.

        Several servers often append to the same match at once, as at its start. An append that loses this race must not
        make each append beside it need a transaction of its own.
        """
        if self._log.claim is not None:
            self._log.claim(transaction)  # from here on, no other server appends
        transaction.alone = False
        heads = self._heads(transaction.begun(), {append.records[0].match_id for append in appends})
        refused: dict[int, Refused] = {}
        for number, append in enumerate(appends):
            first, last = append.records[0], append.records[-1]
            stands = heads.get(first.match_id, 0)
            if first.revision == stands + 1 and (append.basis is None or not append.basis.lost):
                heads[first.match_id] = last.revision
            else:
                why = f"an append to {first.match_id} at revision {first.revision} does not follow revision {stands}"
                refused[number] = Refused(JournalConflict(why))
                _lose_basis(append)
        fitting = [append for number, append in enumerate(appends) if number not in refused]
        places = iter(self._store(transaction, fitting) if fitting else ())
        return [refused[number] if number in refused else next(places) for number in range(len(appends))]

    @staticmethod
    def _heads(connection: Connection, subjects: Collection[str]) -> dict[str, int]:
        """Return the last revision of each match or tournament that has one in the log."""
        event = tables.event.c
        query = select(event.match_id, func.max(event.revision)).where(event.match_id.in_(subjects))
        return {row.match_id: row[1] for row in connection.execute(query.group_by(event.match_id))}

    def _derive(self, connection: Connection, append: Append, last: int) -> None:
        for statement, values in changes_of(append, last):
            connection.execute(statement, values)
        if append.open_limits is not None:
            _check_open(connection, append.open_limits)

    async def read(
        self, match_id: str, after: int = 0, most: int | None = None, subject: Subject = Subject.MATCH
    ) -> list[StoredRecord]:
        event = tables.event.c
        query = (
            select(*records.COLUMNS)
            .where(event.match_id == match_id, event.revision > after, event.subject == subject)
            .order_by(event.revision)
            .limit(most)
        )

        def run(connection: Connection) -> list[StoredRecord]:
            found = [self._stored(row) for row in connection.execute(query)]
            if found or subject is not Subject.MATCH:
                return found
            return archive.read(connection, self._seals, match_id)[after:][:most]

        return await self._reader.read(run)

    async def read_many(self, match_ids: Sequence[str]) -> list[StoredRecord]:
        event = tables.event.c
        query = select(*records.COLUMNS).where(event.match_id.in_(match_ids)).order_by(event.match_id, event.revision)

        def run(connection: Connection) -> list[StoredRecord]:
            found = [self._stored(row) for row in connection.execute(query)]
            missing = set(match_ids) - {record.match_id for record in found}
            archived = [one for id_ in missing for one in archive.read(connection, self._seals, id_)]
            return sorted(found + archived, key=lambda one: (one.match_id, one.revision)) if archived else found

        return await self._reader.read(run)

    async def read_all(self, after: int, most: int) -> list[StoredRecord]:
        def run(connection: Connection) -> list[StoredRecord]:
            found = [self._stored(row) for row in self._log_after(connection, after, most)]
            if not found or found[-1].sequence - after == len(found):
                return found  # no number is missing; the last record of all is never archived
            archived = archive.between(connection, self._seals, after, found[-1].sequence, most)
            return sorted({record.sequence: record for record in (*archived, *found)}.values())[:most]

        return await self._reader.read(run)

    async def head(self) -> int:
        query = select(func.max(tables.event.c.sequence))
        return await self._reader.read(lambda connection: connection.execute(query).scalar() or 0)

    async def last_gap(self, after: int) -> int:
        def run(connection: Connection) -> int:
            for statement in self._snapshot:
                connection.exec_driver_sql(statement).close()
            try:
                return last_gap(connection, self._seals, after)
            finally:
                connection.rollback()

        return await self._reader.read(run, snapshot=True)

    async def unfinished(self) -> list[str]:
        query = select(tables.match.c.match_id).where(tables.UNDER_WAY).order_by(tables.match.c.sequence)
        return await self._reader.read(lambda connection: _ids(connection.execute(query).scalars()))

    async def unfinished_matches(self) -> list[UnfinishedMatch]:
        match, event = tables.match.c, tables.event.c
        last = select(event.sequence).where(event.match_id == match.match_id).order_by(event.revision.desc()).limit(1)
        try:
            return await self._unfinished(last.scalar_subquery())
        except StoreDamaged:  # what is damaged is named when it is read, and the other matches go on
            return await self._unfinished(match.sequence)

    async def _unfinished(self, reached: ColumnElement[int]) -> list[UnfinishedMatch]:
        match = tables.match.c
        columns = (match.match_id, match.game, match.player_1, match.player_2, reached)
        entry = [type_coerce(column, NullType()) for column in columns]
        query = select(*entry).where(tables.UNDER_WAY).order_by(match.sequence)
        return await self._reader.read(lambda connection: [_unfinished(row) for row in connection.execute(query)])

    async def summary(self, match_id: str) -> MatchSummary | None:
        return await self._one(select(tables.match).where(tables.match.c.match_id == match_id))

    async def summary_of_request(self, creator: str, request_id: str) -> MatchSummary | None:
        return await self._one(_OF_REQUEST, creator=creator, request=request_id)

    async def summaries(self, which: Filter, before: int, most: int) -> list[MatchSummary]:
        match = tables.match.c
        wanted = [match.sequence < before] if before else []
        if which.player:
            wanted.append(or_(match.player_1 == which.player, match.player_2 == which.player))
        if which.game:
            wanted.append(match.game == which.game)
        if name := which.variants_of:
            wanted.append(or_(match.game == name, match.game.startswith(f"{name}(", autoescape=True)))
        if (
            which.label
        ):  # few matches are under way: SQLite would begin with the index of labels, unless that is no column
            label = match.label if which.ended is not False else match.label.concat("")
            wanted.append(label == which.label)
        if which.ended is not None:
            wanted.append(match.ended_sequence > 0 if which.ended else tables.UNDER_WAY)
        return await self._many(select(tables.match).where(*wanted).order_by(match.sequence.desc()).limit(most))

    async def results(self, player: str, after: int, most: int) -> list[MatchSummary]:
        match = tables.match.c
        mine = or_(match.player_1 == player, match.player_2 == player)
        wanted = and_(mine, match.ended_sequence > after)
        return await self._many(select(tables.match).where(wanted).order_by(match.ended_sequence).limit(most))

    async def result_before_last(self, player: str, last: int) -> int:
        match = tables.match.c
        ends = [  # of each seat from an index alone
            select(match.ended_sequence)
            .where(seat == player, match.ended_sequence > 0)
            .order_by(match.ended_sequence.desc())
            .limit(last + 1)
            .subquery()
            for seat in (match.player_1, match.player_2)
        ]
        both = union(*(select(each.c.ended_sequence) for each in ends)).subquery()
        query = select(both.c.ended_sequence).order_by(both.c.ended_sequence.desc()).offset(last).limit(1)
        return await self._reader.read(lambda connection: connection.execute(query).scalar() or 0)

    async def tallies(self, label: str = "", game: str = "", rated: bool | None = None) -> list[Tally]:
        """Return the counts of results by pairing and kind of end, sorted by these fields."""
        tally = tables.tally.c
        wanted = [column == value for column, value in ((tally.label, label), (tally.game, game)) if value]
        if rated is not None:
            wanted.append(tally.rated == rated)
        query = select(tables.tally).where(*wanted).order_by(*tables.tally.primary_key)
        return await self._reader.read(lambda connection: [Tally(*row) for row in connection.execute(query)])

    async def results_by_kind(self, player: str) -> list[PlayerResult]:
        """Return the counts of a player's finished matches by how they ended, sorted by the fields."""
        match = tables.match.c
        seats = (
            (1, match.player_1, match.player_2, match.version_1),
            (2, match.player_2, match.player_1, match.version_2),
        )

        def read(connection: Connection) -> list[PlayerResult]:
            found = []
            for seat, own, opponent, version in seats:
                ways = (match.game, opponent, version, match.result, match.winner, match.reason)
                query = select(*ways, func.count()).where(own == player, match.ended_sequence > 0).group_by(*ways)
                for game, other, own_version, result, winner, reason, games in connection.execute(query):
                    won = winner == seat if winner else None
                    found.append(PlayerResult(game, other, seat, own_version, result, won, reason, games))
            return sorted(found, key=repr)

        return await self._reader.read(read)

    async def rated_games(self, games: Sequence[str]) -> RatedGames:
        tally = tables.tally.c
        wanted = [tally.rated == true(), tally.result != "void"]
        if games:
            wanted.append(tally.game.in_(games))
        query = select(func.sum(tally.games)).where(*wanted)

        def run(connection: Connection) -> RatedGames:
            last = ruling_table.last(connection)
            return RatedGames(int(connection.execute(query).scalar() or 0), last)

        return await self._reader.read(run)

    async def dated_tallies(self, game: str, period_ms: int, since: int = 0) -> list[tuple[int, Tally]]:
        query = dated_tallies.query(_rated(game), game, period_ms, since)
        return await self._reader.read(lambda connection: dated_tallies.tallies(connection.execute(query), since))

    async def first_rated(self, player: str, game: str) -> int:
        """Return the end of a player's first match that counts for ratings; 0 if there is none."""
        match = tables.match.c
        queries = [
            select(match.ended_ms).where(own == player, *_rated(game)).order_by(match.ended_sequence).limit(1)
            for own in (match.player_1, match.player_2)
        ]

        def run(connection: Connection) -> int:
            found = [connection.execute(query).scalar() for query in queries]
            return min((each for each in found if each is not None), default=0)

        return await self._reader.read(run)

    async def encounters(self, player: str, other: str, game: str) -> list[tuple[MatchSummary, bytes]]:
        match, event = tables.match.c, tables.event.c
        seatings = ((player, other), (other, player))
        pair = or_(*(and_(match.player_1 == first, match.player_2 == second) for first, second in seatings))
        wanted = select(tables.match).where(pair, *_rated(game)).order_by(match.sequence)
        query = wanted.add_columns(*(column.label(f"event_{column.name}") for column in records.COLUMNS)).join(
            tables.event, and_(event.match_id == match.match_id, event.revision == 1)
        )

        def run(connection: Connection) -> list[tuple[MatchSummary, bytes]]:
            found = {
                row.sequence: (read_row(row), self._stored(row[-len(records.COLUMNS) :]).body)
                for row in connection.execute(query)
            }
            for row, body in archive.first_records(connection, self._seals, wanted):
                found[row.sequence] = (read_row(row), body)
            return [found[sequence] for sequence in sorted(found)]

        return await self._reader.read(run)

    async def unfinished_tournaments(self) -> list[str]:
        row = tables.tournament.c
        query = select(row.tournament_id).where(row.ended_sequence == 0).order_by(row.sequence)
        return await self._reader.read(lambda connection: _ids(connection.execute(query).scalars()))

    async def tournament_summary(self, tournament_id: str) -> TournamentSummary | None:
        found = await self._tournaments(
            select(tables.tournament).where(tables.tournament.c.tournament_id == tournament_id)
        )
        return next(iter(found), None)

    async def tournament_of_request(self, creator: str, request_id: str) -> TournamentSummary | None:
        row = tables.tournament.c
        found = await self._tournaments(
            select(tables.tournament).where(row.creator == creator, row.request_id == request_id)
        )
        return next(iter(found), None)

    async def tournaments(self, which: TournamentFilter, before: int, most: int) -> list[TournamentSummary]:
        row = tables.tournament.c
        wanted = [
            column == value for column, value in ((row.format, which.format), (row.creator, which.creator)) if value
        ]
        if before:
            wanted.append(row.sequence < before)
        if which.ended is not None:
            wanted.append(row.ended_sequence > 0 if which.ended else row.ended_sequence == 0)
        return await self._tournaments(
            select(tables.tournament).where(*wanted).order_by(row.sequence.desc()).limit(most)
        )

    async def _tournaments(self, query: Select[Any]) -> list[TournamentSummary]:
        return await self._reader.read(
            lambda connection: [TournamentSummary(**row._mapping) for row in connection.execute(query)]
        )

    async def _one(self, query: Select[Any], **values: str) -> MatchSummary | None:
        return next(iter(await self._many(query, **values)), None)

    async def _many(self, query: Select[Any], **values: str) -> list[MatchSummary]:
        return await self._reader.read(lambda connection: [read_row(row) for row in connection.execute(query, values)])


def _ids(values: Iterable[object]) -> list[str]:
    """Return ids as text, even if what was stored is none: the id of no record, by which the damage can be named."""
    return [str(value) for value in values]


def _unfinished(row: Sequence[Any]) -> UnfinishedMatch:
    """Return an entry whatever was stored in it: its match is named when its record is looked for."""
    *texts, reached = row
    match_id, game, first, second = map(str, texts)
    return UnfinishedMatch(match_id, game, (first, second), max(0, reached) if isinstance(reached, int) else 0)


def _lose_basis(append: Append) -> None:
    """Have nothing stored that builds on an append that failed."""
    if append.basis is not None:
        append.basis.lost = True


def _check_open(connection: Connection, open_limits: OpenLimits) -> None:
    """Count what is open, including what this transaction stores. Raises TooManyOpen."""
    match, tournament = tables.match.c, tables.tournament.c
    for player, most in open_limits.players:
        mine = or_(match.player_1 == player, match.player_2 == player)
        count = select(func.count()).select_from(tables.match).where(mine, match.ended_sequence == 0)
        if connection.execute(count).scalar_one() > most:
            raise TooManyOpen(player, most)
    if open_limits.tournaments:
        count = select(func.count()).select_from(tables.tournament).where(tournament.ended_sequence == 0)
        if connection.execute(count).scalar_one() > open_limits.tournaments:
            raise TooManyOpen("", open_limits.tournaments)


def _rated(game: str) -> list[ColumnElement[bool]]:
    """Return the SQL conditions for matches that count for ratings, of one variant ('': of all)."""
    match = tables.match.c
    wanted = [*ruling_table.rated_condition(), match.ruling == 0]
    return [*wanted, match.game == game] if game else wanted
