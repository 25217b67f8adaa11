"""The table over a series: a function of the standings of its tournaments.

Of the results of a player in the tournaments that count, the best ones are added (`SeriesRules.best`). A result is the
player's points in the standings (in an arena its arena points), or what its place counts (`SeriesRules.place_points`).
Players that share a place all get what it counts, as in the World Cup of ski racing. A player without a played game
gets nothing for its place. A player that is disqualified from the start of a tournament has no result in it.

Players are ordered by the sum, then by their best result, by their second best, and so on; players that are equal in
all of these share a place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arbiter.tournaments.schedule import SeriesRules
from arbiter.tournaments.standings import Table
from arbiter.tournaments.tournament import Tournament

Results = Mapping[str, "PlayerResult"]
"""The results of a tournament, by player, best first."""


class PlayerResult(NamedTuple):
    """A player's place in a tournament, its points there in halves, and whether it has played a game."""

    place: int
    points: int
    played: bool


class SeriesResult(NamedTuple):
    """A result in the tournament with the index `tournament`. points: what it counts, in halves. counts: if it does."""

    tournament: int
    place: int
    points: int
    counts: bool


class SeriesRow(NamedTuple):
    """A player's row. place: from 1. points: the sum of the results that count, in halves."""

    place: int
    player: str
    points: int
    results: tuple[SeriesResult, ...]


def who_played(tournament: Tournament) -> set[str]:
    """Return the players that have played a game of a tournament."""
    played = {
        player
        for number, result in tournament.results.items()
        if result.played
        for player in tournament.games[number - 1].players
    }
    counting = tournament.old.counting(tournament.disqualified)
    return played | {player for kind, _ in counting if kind.result.played for player in (kind.seat1, kind.seat2)}


def results_of(tournament: Tournament, table: Table) -> Results:
    """Return the results of a tournament that has ended, from its standings."""
    played = who_played(tournament)
    out = {player for player, each in tournament.disqualified.items() if each.what.from_start}
    return {
        row.player: PlayerResult(
            row.place, row.points if row.arena_points is None else 2 * row.arena_points, row.player in played
        )
        for row in table.rows
        if row.player not in out
    }


def series_table(tournaments: Sequence[Results], rules: SeriesRules) -> list[SeriesRow]:
    """Return the table over some tournaments, best player first. rules: `last` is ignored: all tournaments count."""
    found: dict[str, list[SeriesResult]] = {}
    for number, tournament in enumerate(tournaments):
        for player, each in tournament.items():
            found.setdefault(player, []).append(SeriesResult(number, each.place, _counted(each, rules), False))
    scored = [(*_best(results, rules.best), player) for player, results in found.items()]
    scored.sort(key=lambda each: (-sum(each[0]), [-points for points in each[0]]))
    rows: list[SeriesRow] = []
    for at, (best, results, player) in enumerate(scored, 1):
        level = at > 1 and scored[at - 2][0] == best
        rows.append(SeriesRow(rows[-1].place if level else at, player, sum(best), results))
    return rows


def _counted(result: PlayerResult, rules: SeriesRules) -> int:
    """Return what a result counts, in halves."""
    if not rules.place_points:
        return result.points
    places = rules.place_points
    return 2 * places[result.place - 1] if result.played and result.place <= len(places) else 0


def _best(results: Sequence[SeriesResult], best: int) -> tuple[list[int], tuple[SeriesResult, ...]]:
    """Return the points that count, best first without zeros, and all results, marked; of equal ones the earlier."""
    order = sorted(results, key=lambda each: (-each.points, each.tournament))
    counting = {each.tournament for each in (order[:best] if best else order)}
    points = [each.points for each in order if each.points and each.tournament in counting]
    return points, tuple(each._replace(counts=each.tournament in counting) for each in results)
