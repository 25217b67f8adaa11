"""The benchmark of the rules measures every game and writes one row for each series of moves."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from arbiter.bench.__main__ import main
from arbiter.bench.games import COURSES, Course, bench_games, measure, placing
from arbiter.games import registry


def test_every_bundled_game_has_a_course() -> None:
    assert {course.variant for course in COURSES if not course.variant.startswith("openspiel-")} == set(
        registry.BUNDLED
    )
    assert all(registry.game(course.variant) for course in COURSES)


@pytest.mark.long
def test_a_row_for_each_course_as_soon_as_it_is_known() -> None:
    written: list[str] = []
    courses = [Course("circle-of-life(target=2)", 1e9, 0.001), Course("pods(size=3)", 1e-9, None, placing, "placing")]
    bench_games(written.append, courses, games_s=0.01)
    rows = [text for text in written if text.startswith(("circle-of-life", "pods"))]
    assert len(rows) == 2
    assert rows[0].count("✓") == 2
    assert rows[1].count("✗") == 1
    assert rows[1].endswith("  placing\n")


@pytest.mark.long
def test_rules_in_a_process_of_their_own_have_a_row() -> None:
    [course] = [course for course in COURSES if course.apart]
    written: list[str] = []
    bench_games(written.append, [replace(course, variant="openspiel-tic_tac_toe")], games_s=0.01)
    [row] = [text for text in written if text.startswith("openspiel-tic_tac_toe")]
    assert row.endswith("  in a process of its own\n")


@pytest.mark.long
def test_figures_are_of_whole_games() -> None:
    found = measure(Course("circle-of-life(target=2)"), games_s=0.01)
    assert 0 < found.plies <= 63
    assert 0 < found.play_us < found.move_us < 1e6
    assert 0 < found.listed <= 61


def test_placing_lists_every_placement_and_migrations_only_without_one() -> None:
    game = registry.game("pods(size=3)")
    position, random = game.initial(), Random(1)
    while moves := game.moves(position):
        placements = [move for move in moves if "-" not in move]
        assert sorted(placing(game, position)) == sorted(placements or moves)
        position = game.play(position, random.choice(moves))


def test_an_unknown_benchmark_is_refused() -> None:
    assert main([]) == 2
    assert main(["nonsense"]) == 2
