"""Ratings as use cases: leaderboards, the ratings of a player, comparisons, and the strengths that ladders pair by.

Ratings follow from the tallies of the journal (`Journal.tallies`). A scope is one variant, several, or all. Ratings of
a scope are identified by the number of the last ruling on ratings and by its number of rated games. Between two rulings
tallies only grow, so ratings from as many games as there are now, with all rulings, are current. They are computed on
request, in a worker process, once for all requests between two games.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from arbiter.errors import Reason, Refusal
from arbiter.ratings.counts import chains, named
from arbiter.ratings.pairs import Z95
from arbiter.ratings.rated_matches import Result
from arbiter.ratings.rating_results import Comparison, RatingList, RatingPoint, Row
from arbiter.ratings.sprt import check
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import RETRY_MS, Journal, RatedGames, Tally
from arbiter.service.ports.log import Logger
from arbiter.service.ratings.rating_ports import ComparisonRequest, RatingFailed, RatingWorker
from arbiter.tournaments.formats import Strength

BOARDS_KEPT: Final = 64  #: rating lists in the cache, so that the pages of a leaderboard agree while games go on
MARKS_KEPT: Final = 400  #: instants of histories in the cache
PORTION: Final = 4  #: instants of a history in one job, so that other jobs do not wait long
MOST_POINTS: Final = 100  #: points of a history at most

MINUTE: Final = 60_000
DAY: Final = 1_440 * MINUTE
PERIODS: Final = (
    *(1_000 * seconds for seconds in (1, 2, 5, 10, 20, 30)),
    *(MINUTE * minutes for minutes in (1, 2, 5, 10, 20, 30, 60, 120, 240, 480, 720)),
    *(DAY * days for days in (1, 2, 7, 14, 28, 112, 448)),
)
"""The possible distances between the points of a history, in milliseconds."""

Scope = tuple[str, ...]
"""Variants, in order; empty for all games together."""

T = TypeVar("T")


class PlayerRatings(NamedTuple):
    """The ratings of a player: its versions, the newest first.

    history: how the ratings of each version changed; versions in the same order.
    """

    versions: tuple[Row, ...]
    history: tuple[tuple[str, tuple[RatingPoint, ...]], ...]


class Edition(NamedTuple):
    """Ratings, and what they follow from."""

    of: RatedGames
    ratings: RatingList


class DatedMarks(NamedTuple):
    """The ratings of all players at the beginnings of some periods, in the cache.

    rulings: the number of those on ratings. until: the last of the periods, before which `games` games had ended.
    """

    rulings: int
    until: int
    games: int
    marks: dict[int, Mapping[str, RatingPoint]]


class Ratings:
    """The ratings of a server. `anchors`: fixed ratings in Elo, by NAME or NAME@VERSION (`arbiter.ratings.anchors`)."""

    def __init__(
        self, journal: Journal, clock: Clock, worker: RatingWorker, anchors: Mapping[str, float], log: Logger
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._worker = worker
        self.anchors = anchors
        self._newest: dict[Scope, Edition] = {}
        self._kept: OrderedDict[tuple[Scope, RatedGames], RatingList] = OrderedDict()
        self._working: dict[Scope, asyncio.Task[Edition]] = {}
        self._histories: OrderedDict[tuple[str, int], DatedMarks] = OrderedDict()
        self._dating = asyncio.Lock()
        self._contradicted: dict[Scope, set[str]] = {}
        self._log = log

    # -- leaderboards --------------------------------------------------------------------------------------------

    async def rating_list(self, games: Iterable[str] = ()) -> RatingList:
        """Return the current ratings over some variants together, by default all.

        Raises Refusal STORE_UNAVAILABLE, BUDGET_SPENT.
        """
        return (await self.edition(games)).ratings

    async def edition(self, games: Iterable[str] = (), of: RatedGames | None = None) -> Edition:
        """Return the current ratings over some variants together, by default all, with what they follow from.

        of: what earlier ratings followed from; if those are still cached, they are returned. Raises as `rating_list`.
        """
        scope = tuple(sorted(set(games)))
        kept = self._kept.get((scope, of)) if of is not None else None
        return Edition(of, kept) if of is not None and kept is not None else await self._current(scope)

    async def _current(self, scope: Scope) -> Edition:
        wanted = await self._journal.rated_games(scope)
        while True:
            newest = self._newest.get(scope)
            if newest is not None and _is_current(newest.of, wanted):
                return newest
            working = self._working.get(scope)
            if working is None:
                working = self._working[scope] = asyncio.create_task(self._work(scope))
                working.add_done_callback(_seen)
                return await asyncio.shield(working)  # others wait for it too
            await asyncio.shield(working)  # it may have begun before the last game

    async def _work(self, scope: Scope) -> Edition:
        try:
            rulings = (await self._journal.rated_games(scope)).rulings  # first: what is read then has these at least
            tallies = await self._tallies(scope)
            listed = await self._answer(self._worker.rating_list(tallies, self.anchors))
        finally:
            del self._working[scope]
        self._note_anchors(scope, listed)
        made = self._newest[scope] = Edition(RatedGames(listed.games, rulings), listed)
        self._kept[scope, made.of] = listed
        if len(self._kept) > BOARDS_KEPT:
            (oldest, _), left = self._kept.popitem(last=False)
            if oldest in self._newest and self._newest[oldest].ratings is left:
                del self._newest[oldest]
        return made

    def _note_anchors(self, scope: Scope, listed: RatingList) -> None:
        """Log the anchors that the games contradict, once for each scope."""
        logged = self._contradicted.setdefault(scope, set())
        for each in listed.anchors:
            if each.contradicted and each.by_games is not None and each.player not in logged:
                logged.add(each.player)
                self._log.warning(
                    "anchor_contradicted",
                    games=scope or "all",
                    player=each.player,
                    anchor=each.rating,
                    by_games=each.by_games.value,
                )

    async def _tallies(self, scope: Scope) -> list[Tally]:
        found = [await self._journal.tallies(game=game, rated=True) for game in scope or ("",)]
        return [tally for those in found for tally in those]

    async def fit(self, results: Sequence[Result]) -> RatingList:
        """Return the ratings from some results alone, such as those of one tournament: without anchors.

        Raises Refusal BUDGET_SPENT.
        """
        return await self._answer(self._worker.fit(results))

    async def strengths(self, games: Sequence[str]) -> dict[str, Strength]:
        """Return the strength of each player's newest version, from the results of some variants together.

        Raises Refusal STORE_UNAVAILABLE, BUDGET_SPENT.
        """
        found = await self.rating_list(games)
        return {
            named(row.player)[0]: Strength(row.rating, (row.high - row.low) / (2 * Z95))
            for row in found.newest
            if row.games
        }

    # -- one player ----------------------------------------------------------------------------------------------

    async def of_player(self, player: str, game: str, points: int) -> PlayerRatings:
        """Return the ratings of a player's versions at a variant ('': all games).

        points: the number of points of their history, 0 for none. Raises Refusal STORE_UNAVAILABLE, BUDGET_SPENT.
        """
        found = await self.rating_list((game,) if game else ())
        mine = {row.player: row for row in found.all_versions if named(row.player)[0] == player}
        versions = tuple(mine[each] for chain in chains(mine) for each in reversed(chain))
        if not points or not versions:
            return PlayerRatings(versions, ())
        dated = await self._history(player, game, points)
        now = self._clock.now_ms()
        history = [
            (
                row.player,
                (
                    *(point for point in dated.get(row.player, ()) if point.at_ms < now),
                    RatingPoint(now, row.rating, row.low, row.high),
                ),
            )
            for row in versions
        ]
        return PlayerRatings(versions, tuple(history))

    async def _history(self, player: str, game: str, points: int) -> dict[str, list[RatingPoint]]:
        """Return the ratings of a player's versions at regular instants since its first rated game, in order."""
        first, now = await self._journal.first_rated(player, game), self._clock.now_ms()
        period_ms = next((period for period in PERIODS if now - first < period * (points - 1)), PERIODS[-1])
        wanted = range(first // period_ms + 1, now // period_ms + 1)
        wanted = wanted[max(0, len(wanted) - (points - 1)) :]
        if not first or not wanted:
            return {}
        async with self._dating:  # one at a time: there is one process
            dated = await self._dated(game, period_ms, wanted)
        marks: dict[str, list[RatingPoint]] = {}
        for period in wanted:
            for name, mark in dated[period].items():
                if named(name)[0] == player:
                    marks.setdefault(name, []).append(mark)
        return marks

    async def _dated(
        self, game: str, period_ms: int, periods: Sequence[int]
    ) -> Mapping[int, Mapping[str, RatingPoint]]:
        """Return the ratings of all players at the beginnings of some periods.

        Results are cached. They are valid for as long as there is no other ruling, and the number of games that had
        ended by the last of these instants does not change. So only games that have ended since then are looked at.
        """
        rulings = (await self._journal.rated_games(())).rulings  # first: the tallies have these at least
        known = self._histories.pop((game, period_ms), None)
        if known is not None and known.rulings == rulings:
            missing = [period for period in periods if period not in known.marks]
            tallies = await self._journal.dated_tallies(game, period_ms, min([known.until, *missing]))
            if _games_before(tallies, known.until) != known.games:
                known = None
        else:
            known = None
        if known is None:
            known, missing = DatedMarks(rulings, 0, 0, {}), list(periods)
            tallies = await self._journal.dated_tallies(game, period_ms, periods[0])
        marks, until = dict(known.marks), max(known.until, periods[-1])
        for start in range(0, len(missing), PORTION):
            portion = missing[start : start + PORTION]
            those = tallies[: bisect_left(tallies, portion[-1], key=itemgetter(0))]
            marks |= await self._answer(self._worker.history(those, period_ms, portion, self.anchors))
        kept = {period: marks[period] for period in sorted(marks)[-MOST_POINTS:]}
        self._histories[game, period_ms] = DatedMarks(rulings, until, _games_before(tallies, until), kept)
        while sum(len(each.marks) for each in self._histories.values()) > MARKS_KEPT:
            self._histories.popitem(last=False)
        return marks

    # -- two players ---------------------------------------------------------------------------------------------

    async def compare(self, contest: ComparisonRequest, game: str) -> Comparison:
        """Compare two players by their games of a variant ('': of all).

        Raises Refusal ARGUMENT_INVALID for hypotheses that can't be tested, STORE_UNAVAILABLE, BUDGET_SPENT.
        """
        check(contest.hypotheses)
        encounters = await self._journal.encounters(contest.player, contest.other, game)
        tallies = await self._tallies((game,) if game else ())
        return await self._answer(self._worker.comparison(contest, tallies, encounters, self.anchors))

    async def _answer(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what a job of the rating worker returns. Raises Refusal BUDGET_SPENT if the job fails."""
        try:
            return await work
        except RatingFailed as failure:
            self._log.error("not_rated", error=str(failure))
            raise Refusal(
                Reason.BUDGET_SPENT,
                "the ratings could not be computed now: send the same request again in a while",
                limit=1,
                retry_after_ms=RETRY_MS,
            ) from None


def _games_before(tallies: Iterable[tuple[int, Tally]], period: int) -> int:
    return sum(tally.games for number, tally in tallies if number < period)


def _is_current(found: RatedGames, wanted: RatedGames) -> bool:
    """Return whether ratings have all games and rulings that there were."""
    return found.rulings > wanted.rulings or (found.rulings == wanted.rulings and found.games >= wanted.games)


def _seen(work: asyncio.Task[Edition]) -> None:
    """Read the error of a task that failed after all its callers had left, so that asyncio does not log it."""
    if not work.cancelled():
        work.exception()
