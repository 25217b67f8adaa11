"""Ratings of thousands of players: without a matrix of all of them, and with the same numbers as with one."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from resource import RUSAGE_SELF, getrusage
from time import process_time

import numpy as np
import pytest

from arbiter.ratings import normal
from arbiter.ratings.counts import Counts, PairCount
from arbiter.ratings.fit import Rated, fit
from arbiter.ratings.model import ELO_PER_NAT
from arbiter.ratings.sparse import ERROR

PLAYERS = 150


def sparse_record(players: int, games: int, seed: int = 1) -> Counts:
    """Return a record in which each player has about this many games against random others; some have two versions."""
    rng = np.random.default_rng(seed)
    names = [f"p{number:05}" for number in range(players)]
    names[1::10] = [f"{name}@2" for name in names[::10]]
    strength = rng.normal(0, 300, players)
    rows: dict[tuple[str, str], list[int]] = {}
    for one in range(players):
        for other in (one + rng.integers(1, players, games // 2)) % players:
            if names[one].partition("@")[0] == names[other].partition("@")[0]:
                continue
            u = (strength[one] - strength[other]) / ELO_PER_NAT
            weights = np.exp([u / 2, -1.2, -u / 2])
            result = int(rng.choice(3, p=weights / weights.sum()))
            rows.setdefault((names[one], names[other]), [0, 0, 0])[result] += 1
    return Counts(tuple(sorted(names)), tuple(sorted(PairCount(*pair, *row) for pair, row in rows.items())))


@pytest.mark.long
@pytest.mark.parametrize("anchors", [{}, {"p00005": 100.0, "p00017": -200.0}], ids=["free", "anchored"])
def test_sampled_intervals_agree_with_the_matrix(anchors: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    counts = sparse_record(PLAYERS, 16)
    exact = fit(counts, anchors=anchors)
    monkeypatch.setattr(normal, "MATRIX", 100)
    sampled = fit(counts, anchors=anchors)
    others = [each for each in exact.rated if each.player not in anchors]
    assert max(abs(sampled.of(each.player).rating - each.rating) for each in exact.rated) < 2
    ratios = [(of.high - of.low) / (each.high - each.low) for each in others for of in [sampled.of(each.player)]]
    assert np.std(ratios) < ERROR
    assert abs(np.mean(ratios) - 1) < 0.01
    assert sampled.spread == pytest.approx(exact.spread, rel=0.01)
    for end, of in zip(sampled.advantage, exact.advantage, strict=True):
        assert end == pytest.approx(of, abs=1)
    for above, below in pairwise(others):
        one, two = (each.difference(above.player, below.player) for each in (exact, sampled))
        assert two.high - two.low == pytest.approx(one.high - one.low, rel=6 * ERROR)
        superiority = (each.superiority(above.player, below.player) for each in (exact, sampled))
        assert abs(next(superiority) - next(superiority)) < 0.02


@pytest.mark.long
def test_thousands_of_players_get_the_same_ratings_each_time_within_bounds(
    seeds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make soak` rates 10,000 players with 20 games each, within 20 s of processor time and 1 GB.

    The worker process of a server computes in one thread too.
    """
    players, games = (10_000, 20) if seeds > 20 else (normal.MATRIX + 100, 8)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        ratings, seconds, megabytes = process.submit(rated_apart, players, games).result()
    assert len(ratings) == players
    assert ratings == fit(sparse_record(players, games)).rated
    assert all(each.low < each.rating < each.high for each in ratings)
    assert seconds < 20, "14 to 15 s for 10,000 on a quiet machine"
    assert megabytes < 1_000


def rated_apart(players: int, games: int) -> tuple[tuple[Rated, ...], float, float]:
    """Return the ratings of a record, the processor time in seconds, and the memory of this process in MB."""
    counts = sparse_record(players, games)
    began = process_time()
    ratings = fit(counts)
    return ratings.rated, process_time() - began, getrusage(RUSAGE_SELF).ru_maxrss * 1024 / 1e6
