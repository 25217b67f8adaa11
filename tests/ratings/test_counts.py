import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import Reason
from arbiter.ratings.counts import Counts, PairCount, RatedGame
from tests.refusals import refusing

NAMES = st.sampled_from(["ann", "bob", "cid", "Dee", "élan"])
GAMES = st.lists(
    st.builds(RatedGame, NAMES, NAMES, st.sampled_from((0, 1, 2))).filter(lambda game: game.seat1 != game.seat2),
    max_size=30,
)


def test_games_are_counted_by_pair_and_seat() -> None:
    games = [
        RatedGame("b", "a", 1),
        RatedGame("a", "b", 0),
        RatedGame("b", "a", 2),
        RatedGame("b", "a", 1),
        RatedGame("a", "c", 2),
    ]
    counts = Counts.of(games, players=["z"])
    assert counts.players == ("a", "b", "c", "z")
    assert counts.pairs == (PairCount("a", "b", 0, 1, 0), PairCount("a", "c", 0, 0, 1), PairCount("b", "a", 2, 0, 1))
    assert counts.games == 5


@given(GAMES, st.integers(0, 30), st.randoms(use_true_random=False))
def test_counts_depend_neither_on_order_nor_on_portions(
    games: list[RatedGame], cut: int, chance: random.Random
) -> None:
    whole = Counts.of(games)
    shuffled = chance.sample(games, len(games))
    assert Counts.of(shuffled[:cut]).add(shuffled[cut:]) == whole
    assert hash(Counts.of(shuffled)) == hash(whole)


def test_adding_makes_a_new_value() -> None:
    before = Counts.of([RatedGame("a", "b", 1)])
    after = before.add([RatedGame("a", "b", 1)], players=["c"])
    assert before == Counts(("a", "b"), (PairCount("a", "b", 1, 0, 0),))
    assert after == Counts(("a", "b", "c"), (PairCount("a", "b", 2, 0, 0),))


def test_added_games_do_not_count_as_repetitions() -> None:
    before = Counts(("a", "b"), (PairCount("a", "b", 2, 0, 1, 1),))
    assert before.add([RatedGame("a", "b", 0)]).pairs == (PairCount("a", "b", 2, 1, 1, 1),)


@pytest.mark.parametrize(
    ("game", "where"), [(("a", "a", 1), "seat2"), (("a", "b", 3), "winner"), (("a", "b", None), "winner")]
)
def test_refusals(game: tuple[str, str, int], where: str) -> None:
    with refusing(Reason.ARGUMENT_INVALID) as refusal:
        Counts.of([RatedGame(*game)])  # type: ignore[arg-type]
    assert refusal.value.facts["where"] == where
