"""Records drawn from the model itself, with known strengths; and agreement with another implementation."""

from collections.abc import Iterable
from itertools import permutations
from math import exp, log

import numpy as np
import pytest
from whr import WHR  # type: ignore[import-untyped]

from arbiter.ratings.counts import Counts, RatedGame
from arbiter.ratings.fit import fit
from arbiter.ratings.model import ELO_PER_NAT, Prior

pytestmark = pytest.mark.long

ADVANTAGE = 50.0
NU = 0.3


def draw_games(rng: np.random.Generator, truth: dict[str, float], pairs: Iterable[tuple[str, str]]) -> list[RatedGame]:
    """Return a game for each (seat 1, seat 2); the true strengths are in Elo."""
    games = []
    for seat1, seat2 in pairs:
        u = (truth[seat1] - truth[seat2] + ADVANTAGE) / ELO_PER_NAT
        win1, win2 = exp(u / 2), exp(-u / 2)
        place = rng.random() * (win1 + win2 + NU)
        games.append(RatedGame(seat1, seat2, 1 if place < win1 else 2 if place < win1 + win2 else 0))
    return games


def field(rng: np.random.Generator, size: int, spread: float) -> dict[str, float]:
    """Return strengths in Elo with mean 0."""
    strengths = rng.normal(0, spread, size)
    strengths -= strengths.mean()
    return {f"p{number}": float(strength) for number, strength in enumerate(strengths)}


def coverage(seeds: int, size: int, cycles: int, spread: float) -> tuple[float, float, float]:
    """Return the shares of intervals that contain the truth: of ratings, of the advantage, of the draws.

    Every two players meet `cycles` times with each seating, with new results for each seed.
    """
    hits = np.zeros(3)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        truth = field(rng, size, spread)
        ratings = fit(Counts.of(draw_games(rng, truth, [*permutations(truth, 2)] * cycles)))
        hits += (
            sum(each.low <= truth[each.player] <= each.high for each in ratings.rated) / size,
            ratings.advantage.low <= ADVANTAGE <= ratings.advantage.high,
            ratings.draws.low <= NU / (2 + NU) <= ratings.draws.high,
        )
    of_ratings, of_advantage, of_draws = (hits / seeds).tolist()
    return of_ratings, of_advantage, of_draws


@pytest.mark.parametrize(
    ("size", "cycles", "spread"),
    [
        (10, 2, 150.0),
        pytest.param(10, 2, 300.0, marks=pytest.mark.soak),
        pytest.param(10, 2, 600.0, marks=pytest.mark.soak),
        pytest.param(10, 2, 800.0, marks=pytest.mark.soak),
        (6, 5, 400.0),
    ],
)
def test_95_in_100_intervals_contain_the_truth(size: int, cycles: int, spread: float) -> None:
    of_ratings, of_advantage, of_draws = coverage(60, size, cycles, spread)
    assert of_ratings == pytest.approx(0.955, abs=0.025)
    # One number for each seed.
    assert of_advantage > 0.88
    assert of_draws > 0.88


def test_with_many_games_the_fit_finds_the_truth() -> None:
    rng = np.random.default_rng(7)
    truth = field(rng, 8, 250.0)
    ratings = fit(Counts.of(draw_games(rng, truth, [*permutations(truth, 2)] * 300)))
    error = [each.rating - truth[each.player] for each in ratings.rated]
    assert max(map(abs, error)) < 30
    assert ratings.advantage.value == pytest.approx(ADVANTAGE, abs=10)
    assert ratings.draws.value == pytest.approx(NU / (2 + NU), abs=0.01)
    assert ratings.advantage.high - ratings.advantage.low < 15


def test_agreement_with_whole_history_rating() -> None:
    """On one day, whole-history rating is the same model with another prior; both priors are made weak.

    Its prior is a share of virtual games instead of a Gaussian. Its handicap category is our advantage of seat 1.
    """
    rng = np.random.default_rng(3)
    truth = field(rng, 8, 250.0)
    games = draw_games(rng, truth, [*permutations(truth, 2)] * 5)
    ours = fit(
        Counts.of(games),
        Prior(spread=100_000, spread_doubt=0, pair_spread=0, advantage_spread=100_000, draws_spread=100),
    )

    theirs = WHR({"initial_prior_wins": 1e-3})
    for game in games:
        theirs.create_game(game.seat1, game.seat2, "DBW"[game.winner], 1, 1)
    theirs.iterate(30)
    assert theirs.max_gradient_norm() < 1e-3
    rating = {player: theirs.players[player].days[-1].elo for player in truth}
    mean = sum(rating.values()) / len(rating)

    for each in ours.rated:
        assert each.rating == pytest.approx(rating[each.player] - mean, abs=0.2)
    advantage = ELO_PER_NAT * log(theirs.handicap_gamma[1])
    assert ours.advantage.value == pytest.approx(advantage, abs=0.05)
    assert ours.draws.value == pytest.approx(WHR.draw_rate_from_nu(theirs.nu), abs=1e-4)
