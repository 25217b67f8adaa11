"""The journal in memory."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from arbiter.ratings.rulings import Selection
from arbiter.service.ports.journal import (
    RULINGS,
    Append,
    Filter,
    JournalConflict,
    MatchEnd,
    MatchSummary,
    OpenLimits,
    PlayerResult,
    RatedGames,
    Record,
    Stored,
    StoredRecord,
    Subject,
    Tally,
    TooManyOpen,
    TournamentFilter,
    TournamentSummary,
    UnfinishedMatch,
)
from arbiter.service.ports.snapshots import EVERY, Snapshot


class CallsBack(ABC):
    """The `append_then` of journals that implement only `append`."""

    @abstractmethod
    def append(self, append: Append) -> asyncio.Future[int]:
        """Store records; see the port."""

    def append_then(self, append: Append, then: Stored) -> None:
        def done(stored: asyncio.Future[int]) -> None:
            error = stored.exception()
            then(0 if error is not None else stored.result(), error)

        self.append(append).add_done_callback(done)


class MemoryJournal(CallsBack):
    """The journal (`arbiter.service.ports.Journal`) as a list. An append is durable one loop iteration later."""

    def __init__(self) -> None:
        self.records: list[StoredRecord] = []
        self._of_match: dict[str, list[StoredRecord]] = {}
        self._rows: dict[str, MatchSummary] = {}
        self._made: dict[tuple[str, str], str] = {}  # matches, by creator and request
        self._tournaments: dict[str, TournamentSummary] = {}
        self._rulings: list[StoredRecord] = []

    def append(self, append: Append) -> asyncio.Future[int]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[int] = loop.create_future()
        try:
            sequence = self.store(append)
        except (JournalConflict, TooManyOpen) as refused:
            loop.call_soon(_unless_done, done, done.set_exception, refused)
        else:
            loop.call_soon(_unless_done, done, done.set_result, sequence)
        return done

    def know(self, place: int) -> None:
        """Do nothing: appends bring no records."""

    def brought(self) -> list[StoredRecord]:
        """Return no records."""
        return []

    def store(self, append: Append) -> int:
        """Store records now; return the journal position of the last one. Raises JournalConflict, TooManyOpen."""
        try:
            return self._store(append)
        except (JournalConflict, TooManyOpen):
            lose_basis(append)
            raise

    def _store(self, append: Append) -> int:
        if append.basis is not None and append.basis.lost:
            raise JournalConflict("an append on which it builds was not stored")
        match_id = append.records[0].match_id
        there = self._of_match.get(match_id, [])
        if append.records[0].revision != len(there) + 1:
            raise JournalConflict(f"match {match_id} stands at revision {len(there)}")
        opened = append.opened
        if opened is not None and self._made_by(opened.creator, opened.request_id) is not None:
            raise JournalConflict("the request has made a match before")
        tournament = append.tournament
        if tournament is not None and self._created_by_another_request(tournament):
            raise JournalConflict("the request has made a tournament before")
        if append.open_limits is not None:
            self._check_open(append.open_limits)
        first = len(self.records) + 1
        stored = [StoredRecord(first + n, *record) for n, record in enumerate(append.records)]
        self.records += stored
        self._of_match.setdefault(match_id, []).extend(stored)
        if opened is not None:
            self._rows[match_id] = replace(opened, sequence=first)
            self._made[opened.creator, opened.request_id] = match_id
        if append.closed is not None:
            ended = stored[-1].sequence
            self._rows[match_id] = replace(self._rows[match_id], end=append.closed, ended_sequence=ended)
        if tournament is not None:
            there_already = self._tournaments.get(match_id)
            self._tournaments[match_id] = replace(
                tournament,
                sequence=there_already.sequence if there_already else first,
                ended_sequence=stored[-1].sequence if tournament.ended_ms else 0,
            )
        return stored[-1].sequence

    def _check_open(self, open_limits: OpenLimits) -> None:
        """Raise TooManyOpen if one more would be too many."""
        for player, most in open_limits.players:
            if sum(row.end is None and player in (row.player_1, row.player_2) for row in self._rows.values()) >= most:
                raise TooManyOpen(player, most)
        open_tournaments = sum(not row.ended_sequence for row in self._tournaments.values())
        if open_limits.tournaments and open_tournaments >= open_limits.tournaments:
            raise TooManyOpen("", open_limits.tournaments)

    def of_match(self, match_id: str) -> list[StoredRecord]:
        """Return the records of a match or tournament, without awaiting."""
        return self._of_match.get(match_id, [])

    async def read(
        self, match_id: str, after: int = 0, most: int | None = None, subject: Subject = Subject.MATCH
    ) -> list[StoredRecord]:
        await asyncio.sleep(0)
        return [record for record in self._of_match.get(match_id, [])[after:][:most] if record.subject is subject]

    async def read_many(self, match_ids: Sequence[str]) -> list[StoredRecord]:
        await asyncio.sleep(0)
        return [record for match_id in sorted(match_ids) for record in self._of_match.get(match_id, [])]

    async def read_all(self, after: int, most: int) -> list[StoredRecord]:
        await asyncio.sleep(0)
        return self.records[after : after + most]

    async def head(self) -> int:
        await asyncio.sleep(0)
        return len(self.records)

    async def last_gap(self, after: int) -> int:
        """Return 0: nothing can be removed from this journal."""
        await asyncio.sleep(0)
        return 0

    async def unfinished(self) -> list[str]:
        await asyncio.sleep(0)
        return [row.match_id for row in self._rows.values() if row.end is None]

    async def unfinished_matches(self) -> list[UnfinishedMatch]:
        """Return the unfinished matches, oldest first."""
        await asyncio.sleep(0)
        return [
            UnfinishedMatch(
                row.match_id, row.game, (row.player_1, row.player_2), self._of_match[row.match_id][-1].sequence
            )
            for row in self._rows.values()
            if row.end is None
        ]

    async def summary(self, match_id: str) -> MatchSummary | None:
        """Return the summary of a match that lists show."""
        await asyncio.sleep(0)
        return self.summary_now(match_id)

    def summary_now(self, match_id: str) -> MatchSummary | None:
        """Return the summary of a match that lists show, without awaiting."""
        return self._rows.get(match_id)

    async def summary_of_request(self, creator: str, request_id: str) -> MatchSummary | None:
        await asyncio.sleep(0)
        return self._made_by(creator, request_id)

    async def summaries(self, which: Filter, before: int, most: int) -> list[MatchSummary]:
        await asyncio.sleep(0)
        wanted = [
            row
            for row in self._rows.values()
            if (not before or row.sequence < before)
            and which.player in ("", row.player_1, row.player_2)
            and which.game in ("", row.game)
            and (which.variants_of in ("", row.game) or row.game.startswith(f"{which.variants_of}("))
            and which.label in ("", row.label)
            and which.ended in (None, row.end is not None)
        ]
        return sorted(wanted, key=lambda row: -row.sequence)[:most]

    async def results(self, player: str, after: int, most: int) -> list[MatchSummary]:
        await asyncio.sleep(0)
        mine = [row for row in self._rows.values() if player in (row.player_1, row.player_2)]
        return sorted(
            (row for row in mine if row.ended_sequence > after and row.end), key=lambda row: row.ended_sequence
        )[:most]

    async def result_before_last(self, player: str, last: int) -> int:
        found = await self.results(player, 0, len(self._rows))
        return found[-last - 1].ended_sequence if len(found) > last else 0

    async def tallies(self, label: str = "", game: str = "", rated: bool | None = None) -> list[Tally]:
        await asyncio.sleep(0)
        ways = Counter(
            (_tally_key(row, row.end), (row.end.version_1, row.end.version_2))
            for row in self._rows.values()
            if row.end is not None
            and label in ("", row.label)
            and game in ("", row.game)
            and rated in (None, row.rated and not row.ruling)
        )
        return [Tally(*way, games, *versions) for (way, versions), games in sorted(ways.items())]

    async def results_by_kind(self, player: str) -> list[PlayerResult]:
        await asyncio.sleep(0)
        ways = Counter(
            (
                row.game,
                other,
                seat,
                version,
                row.end.result,
                row.end.winner == seat if row.end.winner else None,
                row.end.reason,
            )
            for row in self._rows.values()
            if row.end is not None
            for seat, own, other, version in (
                (1, row.player_1, row.player_2, row.end.version_1),
                (2, row.player_2, row.player_1, row.end.version_2),
            )
            if own == player
        )
        return sorted((PlayerResult(*way, games) for way, games in ways.items()), key=repr)

    async def rated_games(self, games: Sequence[str]) -> RatedGames:
        """Return the number of matches that count for ratings, at some variants or (none given) at all."""
        await asyncio.sleep(0)
        counted = sum(not games or row.game in games for row, _ in self._rated(""))
        return RatedGames(counted, len(self._rulings))

    async def dated_tallies(self, game: str, period_ms: int, since: int = 0) -> list[tuple[int, Tally]]:
        await asyncio.sleep(0)
        ways = Counter(
            (
                max(since - 1, end.ended_ms // period_ms),
                _tally_key(replace(row, label=""), end),
                (end.version_1, end.version_2),
            )
            for row, end in self._rated(game)
        )
        return [(period, Tally(*way, games, *versions)) for (period, way, versions), games in sorted(ways.items())]

    async def first_rated(self, player: str, game: str) -> int:
        """Return when a player's first rated match that is not void ended, 0 if there is none."""
        await asyncio.sleep(0)
        mine = (end.ended_ms for row, end in self._rated(game) if player in (row.player_1, row.player_2))
        return min(mine, default=0)

    async def encounters(self, player: str, other: str, game: str) -> list[tuple[MatchSummary, bytes]]:
        await asyncio.sleep(0)
        pair = {player, other}
        found = [row for row, _ in self._rated(game) if {row.player_1, row.player_2} == pair]
        found.sort(key=lambda row: row.sequence)
        return [(row, self._of_match[row.match_id][0].body) for row in found]

    def _rated(self, game: str) -> list[tuple[MatchSummary, MatchEnd]]:
        return [
            (row, row.end)
            for row in self._rows.values()
            if row.end is not None and row.rated and not row.ruling and _is_counted(row, row.end, game)
        ]

    async def rule_on_ratings(self, ruling: Record, changes: Mapping[str, int]) -> None:
        await asyncio.sleep(0)
        self.rule_now(ruling, changes)

    def rule_now(self, ruling: Record, changes: Mapping[str, int]) -> None:
        """Store a ruling on ratings, without awaiting. Raises JournalConflict."""
        if ruling.revision != len(self._rulings) + 1:
            raise JournalConflict(f"there are {len(self._rulings)} rulings")
        self._rulings.append(StoredRecord(ruling.revision, RULINGS, ruling.revision, ruling.body, ruling.subject))
        for match_id, by in changes.items():
            self._rows[match_id] = replace(self._rows[match_id], ruling=by)

    async def rulings(self, after: int = 0) -> list[StoredRecord]:
        await asyncio.sleep(0)
        return self._rulings[after:]

    async def rated_matches(self, which: Selection, most: int) -> list[str]:
        await asyncio.sleep(0)
        found = [
            row for row in self._rows.values() if row.rated and row.end is not None and _meets(row, row.end, which)
        ]
        return [row.match_id for row in sorted(found, key=lambda row: row.ended_sequence)][:most]

    def _made_by(self, creator: str, request_id: str) -> MatchSummary | None:
        return self._rows.get(self._made.get((creator, request_id), ""))

    async def unfinished_tournaments(self) -> list[str]:
        await asyncio.sleep(0)
        return [row.tournament_id for row in self._tournaments.values() if not row.ended_ms]

    async def tournament_summary(self, tournament_id: str) -> TournamentSummary | None:
        await asyncio.sleep(0)
        return self._tournaments.get(tournament_id)

    async def tournament_of_request(self, creator: str, request_id: str) -> TournamentSummary | None:
        await asyncio.sleep(0)
        rows = self._tournaments.values()
        return next((row for row in rows if (row.creator, row.request_id) == (creator, request_id)), None)

    async def tournaments(self, which: TournamentFilter, before: int, most: int) -> list[TournamentSummary]:
        await asyncio.sleep(0)
        wanted = [
            row
            for row in self._tournaments.values()
            if (not before or row.sequence < before)
            and which.format in ("", row.format)
            and which.creator in ("", row.creator)
            and which.ended in (None, bool(row.ended_ms))
        ]
        return sorted(wanted, key=lambda row: -row.sequence)[:most]

    def _created_by_another_request(self, row: TournamentSummary) -> bool:
        made = (row.creator, row.request_id)
        return any(
            (there.creator, there.request_id) == made and there.tournament_id != row.tournament_id
            for there in self._tournaments.values()
        )


