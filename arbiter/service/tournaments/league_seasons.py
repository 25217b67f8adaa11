"""The seasons of a league. The tournaments of its highest division are a series, and newcomers enter the next of these.

Before such a tournament starts, and once those of the season before have ended, the players are placed
(`arbiter.tournaments.league`): the tournaments of the lower divisions are created, all players are entered into the
tournament of their division, and those of the lower divisions start.

The first of these tournaments is created under a request id that follows from the highest division's, and says in its
specification who plays where. So the season before is closed in one step, with all rulings until then: whichever
servers place the players, and whatever dies in between, what is stored first holds, and the rest follows from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from arbiter.errors import Reason, Refusal
from arbiter.service.ports.journal import Journal, TournamentSummary
from arbiter.service.tournaments.request_ids import DIVISION, before, lower_divisions
from arbiter.tournaments import commands as do
from arbiter.tournaments import formats
from arbiter.tournaments.league import Member, Placement, place
from arbiter.tournaments.league_rules import LeagueSeason
from arbiter.tournaments.refusals import closed
from arbiter.tournaments.schedule import Schedule, SeriesRules
from arbiter.tournaments.series_table import who_played
from arbiter.tournaments.spec import Spec
from arbiter.tournaments.spec_text import LONGEST_NAME
from arbiter.tournaments.standings import standings
from arbiter.tournaments.state_copy import copied
from arbiter.tournaments.tournament import Entrant, Tournament, TournamentPhase

LEAST: Final = 2  #: players of a division
REQUEST: Final = "league: "  #: the request ids of what the server does in the creator's name begin with it
TOO_FEW: Final = "too few players for a season"

Season = Sequence[Tournament]
"""The tournaments of a season, that of the highest division first."""


class Tournaments(Protocol):
    """The tournaments of a server, as far as one of them needs others. Each call raises Refusal."""

    async def create(self, spec: Spec, creator: str, request: str) -> Tournament:
        """Create a tournament, or return the one that the same request has created before."""

    async def get(self, tournament_id: str) -> Tournament:
        """Return a tournament in its durable state."""

    async def act(self, tournament_id: str, command: do.Request) -> Tournament:
        """Let a tournament decide a request."""


class SeasonStart:
    """Places the players of a league before one of its seasons starts."""

    def __init__(self, tournaments: Tournaments, journal: Journal) -> None:
        self._tournaments = tournaments
        self._journal = journal
        self._placed: frozenset[str] | None = None  # the players of the highest division

    def is_due(self, tournament: Tournament) -> bool:
        """Return whether the players of a season are still to be placed, before its highest division may start."""
        if not tournament.spec.league.divisions or tournament.spec.season.division:
            return False
        return self._placed is None or not self._placed.issuperset(tournament.players)

    async def place(self, first: Tournament) -> None:
        """Place the players of a season. first: the tournament of its highest division, which has not started.

        Raises Refusal TOURNAMENT_CLOSED while the season before goes on, and what the calls of `Tournaments` raise.
        """
        seasons = await self._seasons(first)
        names = first.spec.league.divisions
        known = await self._journal.tournament_of_request(first.created.creator, DIVISION.format(1, first.id))
        if known is not None:
            second: Tournament | None = await self._tournaments.get(known.tournament_id)
        else:
            placement = await _placement(first, seasons)
            divisions = placement.divisions
            places = dict(zip(names, divisions, strict=False))
            season = LeagueSeason(first.spec.season.before, 1, first.id, places, placement.moves)
            second = await self._lower(first, season) if len(divisions) > 1 else None
        if second is not None:
            divisions = tuple(second.spec.season.places[name] for name in names if name in second.spec.season.places)
        entrants = {
            player: each for one in (*(seasons[0] if seasons else ()), first) for player, each in one.entrants.items()
        }
        if not divisions:
            self._placed = frozenset()
            return  # nobody has entered
        for number, players in enumerate(divisions[1:], 1):
            assert second is not None
            lower = await self._lower(first, replace(second.spec.season, division=number)) if number > 1 else second
            await self._fill(lower, players, entrants)
            await self._begin(lower)
        await self._fill(first, divisions[0], entrants)
        self._placed = frozenset(divisions[0])

    async def _seasons(self, first: Tournament) -> list[Season]:
        """Return the seasons that took place, newest first: as many as show who drops out, at least one if there is."""
        found: list[Season] = []
        row = await self._journal.tournament_summary(first.id)
        while row is not None and len(found) < max(1, first.spec.league.missing):
            row = await before(self._journal, row)
            if row is not None and (row.started_ms or not row.ended_ms):
                found.append(await self._season(first, row))
        return found

    async def _season(self, first: Tournament, row: TournamentSummary) -> Season:
        """Return a season that has ended. row: of its highest division. Raises TOURNAMENT_CLOSED if it goes on."""
        highest = await self._tournaments.get(row.tournament_id)
        rows = [row, *await lower_divisions(self._journal, highest)]
        for each in rows:
            if not each.ended_ms:
                raise closed(first, f"the season before goes on, with tournament {each.tournament_id}")
        return [highest, *[await self._tournaments.get(each.tournament_id) for each in rows[1:]]]

    async def _lower(self, first: Tournament, season: LeagueSeason) -> Tournament:
        """Create the tournament of a lower division, or return the one that is stored, which may place others."""
        creator, request = first.created.creator, DIVISION.format(season.division, first.id)
        try:
            return await self._tournaments.create(_lower_spec(first.spec, season), creator, request)
        except Refusal as refusal:
            if refusal.reason is not Reason.REQUEST_ID_REUSED:
                raise
        row = await self._journal.tournament_of_request(creator, request)
        assert row is not None
        return await self._tournaments.get(row.tournament_id)

    async def _fill(self, tournament: Tournament, players: Sequence[str], entrants: Mapping[str, Entrant]) -> None:
        """Enter the players of a division, and withdraw those of others."""
        creator, there = tournament.created.creator, set(tournament.players)
        for player in players:
            if player not in tournament.entrants:  # whoever has withdrawn from this season stays away
                each = entrants[player]
                request = f"{REQUEST}enter {player}"
                await self._act(tournament, do.Enter(player, creator, request, each.version, each.rating, badge=True))
        for player in sorted(there.difference(players)):
            request = f"{REQUEST}withdraw {player} at {tournament.revision}"  # it may have entered again
            await self._act(tournament, do.Withdraw(player, creator, request))

    async def _act(self, tournament: Tournament, command: do.Request) -> None:
        """Carry out a request, unless the tournament does not allow it, as for a player that is disqualified."""
        try:
            await self._tournaments.act(tournament.id, command)
        except Refusal as refusal:
            if refusal.reason is not Reason.TOURNAMENT_CLOSED:
                raise

    async def _begin(self, lower: Tournament) -> None:
        """Start a lower division; cancel it if players have withdrawn so that too few are left."""
        creator = lower.created.creator
        await self._act(lower, do.Start(creator, f"{REQUEST}start"))
        if (await self._tournaments.get(lower.id)).phase is TournamentPhase.ENTRY:
            await self._act(lower, do.Cancel(creator, f"{REQUEST}cancel", TOO_FEW))


async def _placement(first: Tournament, seasons: Sequence[Season]) -> Placement:
    """Return who plays where, by the standings of the last season as they are now."""
    rules = first.spec.league
    asked = first.players if seasons else sorted(first.players, key=lambda player: -first.entrants[player].rating)
    played = [[(frozenset(one.seeds), who_played(one)) for one in season] for season in seasons]

    def missed(player: str) -> int:
        seasons_missed = 0
        for season in played:
            if not any(player in seeds and player not in present for seeds, present in season):
                break
            seasons_missed += 1
        return seasons_missed

    last: list[list[Member]] = []
    for one in seasons[0] if seasons else ():
        rows = (await asyncio.to_thread(standings, copied(one))).rows
        last.append([Member(row.player, row.withdrawn or row.disqualified, missed(row.player)) for row in rows])
    return place(rules, last, asked, max(LEAST, formats.of(first.spec).least_players))


def _lower_spec(spec: Spec, season: LeagueSeason) -> Spec:
    """Return the specification of a lower division: that of the highest one, by invitation, and once."""
    name = spec.league.divisions[season.division]
    return replace(
        spec,
        name=f"{spec.name}: {name}"[:LONGEST_NAME],
        entry=replace(spec.entry, invited=season.places[name]),
        schedule=Schedule(),
        series=SeriesRules(),
        openings=replace(spec.openings, book_hash="", book_size=0),
        season=season,
    )
