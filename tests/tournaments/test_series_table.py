"""The table over a series, from the results of its tournaments."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments.schedule import SeriesRules
from arbiter.tournaments.series_table import PlayerResult, Results, SeriesRow, results_of, series_table
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.standings import standings


def results(**points: int) -> Results:
    """Return the results of a tournament by half points, which is also the order of the places."""
    places = sorted(points.values(), reverse=True)
    return {player: PlayerResult(places.index(each) + 1, each, True) for player, each in points.items()}


def short(rows: list[SeriesRow]) -> list[tuple[int, str, int]]:
    return [(row.place, row.player, row.points) for row in rows]


THREE = [results(ann=6, ben=4, cat=2), results(ann=1, ben=4, cat=6), results(ben=4, cat=5)]


def test_the_best_results_count() -> None:
    assert short(series_table(THREE, SeriesRules())) == [(1, "cat", 13), (2, "ben", 12), (3, "ann", 7)]
    rows = series_table(THREE, SeriesRules(best=2))
    assert short(rows) == [(1, "cat", 11), (2, "ben", 8), (3, "ann", 7)]
    assert [(each.tournament, each.points, each.counts) for each in rows[1].results] == [
        *((0, 4, True), (1, 4, True), (2, 4, False)),
    ], "of equal results the earlier ones count"
    assert [(each.tournament, each.counts) for each in rows[2].results] == [(0, True), (1, True)]


def test_players_who_are_level_are_ordered_by_their_best_result_and_share_a_place_without_one() -> None:
    rows = series_table([results(ann=4, ben=3, cat=3), results(ann=2, ben=3, cat=3)], SeriesRules())
    assert short(rows) == [(1, "ann", 6), (2, "ben", 6), (2, "cat", 6)]
    rows = series_table([results(ann=4, ben=3, dan=1), results(ann=2, ben=3)], SeriesRules())
    assert short(rows) == [(1, "ann", 6), (2, "ben", 6), (3, "dan", 1)]


def test_places_count_what_the_rules_say() -> None:
    there = {**results(ann=6, ben=4, cat=4, dan=1), "eve": PlayerResult(1, 6, False)}
    rows = series_table([there], SeriesRules(place_points=(10, 7)))
    assert short(rows) == [(1, "ann", 20), (2, "ben", 14), (2, "cat", 14), (4, "dan", 0), (4, "eve", 0)]


@pytest.mark.parametrize(("format_", "duration_ms"), [(Format.ROUND_ROBIN, 0), (Format.ARENA, 6_000)])
def test_results_are_those_of_the_standings(format_: Format, duration_ms: int) -> None:
    tournament = TournamentRun(
        Spec("all", format_, ("hop-it",), "1s", options=Options(duration_ms=duration_ms)), 5, random.Random(3)
    ).play()
    table = standings(tournament)
    found = results_of(tournament, table)
    assert {player: (each.place, each.points) for player, each in found.items()} == {
        row.player: (row.place, row.points if row.arena_points is None else 2 * row.arena_points) for row in table.rows
    }
    assert all(each.played for each in found.values())


@pytest.mark.parametrize("seed", range(40))
def test_a_table_of_random_results_is_in_order_and_adds_up(seed: int) -> None:
    lots = random.Random(seed)
    names = ["ann", "ben", "cat", "dan", "eve"]
    given = [
        results(**{name: lots.randrange(6) for name in lots.sample(names, lots.randrange(2, 6))}) for _ in range(6)
    ]
    best = lots.randrange(5)
    rows = series_table(given, SeriesRules(best=best))
    for row in rows:
        mine = sorted((each[row.player].points for each in given if row.player in each), reverse=True)
        assert row.points == sum(mine[: best or None])
        assert sorted((each.points for each in row.results if each.counts), reverse=True) == mine[: best or None]
        assert [each.points for each in row.results] == [
            given[each.tournament][row.player].points for each in row.results
        ]
    for one, other in pairwise(rows):
        mine, theirs = ([each.points for each in row.results if each.counts and each.points] for row in (one, other))
        assert (one.points, sorted(mine, reverse=True)) >= (other.points, sorted(theirs, reverse=True))
        assert (one.place == other.place) == (sorted(mine) == sorted(theirs))
