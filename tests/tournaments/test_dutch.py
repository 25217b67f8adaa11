"""The Dutch system: every round of another program's tournaments, and small fields as they are paired by hand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Final

import pytest

from arbiter.tournaments.dutch import Entry, Result, Round, optimum, pair_round, rounds
from arbiter.tournaments.dutch.bracket import first_assignment
from tests.tournaments.dutch_by_hand import ByHand
from tests.tournaments.reports import Report, read

REPORTS: Final = sorted((Path(__file__).parent / "swiss_2026").glob("*.trf"))

C9_WITH_MDPS: Final = (409, 761, 1129)
"""Seeds with a bracket in which one of several MDPs gets the bye: whoever has missed fewer games."""


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_every_round_comes_out_as_another_program_paired_it(path: Path) -> None:
    report = read(path)
    initial = lot(report)
    for round_ in range(1, report.rounds + 1):
        paired = pair_round(report.before(round_), report.rounds, initial=initial)
        assert paired is not None
        assert (paired.bye, set(paired.pairs)) == (report.bye(round_), report.pairs(round_)), f"round {round_}"


def lot(report: Report) -> int:
    """Return the initial-colour of a report: the seat of the first player of round 1 if its number is odd."""
    first = min(report.pairs(1), key=min)
    seat = first.index(min(first)) + 1
    arrived = sorted(number for number, cells in report.cells.items() if cells[0][0] or cells[0][2] == "U")
    return seat if arrived.index(min(first)) % 2 == 0 else 3 - seat


def test_all_reports_are_here() -> None:
    assert sum(read(path).rounds for path in REPORTS) == 189


class Field:
    """A small field that plays a random tournament: forfeits, requested byes, late entries, players who leave."""

    def __init__(self, lots: random.Random) -> None:
        self.lots = lots
        self.players = lots.randint(3, 8)
        self.rounds = lots.randint(3, 7)
        self.results: list[list[Result]] = [[] for _ in range(self.players)]
        self.joined = [lots.choice((1, 1, 1, 1, 2, 3)) for _ in range(self.players)]
        self.left = [lots.choice((99, 99, 99, 99, lots.randint(1, 6))) for _ in range(self.players)]
        self.virtual = lots.choice(((), (), (2, 1), (2, 2, 1)))

    def entries(self, round_: int) -> list[Entry]:
        """Return the field before a round."""
        return [
            Entry(
                number + 1,
                self.results[number],
                present=self.joined[number] <= round_ <= self.left[number] and self.lots.random() > 0.05,
                virtual=self.virtual if number < self.players // 2 else (),
            )
            for number in range(self.players)
        ]

    def play(self, paired: Round) -> None:
        """Add a round with random results."""
        news = [Result(points=self.lots.choice((0, 0, 1))) for _ in range(self.players)]
        if paired.bye:
            news[paired.bye - 1] = Result(points=2)
        for one, other in paired.pairs:
            points = self.lots.choice((0, 1, 2))
            played = points == 1 or self.lots.random() > 0.1
            news[one - 1] = Result(other, 1, points, played)
            news[other - 1] = Result(one, 2, 2 - points, played)
        for results, new in zip(self.results, news, strict=True):
            results.append(new)


@pytest.mark.parametrize("few", [0, rounds.FEW])
@pytest.mark.parametrize("limit", [optimum.ROOM + 20, optimum.LIMIT])
def test_small_fields_are_paired_as_by_hand(few: int, limit: int, seeds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with graphs of fewer players, and with criteria that do not fit into one weight."""
    monkeypatch.setattr(rounds, "FEW", few)
    monkeypatch.setattr(optimum, "LIMIT", limit)
    compared = 0
    for seed in [*range(max(15, seeds)), *C9_WITH_MDPS]:
        field = Field(random.Random(seed))
        for round_ in range(1, field.rounds + 1):
            entries = field.entries(round_)
            paired = pair_round(entries, field.rounds)
            if sum(entry.present for entry in entries) < 2:
                assert paired is None
                break
            by_hand = ByHand(entries, field.rounds).pair()
            if paired is None:
                assert by_hand is None, f"seed {seed}, round {round_}"
                break
            assert ({frozenset(pair) for pair in paired.pairs}, paired.bye) == by_hand, f"seed {seed}, round {round_}"
            field.play(paired)
            compared += 1
    assert compared > 30


def test_the_first_assignment_is_the_first_of_all() -> None:
    lots = random.Random(1)
    for _ in range(200):
        columns = lots.randint(1, 5)
        rows = [lots.getrandbits(columns) for _ in range(lots.randint(0, columns))]
        assert first_assignment(rows) == assigned_by_hand(rows, columns)


def assigned_by_hand(rows: Sequence[int], columns: int) -> list[int] | None:
    for found in permutations(range(columns), len(rows)):
        if all(row >> column & 1 for row, column in zip(rows, found, strict=True)):
            return list(found)
    return None


def test_criteria_that_need_too_many_bits_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimum, "LIMIT", optimum.ROOM + 2)
    with pytest.raises(optimum.TooManyCriteria, match="0 criteria that can't be met need all 2 bits"):
        optimum.Optimum({0: 1, 1: 1}, {(0, 1): 1}, [1], perfect=False)


def test_seats_alternate_by_the_pairing_numbers_of_those_who_have_arrived() -> None:
    """5.2.5: a player that asked for a bye in round 1 has no pairing number yet (C.04.2)."""
    entries = [Entry(number, present=number != 2) for number in range(1, 8)]
    assert pair_round(entries, 5) == Round([(1, 5), (6, 3), (4, 7)], None)
    assert pair_round(entries, 5, initial=2) == Round([(5, 1), (3, 6), (7, 4)], None)


def test_forbidden_pairs_never_meet() -> None:
    entries = [Entry(number) for number in range(1, 5)]
    paired = pair_round(entries, 3, {frozenset((1, 3))})
    assert paired == Round([(1, 4), (3, 2)], None)
    assert pair_round(entries[:2], 3, {frozenset((1, 2))}) is None
