"""Accounts that lose series of games to their owner are found, and honest pairings of all kinds are not reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from math import exp
from random import Random

import pytest

from arbiter.ratings.arranged import LEAST_GAMES, FindingKind, SuspiciousPattern
from arbiter.ratings.farmed import DatedResult, all_series, farmed
from arbiter.ratings.model import ELO_PER_NAT
from arbiter.ratings.rated_matches import Result

PLAYERS = 12
SPREAD = 250.0  #: of the strengths, in Elo
PAIR = 40.0  #: of the effects of pairs, in Elo

Pairs = Iterator[tuple[int, int]]


class Record:
    """A record that grows game by game. strength: in Elo; version: of each player's bot."""

    def __init__(self, seed: int) -> None:
        self.lots = Random(seed)
        self.strength = [self.lots.gauss(0, SPREAD) for _ in range(PLAYERS)]
        self.version = [1] * PLAYERS
        self.games: list[DatedResult] = []
        self._effects: dict[tuple[int, int], float] = {}

    def play(self, one: int, two: int, lost: bool = False) -> None:
        """Add a game; lost: the second player loses on purpose. Seats are drawn."""
        low, high = min(one, two), max(one, two)
        effect = self._effects.setdefault((low, high), self.lots.gauss(0, PAIR)) * (1 if one == low else -1)
        first = self.lots.random() < 0.5
        u = (self.strength[one] - self.strength[two] + effect + (50 if first else -50)) / ELO_PER_NAT
        won, drawn, other = exp(u / 2), 0.3, exp(-u / 2)
        place = self.lots.random() * (won + drawn + other)
        winner = 1 if lost or place < won else 0 if place < won + drawn else 2
        seats = (one, two) if first else (two, one)
        seat = 0 if not winner else winner if first else 3 - winner
        one_name, two_name = (f"p{player:02}@{self.version[player]}" for player in seats)
        result = Result("pods", True, one_name, two_name, "win" if seat else "draw", seat, "rules")
        self.games.append(DatedResult(len(self.games), result))


def ladder(record: Record, rounds: int = 40) -> Pairs:
    for _ in range(rounds):
        order = record.lots.sample(range(PLAYERS), PLAYERS)
        yield from zip(order[::2], order[1::2], strict=True)


def arena(record: Record) -> Pairs:
    """Yield pairs of neighbours by points, in which a few fast ones play most."""
    weights = [1 + 3 * (player % 3 == 0) for player in range(PLAYERS)]
    for _ in range(300):
        one, two = record.lots.choices(range(PLAYERS), weights, k=2)
        if one != two:
            yield one, two


def round_robin(record: Record) -> Pairs:
    """Yield all pairs, each with ten games in a row."""
    for pair in combinations(range(PLAYERS), 2):
        yield from [pair] * 10


def gauntlet(record: Record) -> Pairs:
    """Yield a few games of all, and then a newcomer's series against each of the others."""
    yield from ladder(record, 15)
    for other in range(1, PLAYERS):
        yield from [(0, other)] * 20


def friends(record: Record) -> Pairs:
    """Yield a ladder between whose games friends challenge each other 30 times in a row."""
    for _ in range(10):
        yield from ladder(record, 4)
        friend = record.lots.randrange(PLAYERS // 2)
        yield from [(2 * friend, 2 * friend + 1)] * 30


def improving(record: Record) -> Pairs:
    """Yield gauntlets of bots that come back as better versions, between the games of a ladder."""
    for _ in range(8):
        yield from ladder(record, 4)
        better = record.lots.randrange(PLAYERS)
        record.version[better] += 1
        record.strength[better] += record.lots.choice((0, 50, 150, 400))
        for other in record.lots.sample([each for each in range(PLAYERS) if each != better], 3):
            yield from [(better, other)] * 12


HONEST: dict[str, Callable[[Record], Pairs]] = {
    each.__name__: each for each in (ladder, arena, round_robin, gauntlet, friends, improving)
}


def honest(kind: str, seed: int) -> Record:
    record = Record(seed)
    for one, two in HONEST[kind](record):
        record.play(one, two)
    return record


def farm(seed: int, losses: int = 20) -> Record:
    """Return a record of 40 honest games of each, after which five accounts lose to their owner, player 0."""
    record = Record(seed)
    record.strength[:6] = [0.0] * 6
    for one, two in ladder(record):
        record.play(one, two)
    for account in range(1, 6):
        for _ in range(losses):
            record.play(0, account, lost=True)
    return record


def found(record: Record) -> tuple[SuspiciousPattern, ...]:
    return farmed(record.games)


@pytest.mark.long
@pytest.mark.parametrize("kind", HONEST)
def test_honest_pairings_are_reported_in_at_most_one_record_of_a_hundred(kind: str, seeds: int) -> None:
    records = max(3, seeds // 5 if seeds > 20 else 3)
    reported = [finding for seed in range(records) if (finding := found(honest(kind, seed)))]
    assert len(reported) <= max(0, records // 50), reported


@pytest.mark.long
def test_the_owner_of_five_accounts_is_found(seeds: int) -> None:
    records = 30 if seeds > 20 else 5
    findings = [found(farm(seed)) for seed in range(records)]
    named = [each[0] for each in findings if each]
    assert len(named) >= 0.9 * records
    assert all(each.kind is FindingKind.FARMED and each.players[0] == "p00" for each in named)
    assert all(set(each.players) <= {f"p{number:02}" for number in range(6)} for each in named)
    assert "in series of games against p01" in named[0].reason
    assert all(each.probability is not None and each.probability < 0.01 for each in named)


def test_a_series_is_a_row_of_games_against_one_player() -> None:
    record = Record(1)
    for _ in range(LEAST_GAMES - 1):
        record.play(0, 1)
    record.play(1, 2)
    record.play(0, 1)
    for _ in range(4):
        record.play(1, 3)
    record.play(0, 1)
    series = [(each.account, each.player, len(each.results)) for each in all_series([g.result for g in record.games])]
    assert series == [("p00", "p01", LEAST_GAMES + 1), ("p01", "p00", LEAST_GAMES)]


def test_an_empty_record_and_games_of_two_alone_are_not_reported() -> None:
    assert farmed([]) == ()
    record = Record(2)
    for _ in range(30):
        record.play(0, 1, lost=True)
    assert farmed(record.games) == ()
