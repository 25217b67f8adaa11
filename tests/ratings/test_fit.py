import random
from itertools import permutations
from math import isfinite

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.errors import Reason, Refusal
from arbiter.ratings.counts import Counts, PairCount, RatedGame
from arbiter.ratings.fit import FittedRatings, fit
from arbiter.ratings.model import Posterior, Prior
from arbiter.ratings.normal import maximum
from arbiter.ratings.outcomes import Vector
from arbiter.ratings.scales import Scales
from tests.refusals import refusing

PLAYERS = ["ann", "bob", "cid", "Dee", "élan", "fay"]
GAMES = st.lists(
    st.builds(RatedGame, st.sampled_from(PLAYERS), st.sampled_from(PLAYERS), st.sampled_from((0, 1, 2))).filter(
        lambda game: game.seat1 != game.seat2
    ),
    max_size=60,
)
ANCHORS = st.dictionaries(st.sampled_from([*PLAYERS, "gus"]), st.floats(-3000, 3000), max_size=3)

MIXED = Counts.of(
    [RatedGame(a, b, ((len(a) * 7 + ord(b[0])) % 3)) for a, b in permutations(PLAYERS, 2)]  # type: ignore[arg-type]
    + [RatedGame("ann", "bob", 1), RatedGame("ann", "cid", 1), RatedGame("fay", "Dee", 0)]
)


def sane(ratings: FittedRatings) -> bool:
    estimates = [*(each[1:4] for each in ratings.rated), ratings.advantage, ratings.draws]
    return all(all(map(isfinite, numbers)) and numbers[1] <= numbers[0] <= numbers[2] for numbers in estimates)


def everything(posterior: Posterior, x: Vector, scales: Scales) -> Vector:
    """Return the gradient for all parameters, from finite differences of the value."""
    width = 1e-4
    steps = width * np.eye(len(x))
    return np.array(
        [(posterior.value(x + step, scales) - posterior.value(x - step, scales)) / (2 * width) for step in steps]
    )


def test_repeated_games_have_the_score_of_all_and_the_information_of_one() -> None:
    once = fit(MIXED)
    five_times = tuple(
        PairCount(p.seat1, p.seat2, 5 * p.wins1, 5 * p.draws, 5 * p.wins2, 4 * (p.wins1 + p.draws + p.wins2))
        for p in MIXED.pairs
    )
    copied = fit(Counts(MIXED.players, five_times))
    assert [each.games for each in copied.rated] == [5 * each.games for each in once.rated]
    assert [each[:4] for each in copied.rated] == [each[:4] for each in once.rated]
    assert copied.difference("ann", "bob") == once.difference("ann", "bob")
    as_new = fit(Counts(MIXED.players, tuple(each._replace(repeated=0) for each in five_times)))
    assert as_new.difference("ann", "bob").high < once.difference("ann", "bob").high, "narrower"


@pytest.mark.long
@settings(deadline=None, max_examples=15)
@given(GAMES, ANCHORS, st.integers(0, 2**32 - 1), st.sampled_from((0.0, 25.0, 300.0)))
def test_derivatives_match_finite_differences(
    games: list[RatedGame], anchors: dict[str, float], seed: int, pair_spread: float
) -> None:
    prior = Prior(pair_spread=pair_spread)
    posterior = Posterior(Counts.of(games, ["ann@1", "ann@2", "ann@10"]), prior, anchors)
    rng = np.random.default_rng(seed)
    size, founders = posterior.size + 2, len(posterior.founders)
    # Each term has its own variance, and the field has two groups.
    scales = posterior.scales(prior)._replace(
        founders=rng.uniform(0.5, 4, founders), groups=np.arange(founders) % 2, between=3.0
    )
    scales = scales._replace(steps=rng.uniform(0.1, 1, len(scales.steps)))
    scales = scales._replace(pairs=scales.pairs * rng.uniform(0.5, 2, len(scales.pairs)))
    x = posterior.start + rng.normal(0, 1, len(posterior.start))
    if not pair_spread:
        x[size:] = 0
    bend = posterior.bend(x, scales)
    # A Newton step of all parameters at once must agree with the solver, which eliminates the pair effects first.
    free = np.flatnonzero([*posterior.free, *[bool(pair_spread)] * (len(x) - size)])
    gradient = everything(posterior, x, scales)[free]
    width = 1e-3
    hessian = np.array(
        [
            (everything(posterior, x + step, scales) - everything(posterior, x - step, scales))[free] / (2 * width)
            for step in width * np.eye(len(x))[free]
        ]
    )
    whole = np.zeros(len(x))
    whole[free] = np.linalg.solve(-hessian, gradient)
    inner = np.ix_(posterior.free, posterior.free)
    count = int(posterior.free.sum())
    inverse = np.linalg.inv(-hessian)[:count, :count]
    np.testing.assert_allclose(np.linalg.inv(posterior.precision(bend, scales)[inner]), inverse, rtol=1e-3, atol=2e-3)
    step = np.zeros(size)
    step[posterior.free] = np.linalg.solve(posterior.precision(bend, scales)[inner], bend.gradient[posterior.free])
    np.testing.assert_allclose(posterior.whole(bend, scales, step), whole, rtol=1e-3, atol=1e-2)


