"""Finds pairs and clusters of players whose games look arranged, for people to judge, with reason and numbers.

A finding is no proof. It says what is unusual, and how much; this module takes no action. The fit itself limits the
weight of repeated pairs in the ratings (`Prior.pair_spread`).

| finding | what is found |
| --- | --- |
| cluster | a few players (two or more, at most half of the field) who play nearly only each other |
| improbable | a pair's result that the ratings from all other games make very unlikely |
| ring | three players, each of whom wins nearly all games against the next, around the circle |
| given up | a pair in which one gives up early far more often than players do otherwise |
| farmed | a player to whom accounts lost series of games, as other games do not explain (`arbiter.ratings.farmed`) |

Two of these are tests. Their probabilities are Chernoff's bounds (Annals of Mathematical Statistics 23 (1952)): never
less than the true ones, and exact bounds even for few games. They are multiplied by the number of tests (Bonferroni).
So in a report on a whole honest record, the probability of any false finding of a kind is at most ALPHA.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from math import log
from typing import Final, NamedTuple

import numpy as np

from arbiter.ratings.counts import Counts, PairCount
from arbiter.ratings.fit import FittedRatings, fit
from arbiter.ratings.model import ELO_PER_NAT, Prior

ALPHA: Final = 0.01  #: probability of any false finding of one kind in a report
LEAST_GAMES: Final = 10  #: minimum games of a pair, or of a player, in a finding
INSIDE: Final = 0.9  #: minimum share of its members' games that a cluster plays inside
LINKED: Final = 0.3  #: minimum share of a player's games that links it to another player
SURE: Final = 0.9  #: minimum score that counts as a sure win
#: a pair with at least this share of a player's games distorts its own expectation: refit without the pair
WEIGHTY: Final = 0.1

TILTS: Final = np.concatenate([[0.0], np.geomspace(1e-3, 30, 120)])  # the exponents that Chernoff's bound tries


class FindingKind(StrEnum):
    """The kind of a suspicious pattern."""

    CLUSTER = "cluster"
    IMPROBABLE = "improbable"
    RING = "ring"
    GIVEN_UP = "given_up"
    FARMED = "farmed"  #: `arbiter.ratings.farmed`


class GivenUp(NamedTuple):
    """Rated games that a player lost to another early, and not by play: resigned, on time, absent, by illegal moves.

    The caller defines what is early, as a number of plies that is the same for all.
    """

    loser: str
    winner: str
    games: int


class SuspiciousPattern(NamedTuple):
    """A suspicious pattern: the players, the number of games, and the reason in a sentence.

    probability: of such a pattern in an honest record, already multiplied by the number of tests; None if there is no
    test.
    """

    kind: FindingKind
    players: tuple[str, ...]
    games: int
    reason: str
    probability: float | None = None


def arranged(
    counts: Counts, given_up: Iterable[GivenUp] = (), prior: Prior | None = None
) -> tuple[SuspiciousPattern, ...]:
    """Return the suspicious patterns of a record, by kind, the least probable and the largest first.

    It costs one fit, and another one for each pair with a large share of the games of one of its players.
    """
    pairs = _by_pair(counts)
    found = [*_clusters(counts, pairs), *_improbable(counts, pairs, prior), *_rings(pairs), *_given_up(pairs, given_up)]
    kinds = list(FindingKind)
    return tuple(
        sorted(found, key=lambda each: (kinds.index(each.kind), each.probability or 0.0, -each.games, each.players))
    )


class _Pair(NamedTuple):
    """All games of two players, sorted by name; rows as in counts."""

    rows: tuple[PairCount, ...]
    games: int
    points: float  # of the first by name


def _by_pair(counts: Counts) -> dict[tuple[str, str], _Pair]:
    rows: dict[tuple[str, str], list[PairCount]] = {}
    for row in counts.pairs:
        rows.setdefault((min(row.seat1, row.seat2), max(row.seat1, row.seat2)), []).append(row)
    return {pair: _Pair(tuple(each), sum(map(_games, each)), _points(each, pair[0])) for pair, each in rows.items()}


def _games(row: PairCount) -> int:
    return row.wins1 + row.draws + row.wins2


def _points(rows: Iterable[PairCount], player: str) -> float:
    return sum((row.wins1 if row.seat1 == player else row.wins2) + row.draws / 2 for row in rows)


def _totals(pairs: Mapping[tuple[str, str], _Pair]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for pair, each in pairs.items():
        for player in pair:
            totals[player] = totals.get(player, 0) + each.games
    return totals


def _clusters(counts: Counts, pairs: Mapping[tuple[str, str], _Pair]) -> Iterator[SuspiciousPattern]:
    """Yield groups whose members share a large part of their games, and play almost only inside the group."""
    totals = _totals(pairs)
    group = {player: frozenset((player,)) for player in counts.players}
    for (a, b), each in sorted(pairs.items()):
        if each.games >= LEAST_GAMES and each.games >= LINKED * max(totals[a], totals[b]) and group[a] != group[b]:
            joined = group[a] | group[b]
            group.update(dict.fromkeys(joined, joined))
    for members in sorted(set(group.values()), key=sorted):
        if 2 <= len(members) <= len(counts.players) / 2:
            inside = sum(each.games for pair, each in pairs.items() if members.issuperset(pair))
            share = 2 * inside / sum(totals[player] for player in members)
            if share >= INSIDE:
                reason = f"{share:.0%} of their games are among these {len(members)} of {len(counts.players)} players"
                yield SuspiciousPattern(FindingKind.CLUSTER, tuple(sorted(members)), inside, reason)


def _improbable(
    counts: Counts, pairs: Mapping[tuple[str, str], _Pair], prior: Prior | None
) -> Iterator[SuspiciousPattern]:
    """Yield pairs whose result is too good or too bad, given all other games."""
    tested = {pair: each for pair, each in sorted(pairs.items()) if each.games >= LEAST_GAMES}
    totals, whole = _totals(pairs), fit(counts, prior)
    for pair, each in tested.items():
        ratings = whole
        if each.games >= WEIGHTY * min(totals[player] for player in pair):
            others = tuple(row for row in counts.pairs if row not in each.rows)
            ratings = fit(Counts(counts.players, others), prior)
        for better, worse in (pair, pair[::-1]):
            points = each.points if better == pair[0] else each.games - each.points
            chance = min(1.0, 2 * len(tested) * _tail(ratings, each.rows, better, worse, points))
            if chance < ALPHA:
                estimate = ratings.difference(better, worse)
                reason = (
                    f"{better} scored {points:g} of {each.games} against {worse}; other games put it "
                    f"{estimate.value:+.0f} Elo apart ({estimate.low:+.0f} to {estimate.high:+.0f})"
                )
                yield SuspiciousPattern(FindingKind.IMPROBABLE, (better, worse), each.games, reason, chance)


def _tail(ratings: FittedRatings, rows: Iterable[PairCount], better: str, worse: str, points: float) -> float:
    """Return an upper bound of the probability that a player scores this many points or more.

    It assumes the upper end of the interval of the difference, so that uncertainty about the ratings counts in the
    player's favour.
    """
    apart = ratings.difference(better, worse).high
    logs = -TILTS * points
    for row in rows:
        logs = logs + _games(row) * log_bounds(ratings, apart, row.seat1 == better)
    return float(np.exp(min(0.0, logs.min())))


def log_bounds(ratings: FittedRatings, apart: float, first: bool) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the logarithms of the moment generating function of a player's points in a game, at each of TILTS.

    apart: how many Elo points it is better than its opponent. first: whether it has seat 1.
    """
    share = min(ratings.draws.value, 1 - 1e-9)
    drawn = 2 * share / (1 - share)
    u = (apart + (1 if first else -1) * ratings.advantage.value) / ELO_PER_NAT
    weights = np.exp(np.array([u / 2, 0.0, -u / 2]) - abs(u) / 2) * np.array([1.0, drawn, 1.0])
    win, draw, loss = weights / weights.sum()
    found: np.ndarray[tuple[int], np.dtype[np.float64]]
    found = np.log(win * np.exp(TILTS) + draw * np.exp(TILTS / 2) + loss)
    return found