def _tally_key(row: MatchSummary, end: MatchEnd) -> tuple[str, str, bool, str, str, str, int, str]:
    """Return the key by which ends of matches are counted, without the versions."""
    counts = row.rated and not row.ruling
    return row.label, row.game, counts, row.player_1, row.player_2, end.result, end.winner, end.cause


def _is_counted(row: MatchSummary, end: MatchEnd, game: str) -> bool:
    return end.result != "void" and game in ("", row.game)


def _meets(row: MatchSummary, end: MatchEnd, which: Selection) -> bool:
    """Return whether a rated match that has ended is one of a selection."""
    named = sum(player in which.players for player in (row.player_1, row.player_2))
    return (
        _is_counted(row, end, which.game)
        and (not which.players or named >= min(2, len(which.players)))
        and which.label in ("", row.label)
        and end.ended_ms >= which.since
        and (not which.until or end.ended_ms < which.until)
        and (not which.matches or row.match_id in which.matches)
    )


def lose_basis(append: Append) -> None:
    """Have nothing stored that builds on an append that failed."""
    if append.basis is not None:
        append.basis.lost = True


def _unless_done(future: asyncio.Future[Any], settle: Callable[[Any], None], value: Any) -> None:
    if not future.done():
        settle(value)


class MemorySnapshots:
    """Snapshots (`arbiter.service.ports.snapshots.Snapshots`) as a dictionary. taken: how many were kept."""

    def __init__(self, every: int = EVERY) -> None:
        self.every = every
        self.taken = 0
        self._kept: dict[str, Snapshot] = {}

    async def newest(self, tournament: str) -> Snapshot | None:
        """Return the snapshot of a tournament."""
        return self._kept.get(tournament)

    async def keep(self, snapshot: Snapshot) -> None:
        self._kept[snapshot.tournament] = snapshot
        self.taken += 1
