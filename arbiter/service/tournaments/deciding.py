"""Rulings and corrections of organisers: made or only tried, with what they change for everybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from arbiter.service.one_thread import OneThread
from arbiter.service.tournaments.standings_cache import StandingsCache
from arbiter.service.tournaments.tournament_registry import TournamentRegistry
from arbiter.tournaments import formats
from arbiter.tournaments.by_hand import NOTHING
from arbiter.tournaments.checker import would_break
from arbiter.tournaments.commands import Correct, Rule
from arbiter.tournaments.corrections import DrawLots, Forbid, Hold, OfPairing
from arbiter.tournaments.events import Corrected, Event, Paired
from arbiter.tournaments.later_pairings import LaterPairings, RoundPairs, later_pairings, next_pairs
from arbiter.tournaments.standings import PlaceChange, place_changes
from arbiter.tournaments.state_copy import copied
from arbiter.tournaments.tournament import Tournament


class Decided(NamedTuple):
    """The tournament after a decision, the places that it changes, and the pairings that stay but would now be others.

    ratings_changed: the matches that the decision makes rated or unrated. paired: the round of a decision on pairings,
    as far as it is known; breaks: the rules that it breaks, as clauses.
    """

    tournament: Tournament
    changes: Sequence[PlaceChange]
    later: Sequence[LaterPairings] = ()
    paired: RoundPairs | None = None
    breaks: Sequence[str] = ()
    ratings_changed: Sequence[str] = ()


class Deciding:
    """Makes the decisions of organisers, and compares before and after."""

    def __init__(self, tournaments: TournamentRegistry, tables: StandingsCache) -> None:
        self._tournaments = tournaments
        self._tables = tables
        self._pairing = OneThread()  # one comparison of pairings at a time: it may take seconds

    async def decide(self, tournament: Tournament, wanted: Rule | Correct, *, preview: bool) -> Decided:
        """Make a decision, or with `preview` only try it; return what it changes. Raises as `TournamentRegistry.act`.

        A repeated request changes nothing.
        """
        table, before = await self._tables.of(tournament), copied(tournament)
        if preview:
            after = await self._tournaments.preview(tournament.id, wanted)
            changes = place_changes(table, await self._tables.after(after))
        else:
            tournament = await self._tournaments.act(tournament.id, wanted)
            after = copied(tournament)
            changes = place_changes(table, await self._tables.of(tournament))
        what = wanted.what if isinstance(wanted, Correct) else None
        if isinstance(what, OfPairing):
            tried = [Corrected(0, what, "", "", "")] if preview else []
            return await self._paired(Decided(tournament, changes), after, what, tried)
        if after.decided_at == before.decided_at:
            return Decided(tournament, changes)
        return Decided(tournament, changes, await self._pairing.run(later_pairings, before, after, what))

    async def _paired(self, decided: Decided, after: Tournament, what: OfPairing, tried: Sequence[Event]) -> Decided:
        """Add the round of a decision on pairings, and the rules that it breaks. tried: the decision, in a preview."""
        log: list[Event] = []
        if not isinstance(what, Forbid | Hold):
            log = [*await self._tournaments.log(after.id), *tried]
        paired = await self._pairing.run(next_pairs, after, what)
        breaks = await self._pairing.run(_broken, log, after, what, paired)
        return decided._replace(paired=paired, breaks=breaks)


def _broken(log: Sequence[Event], after: Tournament, what: OfPairing, paired: RoundPairs | None) -> list[str]:
    """Return which rules of the format a decision on pairings breaks: those of its whole round, if that is known."""
    if isinstance(what, Forbid | Hold):
        return []
    asked = after.by_hand.get(what.round, NOTHING)
    pairs, byes = (asked.pairs, asked.byes) if paired is None else (paired.pairs, paired.byes)
    before = [each for each in log if not isinstance(each, Paired) or each.round != what.round]
    return would_break(before if formats.of(after.spec).in_rounds else log, what.round, pairs, byes)


def with_seed(tournament: Tournament, wanted: Correct, fresh: str) -> Correct:
    """Return a lot with its seed: the one that it has, that of the same request before, or a fresh one."""
    if not isinstance(wanted.what, DrawLots) or wanted.what.seed:
        return wanted
    known = tournament.requests.get((wanted.caller, wanted.request))
    drawn = known.what if isinstance(known, Corrected) else None
    return replace(wanted, what=replace(wanted.what, seed=drawn.seed if isinstance(drawn, DrawLots) else fresh))
