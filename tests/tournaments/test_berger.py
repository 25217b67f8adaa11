from collections import Counter
from itertools import combinations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arbiter.errors import Reason
from arbiter.tournaments.berger import Pairing, Round, number_of_rounds, round_robin
from tests.refusals import refusing

# FIDE Handbook C.05, Annex 1, as published: seat 1 - seat 2, one line a round.
PUBLISHED = {
    4: """1-4 2-3
          4-3 1-2
          2-4 3-1""",
    6: """1-6 2-5 3-4
          6-4 5-3 1-2
          2-6 3-1 4-5
          6-5 1-4 2-3
          3-6 4-2 5-1""",
    8: """1-8 2-7 3-6 4-5
          8-5 6-4 7-3 1-2
          2-8 3-1 4-7 5-6
          8-6 7-5 1-4 2-3
          3-8 4-2 5-1 6-7
          8-7 1-6 2-5 3-4
          4-8 5-3 6-2 7-1""",
    16: """1-16 2-15 3-14 4-13 5-12 6-11 7-10 8-9
           16-9 10-8 11-7 12-6 13-5 14-4 15-3 1-2
           2-16 3-1 4-15 5-14 6-13 7-12 8-11 9-10
           16-10 11-9 12-8 13-7 14-6 15-5 1-4 2-3
           3-16 4-2 5-1 6-15 7-14 8-13 9-12 10-11
           16-11 12-10 13-9 14-8 15-7 1-6 2-5 3-4
           4-16 5-3 6-2 7-1 8-15 9-14 10-13 11-12
           16-12 13-11 14-10 15-9 1-8 2-7 3-6 4-5
           5-16 6-4 7-3 8-2 9-1 10-15 11-14 12-13
           16-13 14-12 15-11 1-10 2-9 3-8 4-7 5-6
           6-16 7-5 8-4 9-3 10-2 11-1 12-15 13-14
           16-14 15-13 1-12 2-11 3-10 4-9 5-8 6-7
           7-16 8-6 9-5 10-4 11-3 12-2 13-1 14-15
           16-15 1-14 2-13 3-12 4-11 5-10 6-9 7-8
           8-16 9-7 10-6 11-5 12-4 13-3 14-2 15-1""",
}


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(1, count + 1)]


def all_rounds(players: list[str], cycles: int = 1) -> tuple[Round, ...]:
    numbers = range(1, number_of_rounds(len(players), cycles) + 1)
    return tuple(round_robin(players, number, cycles) for number in numbers)


def lines(rounds: tuple[Round, ...]) -> list[str]:
    return [" ".join(f"{p.seat1}-{p.seat2}" for p in a_round.pairings) for a_round in rounds]


@pytest.mark.parametrize("size", PUBLISHED)
def test_the_published_tables(size: int) -> None:
    assert lines(all_rounds(numbers(size))) == [line.strip() for line in PUBLISHED[size].splitlines()]


@pytest.mark.parametrize("size", [4, 6, 8, 16])
def test_with_an_odd_number_of_players_the_highest_number_is_a_bye(size: int) -> None:
    full, odd = all_rounds(numbers(size)), all_rounds(numbers(size - 1))
    for with_all, without in zip(full, odd, strict=True):
        met = [f"{p.seat1}-{p.seat2}" for p in with_all.pairings if str(size) not in (p.seat1, p.seat2)]
        assert lines((without,)) == [" ".join(met)]
        top = with_all.pairings[0]
        assert without.bye in (top.seat1, top.seat2)
        assert with_all.bye is None
    assert sorted(str(a_round.bye) for a_round in odd) == sorted(numbers(size - 1))


def test_a_double_round_robin_of_four() -> None:
    assert lines(all_rounds(numbers(4), 2)) == ["1-4 2-3", "2-4 3-1", "4-3 1-2", "4-1 3-2", "3-4 2-1", "4-2 1-3"]


