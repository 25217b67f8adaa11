"""Comparisons of two players, and leaderboards."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import Reason, Refusal
from arbiter.ratings.comparison import PairedGame, compare, head_to_head, paired
from arbiter.ratings.fit import fit
from arbiter.ratings.leaderboard import ESTABLISHED, PROVISIONAL_ELO, leaderboard
from arbiter.ratings.pairs import Pairs
from arbiter.ratings.rated_matches import Forfeits, Result, counts_of, forfeits_of
from arbiter.ratings.rating_results import SeatScore, WinsDrawsLosses
from arbiter.ratings.sprt import Hypotheses, Verdict
from tests.refusals import refusing

WIN = Result("pods", True, "ann", "bob", "win", 1, "rules")
RESULTS = [
    WIN._replace(games=6),
    WIN._replace(winner=2, games=2, cause="time"),
    WIN._replace(player_1="bob", player_2="ann", result="draw", winner=0, games=3),
    WIN._replace(game="elevation", winner=2),
    WIN._replace(player_2="cid", games=4),
    WIN._replace(player_1="cid", player_2="bob", games=5),
    WIN._replace(rated=False, games=50),
    WIN._replace(result="void", winner=0, games=50),
]


def test_games_of_two_players_are_counted_by_game_and_seat() -> None:
    assert head_to_head("ann", "bob", RESULTS) == (
        SeatScore("elevation", 1, WinsDrawsLosses(0, 0, 1)),
        SeatScore("pods", 1, WinsDrawsLosses(6, 0, 2)),
        SeatScore("pods", 2, WinsDrawsLosses(0, 3, 0)),
    )


def test_a_comparison_has_the_results_of_the_ratings_and_of_the_pairs() -> None:
    ratings = fit(counts_of(RESULTS, "pods"))
    meetings = [PairedGame(f"opening {n}", seat, 2) for n in range(40) for seat in (1, 2)]
    found = compare("ann", "bob", RESULTS, ratings, meetings, Hypotheses(0, 100))
    assert found.total == WinsDrawsLosses(6, 3, 3)
    assert found.total.score == 7.5 / 12
    assert found.fitted is not None
    assert found.fitted.elo == ratings.difference("ann", "bob")
    assert found.fitted.superiority > 0.5
    assert found.pairs == Pairs(two=40)
    assert found.standing.verdict is Verdict.H1
    assert found.evidence.low > 0.5


def test_the_comparison_from_the_other_side_is_reversed() -> None:
    ratings = fit(counts_of(RESULTS))
    there, back = compare("ann", "bob", RESULTS, ratings), compare("bob", "ann", RESULTS, ratings)
    assert back.total == WinsDrawsLosses(*reversed(there.total))
    assert there.fitted is not None
    assert back.fitted is not None
    assert back.fitted.superiority == pytest.approx(1 - there.fitted.superiority, abs=1e-5)


def test_a_player_without_a_rating_is_compared_by_games_alone() -> None:
    found = compare("ann", "nobody", RESULTS, fit(counts_of(RESULTS)))
    assert found.fitted is None
    assert found.total.score is None


def test_games_are_paired_by_their_key_and_with_seats_swapped() -> None:
    games = [
        PairedGame("a", 1, 2),
        PairedGame("b", 1, 0),
        PairedGame("a", 2, 1),
        PairedGame("", 1, 2),
        PairedGame("", 2, 2),
    ]
    assert paired(games) == (Pairs(one_and_a_half=1), 3, 0)
    assert paired([PairedGame("a", 1, 2), PairedGame("a", 1, 2)]) == (Pairs(), 2, 0)  # the same seat twice is no pair


MEETINGS = st.lists(
    st.builds(
        PairedGame,
        st.sampled_from(["", "a", "b"]),
        st.sampled_from((1, 2)),
        st.sampled_from((0, 1, 2)),
        st.sampled_from(["", "x", "y"]),
    )
)


@given(MEETINGS)
def test_every_game_is_in_a_pair_or_has_no_partner(meetings: list[PairedGame]) -> None:
    pairs, unpaired, repeated = paired(meetings)
    assert 2 * (pairs.total + repeated) + unpaired == len(meetings)
    turned = [each._replace(seat=3 - each.seat, points=2 - each.points) for each in meetings]
    assert paired(turned) == (pairs.swapped, unpaired, repeated)


def test_a_repeated_pair_counts_once() -> None:
    pair = [PairedGame("a", 1, 2, "x"), PairedGame("a", 2, 2, "y")]
    copies = [each._replace(key=key) for key in "abcd" for each in pair]
    assert paired(copies) == (Pairs(two=1), 0, 3)
    half_new = [*pair, pair[0]._replace(key="b"), PairedGame("b", 2, 0, "z")]
    assert paired(half_new) == (Pairs(one=1, two=1), 0, 0), "one of its games is new"
    unknown = [each._replace(content="") for each in copies]
    assert paired(unknown) == (Pairs(two=4), 0, 0), "the games may differ"
    swapped = [*pair, *(each._replace(key="b", seat=3 - each.seat, points=2 - each.points) for each in pair)]
    assert paired(swapped) == (Pairs(zero=1, two=1), 0, 0), "with exchanged seats it is another game"


@pytest.mark.long
def test_copies_of_games_do_not_make_equal_deterministic_bots_differ(seeds: int) -> None:
    """Equal bots on five openings, 300 pairs: if copies counted, one would seem better in most records."""
    rng, decided = random.Random(5), 0
    for _ in range(max(40, seeds)):
        points = {(opening, seat): rng.choice((0, 1, 2)) for opening in range(5) for seat in (1, 2)}
        meetings = [
            PairedGame(f"{turn} {turn % 5}", seat, points[turn % 5, seat], f"opening {turn % 5}")
            for turn in range(300)
            for seat in (1, 2)
        ]
        found = compare("ann", "bob", (), None, meetings, Hypotheses(0, 60))
        assert (found.pairs.total, found.repeated) == (5, 295)
        decided += found.standing.verdict is Verdict.H1
    assert decided <= 0.05 * max(40, seeds) + 3


@pytest.mark.parametrize("points", [-1, 3])
def test_only_the_points_of_games_are_accepted(points: int) -> None:
    with refusing(Reason.ARGUMENT_INVALID):
        paired([PairedGame("a", 1, points)])


def test_a_player_is_not_compared_with_itself() -> None:
    with pytest.raises(Refusal):
        compare("ann", "ann", RESULTS)


class TestLeaderboard:
    def test_rows_are_in_order_with_what_is_not_known(self) -> None:
        ratings = fit(counts_of(RESULTS))
        rows = leaderboard(ratings, forfeits_of(RESULTS))
        assert [row.player for row in rows] == [each.player for each in ratings.rated]
        assert [row.place for row in rows] == [1, 2, 3]
        assert all(row.provisional == (row.high - row.low > PROVISIONAL_ELO) for row in rows)
        assert any(row.provisional for row in rows)
        assert next(row for row in rows if row.player == "ann").forfeits == Forfeits(timeouts=2)
        assert rows[-1].above_next is None

    def test_neighbours_share_a_place_unless_their_order_is_established(self) -> None:
        sure = [WIN._replace(games=150), WIN._replace(winner=2, games=50)]
        sure += [each._replace(player_1="bob", player_2="ann", winner=3 - each.winner) for each in sure]
        close = [WIN._replace(player_1="bob", player_2="cid", winner=w, games=100) for w in (1, 2)]
        rows = leaderboard(fit(counts_of([*sure, *close])))
        assert rows[0].player == "ann"
        assert [row.group for row in rows] == [1, 2, 2]
        assert rows[0].above_next is not None
        assert rows[0].above_next >= ESTABLISHED
        assert rows[1].above_next is not None
        assert 0.5 <= rows[1].above_next < ESTABLISHED

    def test_nobody(self) -> None:
        assert leaderboard(fit(counts_of([]))) == ()