def _rings(pairs: Mapping[tuple[str, str], _Pair]) -> Iterator[SuspiciousPattern]:
    """Yield sets of three players that beat each other in a circle, each set once, the first by name first."""
    beats: dict[str, dict[str, int]] = {}
    for (a, b), each in pairs.items():
        if each.games >= LEAST_GAMES:
            if each.points >= SURE * each.games:
                beats.setdefault(a, {})[b] = each.games
            elif each.points <= (1 - SURE) * each.games:
                beats.setdefault(b, {})[a] = each.games
    for a, beaten in sorted(beats.items()):
        for b in sorted(beaten):
            for c in sorted(beats.get(b, {})):
                if a < min(b, c) and a in beats.get(c, {}):
                    games = beaten[b] + beats[b][c] + beats[c][a]
                    reason = (
                        f"{a} beats {b}, {b} beats {c} and {c} beats {a}, each with at least {SURE:.0%} of the points"
                    )
                    yield SuspiciousPattern(FindingKind.RING, (a, b, c), games, reason)


def _given_up(pairs: Mapping[tuple[str, str], _Pair], given_up: Iterable[GivenUp]) -> Iterator[SuspiciousPattern]:
    """Yield pairs that give up games early much more often than all other players do."""
    early: dict[tuple[str, str], int] = {}
    for loser, winner, games in given_up:
        early[loser, winner] = early.get((loser, winner), 0) + games
    total, all_games = sum(early.values()), sum(each.games for each in pairs.values())
    for (loser, winner), games in sorted(early.items()):
        each = pairs.get((min(loser, winner), max(loser, winner)))
        if each is None or each.games < LEAST_GAMES:
            continue
        usual = (total - games + 1) / (all_games - each.games + 2)  # of others, by Laplace's rule of succession
        share = min(1.0, games / each.games)
        chance = min(1.0, len(early) * _binomial_tail(each.games, share, usual))
        if chance < ALPHA:
            reason = f"{loser} gave up early in {games} of {each.games} games against {winner}; usual is {usual:.1%}"
            yield SuspiciousPattern(FindingKind.GIVEN_UP, (loser, winner), games, reason, chance)


def _binomial_tail(games: int, share: float, usual: float) -> float:
    """Return Chernoff's bound of the probability of such a share or more, if each game has the usual probability."""
    if share <= usual:
        return 1.0
    divergence = share * log(share / usual)
    if share < 1:
        divergence += (1 - share) * log((1 - share) / (1 - usual))
    return float(np.exp(-games * divergence))
