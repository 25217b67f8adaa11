import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import Reason, Refusal
from arbiter.tournaments.berger import round_robin
from arbiter.tournaments.crosstable import CrosstableGame, crosstable
from arbiter.tournaments.standings import points_text, quarters_text


def test_the_worked_example() -> None:
    results = [
        CrosstableGame("A", "D", 1),
        CrosstableGame("B", "C", 0),
        CrosstableGame("D", "C", 2),
        CrosstableGame("A", "B", 0),
        CrosstableGame("B", "D", 1),
        CrosstableGame("C", "A", 2),
    ]
    table = crosstable("DCBA", results)
    assert [(row.place, row.player, points_text(row.points)) for row in table.rows] == [
        (1, "A", "2½"),
        (2, "B", "2"),
        (3, "C", "1½"),
        (4, "D", "0"),
    ]
    assert [quarters_text(row.sonneborn_berger) for row in table.rows] == ["2½", "2", "1", "0"]
    assert [(row.wins, row.draws, row.losses) for row in table.rows] == [(2, 1, 0), (1, 2, 0), (1, 1, 1), (0, 0, 3)]
    assert table.rows[1].scores == ((1,), (), (1,), (2,))


def test_sonneborn_berger_breaks_a_tie_on_points() -> None:
    # a and b have 3 half points each; a beat the second, c; b beat the last, d.
    results = [
        CrosstableGame("a", "c", 1),
        CrosstableGame("b", "d", 1),
        CrosstableGame("a", "b", 0),
        CrosstableGame("c", "d", 1),
        CrosstableGame("d", "a", 1),
        CrosstableGame("c", "b", 1),
    ]
    table = crosstable("abcd", results)
    # c: 2 points; a and b: 1½; d: 1. SB a: 2·1 + 1½·½ = 2¾, SB b: 1·1 + 1½·½ = 1¾.
    assert [row.player for row in table.rows] == ["c", "a", "b", "d"]
    assert [quarters_text(row.sonneborn_berger) for row in table.rows] == ["2½", "2¾", "1¾", "1½"]
    assert [row.place for row in table.rows] == [1, 2, 3, 4]


def test_players_level_in_everything_share_a_place() -> None:
    table = crosstable(["c", "b", "a"], [CrosstableGame("a", "b", 0), CrosstableGame("b", "a", 0)])
    assert [(row.place, row.player) for row in table.rows] == [(1, "a"), (1, "b"), (3, "c")]


def test_void_games_are_listed_and_give_no_points() -> None:
    played = [CrosstableGame("a", "b", 1), CrosstableGame("b", "a", 0)]
    table = crosstable("ab", [CrosstableGame("a", "b", None), *played, CrosstableGame("b", "a", None)])
    assert table.void == 2
    assert table.rows == crosstable("ab", played).rows


def test_a_double_round_robin_shows_each_game_in_its_cell() -> None:
    table = crosstable("ab", [CrosstableGame("a", "b", 1), CrosstableGame("b", "a", 0)])
    assert table.rows[0].scores == ((), (2, 1))
    assert table.rows[1].scores == ((0, 1), ())
    # Two games against one opponent: 1½ scored against a player who has ½.
    assert quarters_text(table.rows[0].sonneborn_berger) == "¾"


def test_before_any_game_all_are_level() -> None:
    table = crosstable("ab", [])
    assert [(row.place, row.games, row.points, row.sonneborn_berger) for row in table.rows] == [(1, 0, 0, 0)] * 2


@given(st.integers(2, 9), st.integers(1, 3), st.randoms(use_true_random=False))
def test_sums(size: int, cycles: int, chance: random.Random) -> None:
    players = [f"p{number}" for number in range(size)]
    results = [
        CrosstableGame(p.seat1, p.seat2, chance.choice((0, 1, 2)))
        for each in round_robin(players, cycles)
        for p in each.pairings
    ]
    table = crosstable(players, results)
    assert sum(row.points for row in table.rows) == 2 * len(results)
    assert sum(row.wins for row in table.rows) == sum(row.losses for row in table.rows)
    assert all(row.games == row.wins + row.draws + row.losses == cycles * (size - 1) for row in table.rows)
    assert all(row.points == 2 * row.wins + row.draws == sum(map(sum, row.scores)) for row in table.rows)
    for i, row in enumerate(table.rows):
        for j, other in enumerate(table.rows):
            assert row.scores[j] == tuple(2 - score for score in other.scores[i])
    # Every game adds (points of one) x (score of the other) for each of its two players.
    total = {row.player: row.points for row in table.rows}
    assert sum(row.sonneborn_berger for row in table.rows) == sum(
        total[r.seat2] * (1, 2, 0)[r.winner or 0] + total[r.seat1] * (1, 0, 2)[r.winner or 0] for r in results
    )
    chance.shuffle(results)
    again = crosstable(players, results)
    assert [row[:8] for row in again.rows] == [row[:8] for row in table.rows]


@pytest.mark.parametrize(
    ("result", "where"),
    [(("a", "x", 1), "seat2"), (("x", "a", 1), "seat1"), (("a", "a", 1), "seat2"), (("a", "b", 3), "winner")],
)
def test_refusals(result: tuple[str, str, int], where: str) -> None:
    with pytest.raises(Refusal) as refusal:
        crosstable("ab", [CrosstableGame(*result)])  # type: ignore[arg-type]
    assert refusal.value.reason is Reason.ARGUMENT_INVALID
    assert refusal.value.facts["where"] == where


@pytest.mark.parametrize(("half_points", "text"), [(0, "0"), (1, "½"), (2, "1"), (5, "2½"), (20, "10")])
def test_points_text(half_points: int, text: str) -> None:
    assert points_text(half_points) == text
