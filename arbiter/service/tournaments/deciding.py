"""Rulings and corrections of organisers: made or only tried, with what they change for everybody."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from arbiter.service.tournaments.registry import TournamentRegistry
from arbiter.service.tournaments.standings_cache import StandingsCache
from arbiter.tournaments.commands import Correct, Rule
from arbiter.tournaments.corrections import DrawLots
from arbiter.tournaments.events import Corrected
from arbiter.tournaments.later_pairings import LaterPairings, later_pairings
from arbiter.tournaments.snapshot import snapshot
from arbiter.tournaments.standings import PlaceChange, place_changes
from arbiter.tournaments.tournament import Tournament


class Decided(NamedTuple):
    """The tournament of a decision, which places that changes, and which pairings that stay would be others."""

    tournament: Tournament
    changes: Sequence[PlaceChange]
    later: Sequence[LaterPairings] = ()


class Deciding:
    """Makes the decisions of organisers, and compares before and after."""

    def __init__(self, tournaments: TournamentRegistry, tables: StandingsCache) -> None:
        self._tournaments = tournaments
        self._tables = tables
        self._pairing = asyncio.Lock()  # one comparison of pairings at a time: it may take seconds

    async def decide(self, tournament: Tournament, wanted: Rule | Correct, *, preview: bool) -> Decided:
        """Make a decision, or with `preview` only try it; return what it changes. Raises as `TournamentRegistry.act`.

        A repeated request changes nothing.
        """
        table, before = await self._tables.of(tournament), snapshot(tournament)
        if preview:
            after = await self._tournaments.preview(tournament.id, wanted)
            changes = place_changes(table, await self._tables.after(after))
        else:
            tournament = await self._tournaments.act(tournament.id, wanted)
            after = snapshot(tournament)
            changes = place_changes(table, await self._tables.of(tournament))
        if after.decided_at == before.decided_at:
            return Decided(tournament, changes)
        what = wanted.what if isinstance(wanted, Correct) else None
        async with self._pairing:
            return Decided(tournament, changes, await asyncio.to_thread(later_pairings, before, after, what))


def with_seed(tournament: Tournament, wanted: Correct, fresh: str) -> Correct:
    """Return a lot with its seed: the one that it has, that of the same request before, or a fresh one."""
    if not isinstance(wanted.what, DrawLots) or wanted.what.seed:
        return wanted
    known = tournament.requests.get((wanted.caller, wanted.request))
    drawn = known.what if isinstance(known, Corrected) else None
    return replace(wanted, what=replace(wanted.what, seed=drawn.seed if isinstance(drawn, DrawLots) else fresh))