@settings(deadline=None, max_examples=15)
@given(GAMES, ANCHORS)
def test_the_gradient_is_zero_at_the_optimum(games: list[RatedGame], anchors: dict[str, float]) -> None:
    posterior = Posterior(Counts.of(games, ["ann"]), Prior(), anchors)
    scales = posterior.scales(Prior())
    x = maximum(posterior, scales)
    bend = posterior.bend(x, scales)
    np.testing.assert_allclose(bend.gradient[posterior.free], 0, atol=1e-9)
    np.testing.assert_allclose(bend.pull, 0, atol=1e-9)
    assert np.linalg.eigvalsh(posterior.precision(bend, scales)[np.ix_(posterior.free, posterior.free)]).min() > 0
    fixed = np.flatnonzero(~posterior.free)
    np.testing.assert_array_equal(x[fixed], posterior.start[fixed])


@pytest.mark.long
@settings(deadline=None, max_examples=15)
@given(GAMES, st.randoms(use_true_random=False))
def test_the_order_of_games_does_not_matter_to_the_last_bit(games: list[RatedGame], chance: random.Random) -> None:
    shuffled = chance.sample(games, len(games))
    ratings, again = fit(Counts.of(games)), fit(Counts.of(shuffled))
    assert again == ratings
    assert repr(again) == repr(ratings)


@pytest.mark.long
@settings(deadline=None, max_examples=15)
@given(GAMES)
def test_without_anchors_the_mean_is_zero(games: list[RatedGame]) -> None:
    ratings = fit(Counts.of(games, PLAYERS))
    assert sum(each.rating for each in ratings.rated) == pytest.approx(0, abs=0.01)
    assert sane(ratings)
    assert sum(each.games for each in ratings.rated) == 2 * len(games)


def test_equal_records_give_equal_ratings() -> None:
    games = [RatedGame(a, b, winner) for a, b in permutations(PLAYERS, 2) for winner in (0, 1, 1, 2)]
    ratings = fit(Counts.of(games))
    assert [each.rating for each in ratings.rated] == [0.0] * 6
    assert [each.player for each in ratings.rated] == sorted(PLAYERS)
    assert len({(each.low, each.high) for each in ratings.rated}) == 1
    assert ratings.advantage.low > 0


def test_exchanged_seats_reverse_the_advantage() -> None:
    turned = Counts.of(
        [
            RatedGame(pair.seat2, pair.seat1, winner)  # type: ignore[arg-type]
            for pair in MIXED.pairs
            for winner, count in ((2, pair.wins1), (0, pair.draws), (1, pair.wins2))
            for _ in range(count)
        ]
    )
    ratings, other = fit(MIXED), fit(turned)
    for each in ratings.rated:
        assert other.of(each.player).rating == pytest.approx(each.rating, abs=0.002)
        assert other.of(each.player).low == pytest.approx(each.low, abs=0.002)
    assert other.advantage.value == pytest.approx(-ratings.advantage.value, abs=0.002)
    assert other.draws == ratings.draws


