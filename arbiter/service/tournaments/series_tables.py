"""The tables over series: finds the tournaments of a series by their request ids, and adds up their results."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from arbiter.service.ports.journal import Journal, StoredRecord, Subject, TournamentSummary
from arbiter.service.tournaments.request_ids import NEXT, before, lower_divisions
from arbiter.service.tournaments.standings_cache import StandingsCache
from arbiter.service.tournaments.tournament_registry import TournamentRegistry
from arbiter.tournaments.events import End, Event
from arbiter.tournaments.groups import Named
from arbiter.tournaments.schedule import SeriesRules
from arbiter.tournaments.series_table import Results, SeriesRow, results_of, series_table
from arbiter.tournaments.tournament import Tournament

EMPTY: Final[Named] = MappingProxyType({})
KEPT: Final = 1_000  #: ended tournaments whose results are kept in memory, the last used ones


class LeagueDivision(NamedTuple):
    """A division in a season of a league. players: the best ones of the season before first, newcomers last."""

    name: str
    tournament_id: str
    players: Sequence[str]


class Series(NamedTuple):
    """The table over a series after one of its tournaments.

    tournaments: those that count, oldest first. next: the id of the tournament after that one, '' if there is none yet.
    divisions: those of its season in a league, the highest one first. moves: the players by what has brought them
    there.
    """

    tournament: Tournament
    tournaments: Sequence[TournamentSummary]
    next: str
    rows: Sequence[SeriesRow]
    divisions: Sequence[LeagueDivision] = ()
    moves: Named = EMPTY

    @property
    def rules(self) -> SeriesRules:
        """The rules of the table."""
        return self.tournament.spec.series


class SeriesTables:
    """Makes the tables over series. most: how many tournaments of a series it looks at.

    The results of a tournament that has ended are kept until its log grows, such as by a ruling.
    """

    def __init__(self, journal: Journal, tournaments: TournamentRegistry, tables: StandingsCache, most: int) -> None:
        self._journal = journal
        self._tournaments = tournaments
        self._tables = tables
        self._most = most
        self._kept: OrderedDict[str, Results | None] = OrderedDict()
        self._reading: dict[
            str, object
        ] = {}  # tournaments whose results are being read, unless they have changed since

    async def of(self, tournament_id: str) -> Series:
        """Return the table over a series after one of its tournaments.

        Raises Refusal TOURNAMENT_NOT_FOUND, STORE_UNAVAILABLE, RECORD_DAMAGED.
        """
        tournament = await self._tournaments.get(tournament_id)
        counted: list[tuple[TournamentSummary, Results]] = []
        row = await self._journal.tournament_summary(tournament.id)
        for _ in range(self._most):
            if row is None or len(counted) == tournament.spec.series.last:
                break
            results = await self._results(row)
            if results is not None:
                counted.append((row, results))
            row = await before(self._journal, row)
        counted.reverse()
        rows = series_table([results for _, results in counted], tournament.spec.series)
        after = await self.after(tournament)
        return Series(tournament, [each for each, _ in counted], after, rows, *await self._season(tournament))

    async def _season(self, tournament: Tournament) -> tuple[Sequence[LeagueDivision], Named]:
        """Return the divisions of the season of which a tournament is a part, and who has moved before it."""
        names = tournament.spec.league.divisions
        if not names:
            return (), {}
        highest = tournament.spec.season.first
        first = await self._tournaments.get(highest) if highest else tournament
        found = [LeagueDivision(names[0], first.id, first.seeds or first.players)]
        moves: Named = {}
        for row in await lower_divisions(self._journal, first):
            season = (await self._tournaments.get(row.tournament_id)).spec.season
            name = names[season.division]
            found[0] = found[0]._replace(players=season.places[names[0]])
            found.append(LeagueDivision(name, row.tournament_id, season.places[name]))
            moves = season.moves
        return found, moves

    async def after(self, tournament: Tournament) -> str:
        """Return the id of the next tournament of a series, '' if there is none yet."""
        if not tournament.spec.schedule.every:
            return ""
        following = await self._journal.tournament_of_request(tournament.created.creator, f"{NEXT}{tournament.id}")
        return following.tournament_id if following is not None else ""

    async def _results(self, row: TournamentSummary) -> Results | None:
        """Return the results of a tournament, None if it has not ended or was cancelled."""
        if not row.ended_ms:
            return None
        name = row.tournament_id
        if name in self._kept:
            self._kept.move_to_end(name)
            return self._kept[name]
        reading = self._reading[name] = object()
        tournament = await self._tournaments.get(name)
        results = None
        if tournament.end is not None and tournament.end.end is not End.CANCELLED:
            results = results_of(tournament, await self._tables.of(tournament))
        if self._reading.get(name) is reading:
            del self._reading[name]
            self._kept[name] = results
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return results

    # -- listeners -----------------------------------------------------------------------------------------------

    def tournament_changed(self, tournament: Tournament, events: Sequence[Event]) -> None:
        """Forget the results of a tournament that has changed at this server."""
        self._forget(tournament.id)

    def log_grown(self, found: Sequence[StoredRecord]) -> None:
        """Forget the results of tournaments that have changed at other servers."""
        for record in found:
            if record.subject is Subject.TOURNAMENT:
                self._forget(record.match_id)

    def _forget(self, name: str) -> None:
        self._reading.pop(name, None)
        self._kept.pop(name, None)
