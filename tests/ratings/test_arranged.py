"""Arranged results are found, and honest ones are not reported."""

from __future__ import annotations

from itertools import combinations
from math import exp

import numpy as np
import pytest

from arbiter.ratings.arranged import FindingKind, GivenUp, SuspiciousPattern, arranged
from arbiter.ratings.counts import Counts, PairCount, RatedGame
from arbiter.ratings.model import ELO_PER_NAT

pytestmark = pytest.mark.long

FIELD = {f"p{number}": 120.0 * number for number in range(6)}


def honest(seed: int, games: int = 12) -> Counts:
    """Return a round robin drawn from strengths, with this many games for each pair and seating."""
    rng = np.random.default_rng(seed)
    pairs = []
    for a, b in combinations(FIELD, 2):
        for one, two in ((a, b), (b, a)):
            u = (FIELD[one] - FIELD[two]) / ELO_PER_NAT
            weights = np.array([exp(u / 2), 0.3, exp(-u / 2)])
            wins1, draws, wins2 = rng.multinomial(games, weights / weights.sum()).tolist()
            pairs.append(PairCount(one, two, wins1, draws, wins2))
    return Counts(tuple(sorted(FIELD)), tuple(sorted(pairs)))


def found(counts: Counts, kind: FindingKind, given_up: tuple[GivenUp, ...] = ()) -> list[SuspiciousPattern]:
    return [each for each in arranged(counts, given_up) if each.kind is kind]


def test_honest_records_are_not_reported() -> None:
    early = tuple(GivenUp(a, b, 1) for a, b in combinations(FIELD, 2))
    assert [finding for seed in range(5) for finding in arranged(honest(seed), early)] == []


def test_players_who_play_only_each_other_are_a_cluster() -> None:
    counts = honest(1).add(
        [RatedGame("x", "y", 1), RatedGame("y", "z", 1), RatedGame("z", "x", 0)] * 15 + [RatedGame("x", "p1", 2)]
    )
    (cluster,) = found(counts, FindingKind.CLUSTER)
    assert cluster.players == ("x", "y", "z")
    assert cluster.games == 45
    assert "99%" in cluster.reason


def test_a_weak_player_who_always_beats_the_strongest_is_improbable() -> None:
    counts = honest(2).add([RatedGame("p0", "p5", 1), RatedGame("p5", "p0", 2)] * 25)
    (finding,) = found(counts, FindingKind.IMPROBABLE)
    assert finding.players == ("p0", "p5")
    assert finding.probability is not None
    assert finding.probability < 0.01


def test_wins_around_a_circle_are_a_ring() -> None:
    ring = [RatedGame("x", "y", 1), RatedGame("y", "z", 1), RatedGame("z", "x", 1)] * 10
    mixed = [RatedGame(player, "p3", winner) for player in "xyz" for winner in (1, 2)] * 10
    (finding,) = found(honest(3).add([*ring, *mixed]), FindingKind.RING)
    assert finding.players == ("x", "y", "z")
    assert finding.games == 30


def test_early_resignations_to_one_player_are_reported() -> None:
    early = (GivenUp("p1", "p2", 20), GivenUp("p3", "p4", 1), GivenUp("p0", "nobody", 9))
    (finding,) = found(honest(4), FindingKind.GIVEN_UP, early)
    assert finding.players == ("p1", "p2")
    assert finding.games == 20


def test_empty_records_and_two_players_alone() -> None:
    assert arranged(Counts()) == ()
    assert (
        arranged(Counts.of([RatedGame("a", "b", 1)] * 100)) == ()
    )  # two players are no cluster if there are no others