def test_more_wins_give_a_higher_rating_and_more_games_narrower_intervals() -> None:
    base = fit(MIXED)
    more = fit(MIXED.add([RatedGame("cid", "ann", 1)] * 5))
    assert more.difference("cid", "ann").value > base.difference("cid", "ann").value
    # Nine identical results would be evidence that pairs differ; here the prior excludes that.
    known = Prior(pair_doubt=0)
    nine = Counts(MIXED.players, tuple(p._replace(wins1=9 * p.wins1, draws=9 * p.draws, wins2=9 * p.wins2)
                                       for p in MIXED.pairs))  # fmt: skip
    once = fit(MIXED, known)
    for each in fit(nine, known).rated:
        width, before = each.high - each.low, once.of(each.player).high - once.of(each.player).low
        assert before / 3.5 < width < before / 2.5


def test_an_anchor_shifts_the_scale_and_changes_no_difference() -> None:
    free, anchored = fit(MIXED), fit(MIXED, anchors={"ann": 1500.0})
    assert anchored.of("ann")[1:4] == (1500.0, 1500.0, 1500.0)
    for a, b in permutations(PLAYERS, 2):
        assert anchored.difference(a, b) == pytest.approx(free.difference(a, b), abs=0.005)
    bob = anchored.of("bob")
    assert (bob.low - 1500, bob.high - 1500) == pytest.approx(free.difference("bob", "ann")[1:], abs=0.005)
    assert anchored.advantage == pytest.approx(free.advantage, abs=0.005)


def test_two_anchors_hold() -> None:
    ratings = fit(MIXED, anchors={"ann": 1000.0, "bob": 1200.0, "gus": 800.0})
    assert [ratings.of(player).rating for player in ("ann", "bob", "gus")] == [1000.0, 1200.0, 800.0]
    assert ratings.of("gus").games == 0
    assert sane(ratings)


def test_the_difference_is_the_same_from_either_side() -> None:
    ratings = fit(MIXED)
    there, back = ratings.difference("ann", "bob"), ratings.difference("bob", "ann")
    assert there == pytest.approx((-back.value, -back.high, -back.low))
    assert there.low < there.value < there.high
    assert ratings.difference("ann", "ann") == (0.0, 0.0, 0.0)


class TestExtremes:
    def test_nobody(self) -> None:
        ratings = fit(Counts())
        assert ratings.rated == ()
        assert ratings.advantage.value == 0
        assert ratings.draws.value == pytest.approx(Prior().draws)

    def test_one_player_is_the_mean(self) -> None:
        (alone,) = fit(Counts.of([], ["ann"])).rated
        assert alone == ("ann", 0.0, 0.0, 0.0, 0)

    def test_no_games(self) -> None:
        ratings = fit(Counts.of([], PLAYERS))
        assert {each.rating for each in ratings.rated} == {0.0}
        # The prior's own interval: ±1.96 standard deviations, less the part shared with the mean.
        spread = Prior().spread * (1 - 1 / len(PLAYERS)) ** 0.5
        assert ratings.rated[0].high == pytest.approx(1.96 * spread, rel=1e-3)

    @pytest.mark.long
    @pytest.mark.parametrize("games", [1, 100, 1_000_000])
    def test_one_wins_all(self, games: int) -> None:
        ratings = fit(
            Counts(("ann", "bob"), (PairCount("ann", "bob", games, 0, 0), PairCount("bob", "ann", 0, 0, games)))
        )
        assert sane(ratings)
        assert 100 < ratings.difference("ann", "bob").value < 6000
        assert ratings.advantage.value == pytest.approx(0, abs=0.01)

    @pytest.mark.parametrize("winner", [0, 1, 2])
    def test_every_game_ends_alike(self, winner: int) -> None:
        ratings = fit(Counts.of([RatedGame(a, b, winner) for a, b in permutations(PLAYERS, 2)] * 50))  # type: ignore[arg-type]
        assert sane(ratings)
        assert {each.rating for each in ratings.rated} == {0.0}
        assert np.sign(ratings.advantage.value) == (0, 1, -1)[winner]
        assert (ratings.draws.value > 0.5) == (winner == 0)

    def test_groups_that_never_met_differ_by_no_more_than_the_prior_allows(self) -> None:
        met = [("ann", "bob"), ("bob", "ann"), ("cid", "Dee"), ("Dee", "cid")]
        ratings = fit(Counts.of([RatedGame(a, b, winner) for a, b in met for winner in (1, 2)] * 200))
        within, across = ratings.difference("ann", "bob"), ratings.difference("ann", "cid")
        assert sane(ratings)
        assert across.value == pytest.approx(0, abs=0.01)
        assert across.high > 3 * within.high > 0
        assert across.high > 150