def test_two_players() -> None:
    assert all_rounds(["a", "b"], 2) == (
        Round(1, (Pairing(1, 1, "a", "b"),), None),
        Round(2, (Pairing(2, 1, "b", "a"),), None),
    )


@given(st.integers(2, 23), st.integers(1, 5))
def test_every_pair_meets_once_a_cycle_and_seats_are_balanced(size: int, cycles: int) -> None:
    players = numbers(size)
    rounds = all_rounds(players, cycles)
    pairings = [p for a_round in rounds for p in a_round.pairings]

    met = Counter(frozenset((p.seat1, p.seat2)) for p in pairings)
    assert met == dict.fromkeys(map(frozenset, combinations(players, 2)), cycles)

    first, second = Counter(p.seat1 for p in pairings), Counter(p.seat2 for p in pairings)
    allowed = 0 if cycles % 2 == 0 or size % 2 else 1
    assert max(abs(first[player] - second[player]) for player in players) == allowed
    ordered = Counter((p.seat1, p.seat2) for p in pairings)
    assert all(abs(ordered[a, b] - ordered[b, a]) <= cycles % 2 for a, b in combinations(players, 2))


@given(st.integers(2, 23), st.integers(1, 5))
def test_the_rounds_one_by_one_are_those_of_the_tables_written_down_at_once(size: int, cycles: int) -> None:
    table = [[(p.seat1, p.seat2) for p in a_round.pairings] for a_round in all_rounds(numbers(size))]
    expected: list[list[tuple[str, str]]] = []
    for cycle in range(cycles):
        order = table if cycle == cycles - 1 else [*table[:-2], *reversed(table[-2:])]
        expected += [[pair[::-1] if cycle % 2 else pair for pair in pairs] for pairs in order]
    assert [[(p.seat1, p.seat2) for p in each.pairings] for each in all_rounds(numbers(size), cycles)] == expected


@given(st.integers(2, 23), st.integers(1, 5))
def test_nobody_is_twice_in_a_round_and_numbers_are_consecutive(size: int, cycles: int) -> None:
    players = numbers(size)
    rounds = all_rounds(players, cycles)
    assert [a_round.number for a_round in rounds] == list(range(1, cycles * (size - 1 + size % 2) + 1))
    for a_round in rounds:
        there = [player for p in a_round.pairings for player in (p.seat1, p.seat2)]
        assert sorted([*there, *([a_round.bye] if a_round.bye else [])]) == sorted(players)
        assert [p.board for p in a_round.pairings] == list(range(1, size // 2 + 1))
        assert {p.round for p in a_round.pairings} == {a_round.number}


@given(st.integers(2, 23), st.integers(1, 5))
def test_nobody_holds_a_seat_three_times_in_a_row(size: int, cycles: int) -> None:
    assume(size != 4 or cycles <= 2)  # tables for four players cannot achieve that over more cycles
    rounds = all_rounds(numbers(size), cycles)
    for player in numbers(size):
        seats = "".join(
            "1" if p.seat1 == player else "2"
            for a_round in rounds
            for p in a_round.pairings
            if player in (p.seat1, p.seat2)
        )
        assert "111" not in seats
        assert "222" not in seats


@pytest.mark.parametrize(
    ("players", "number", "cycles", "where"),
    [
        ([], 1, 1, "players"),
        (["a"], 1, 1, "players"),
        (["a", "b", "a"], 1, 1, "players"),
        (["a", ""], 1, 1, "players"),
        (["a", "b"], 1, 0, "cycles"),
        (["a", "b"], 0, 2, "number"),
        (["a", "b"], 3, 2, "number"),
    ],
)
def test_refusals(players: list[str], number: int, cycles: int, where: str) -> None:
    with refusing(Reason.ARGUMENT_INVALID) as refusal:
        round_robin(players, number, cycles)
    assert refusal.value.facts["where"] == where