def test_unknown_players() -> None:
    with refusing(Reason.PLAYER_NOT_FOUND):
        fit(MIXED).difference("ann", "nobody")


@pytest.mark.parametrize("rating", [float("nan"), float("inf"), -10_001.0])
def test_refused_anchors(rating: float) -> None:
    with refusing(Reason.ARGUMENT_INVALID):
        fit(MIXED, anchors={"ann": rating})


@pytest.mark.parametrize(
    ("field", "value"),
    [("spread", 0.0), ("spread", float("nan")), ("advantage_spread", 1e9), ("draws_spread", -1.0), ("draws", 0.0),
     ("draws", 1.0)],
)  # fmt: skip
def test_refused_priors(field: str, value: float) -> None:
    with pytest.raises(Refusal) as refusal:
        Prior(**{field: value})
    assert refusal.value.facts["where"] == field


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(1.0, 1.0, 0.01), (100_000.0, 100_000.0, 100.0)])
def test_the_narrowest_and_the_widest_prior(sizes: tuple[float, float, float]) -> None:
    prior = Prior(spread=sizes[0], advantage_spread=sizes[1], draws=0.5, draws_spread=sizes[2])
    for counts in (MIXED, Counts.of([RatedGame("ann", "bob", 1)] * 30), Counts()):
        assert sane(fit(counts, prior))
        assert sane(fit(counts, prior, {"ann": 10_000.0, "bob": -10_000.0}))


class TestVersions:
    GAMES = [RatedGame("orca@1", "seal", 1), RatedGame("seal", "orca@1", 2), RatedGame("seal", "orca@1", 0)] * 10

    def test_a_new_version_begins_at_the_rating_of_the_one_before_with_more_uncertainty(self) -> None:
        ratings = fit(Counts.of(self.GAMES, ["orca@2"]))
        old, new = ratings.of("orca@1"), ratings.of("orca@2")
        assert new.games == 0
        assert new.rating == pytest.approx(old.rating, abs=0.01)
        assert new.high - new.low > old.high - old.low
        step = ratings.difference("orca@2", "orca@1")
        assert step.high == pytest.approx(1.96 * Prior().version_spread, rel=0.01)

    @pytest.mark.long
    def test_games_of_a_version_give_a_little_information_about_the_one_before(self) -> None:
        before = fit(Counts.of(self.GAMES, ["orca@2"]))
        after = fit(Counts.of([*self.GAMES, *[RatedGame("orca@2", "seal", 2)] * 10], ["orca@2"]))
        assert after.difference("orca@2", "orca@1").value < before.difference("orca@2", "orca@1").value - 20
        assert after.difference("orca@1", "seal").value < before.difference("orca@1", "seal").value

    def test_an_unknown_version_is_not_another_player(self) -> None:
        alone, together = (fit(Counts.of(self.GAMES, others)) for others in ([], ["orca@2"]))
        assert together.difference("orca@1", "seal") == pytest.approx(alone.difference("orca@1", "seal"), abs=0.5)


def test_further_games_of_a_pair_give_ever_less_information() -> None:
    def width(games: int, pair_spread: float) -> float:
        counts = Counts(
            ("ann", "bob"), (PairCount("ann", "bob", games, 0, games), PairCount("bob", "ann", games, 0, games))
        )
        estimate = fit(counts, Prior(pair_spread=pair_spread)).difference("ann", "bob")
        return estimate.high - estimate.low

    assert width(10_000, 0) == pytest.approx(width(100, 0) / 10, rel=0.05)
    assert width(10_000, 25) > 2 * 1.95 * 25
    assert width(10_000, 25) > 0.6 * width(100, 25)


def test_superiority_is_what_the_difference_says() -> None:
    ratings = fit(MIXED)
    assert ratings.superiority("ann", "ann") == 0.5
    assert ratings.superiority("ann", "bob") == pytest.approx(1 - ratings.superiority("bob", "ann"), abs=1e-5)
    assert (ratings.superiority("ann", "bob") > 0.975) == (ratings.difference("ann", "bob").low > 0)
