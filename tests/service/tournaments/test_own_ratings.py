"""A ladder is ordered by a fit of its own games: a player who wins more of its games is above one who plays more."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import cast

import pytest
import structlog

from arbiter.errors import Reason, Refusal
from arbiter.ratings.counts import Counts, RatedGame
from arbiter.ratings.fit import fit
from arbiter.ratings.rated_matches import Result
from arbiter.ratings.rating_results import RatingList
from arbiter.service.ratings.rating_work import InProcessRating
from arbiter.service.tournaments.own_ratings import own_ratings
from arbiter.service.tournaments.standings_cache import StandingsCache
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments.game_ends import Winner
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.standings import rated_games


class Broken:
    """A rater that fails."""

    async def fit(self, results: Sequence[Result]) -> RatingList:
        raise Refusal(Reason.BUDGET_SPENT, "not now", limit=1, retry_after_ms=0)


def ladder(players: int) -> TournamentRun:
    options = Options(validation=False, duration_ms=10_000_000)
    return TournamentRun(
        Spec("test", Format.LADDER, ("hop-it",), "1s", paired=False, options=options), players, random.Random(1)
    )


def met(
    tournament_run: TournamentRun, first: str, second: str, winners: Sequence[Winner], moves: Sequence[str] = ()
) -> None:
    """Let two players meet this many times, with these seats; moves: of each game, if they are known."""
    for place, winner in enumerate(winners):
        free = tuple(tournament_run.tournament.players)
        pair = do.Arrange(
            tournament_run.tournament.revision, tournament_run.tournament.rounds + 1, (Pair(first, second),), (), free
        )
        assert tournament_run.act(pair).events
        number = len(tournament_run.tournament.games)
        tournament_run.act(do.Begin(number, 1, f"m{number}"))
        tournament_run.act(
            do.ReportResult(
                *(number, f"m{number}", winner, "by play", "rules", moves[place] if moves else ""),
                versions=tournament_run.versions_of(tournament_run.tournament.games[-1]),
            )
        )


def played() -> TournamentRun:
    """Return a ladder in which p000 has won all its 13 games, and p001 30 of 57, most against weak players."""
    tournament_run = ladder(6)
    for other in ("p001", "p002", "p003", "p004"):
        met(tournament_run, "p000", other, [1, 1, 1])
    met(tournament_run, "p000", "p001", [1])
    results: dict[str, list[Winner]] = {"p002": [1, 2], "p003": [1, 1, 1, 2], "p004": [1, 1, 2]}
    for other, winners in results.items():
        met(tournament_run, "p001", other, winners * 6)
    met(tournament_run, "p005", "p004", [1])
    return tournament_run


async def test_the_strongest_player_is_first_not_the_one_with_most_wins() -> None:
    tournament_run = played()
    rows = (await StandingsCache(structlog.get_logger(), InProcessRating()).of(tournament_run.tournament)).rows
    by_name = {row.player: row for row in rows}
    assert by_name["p001"].wins > by_name["p000"].wins
    assert rows[0].player == "p000"
    assert rows[0].rating is not None
    assert rows[0].rating.low < rows[0].rating.elo < rows[0].rating.high
    keys = [(not row.rating.provisional, row.rating.elo) for row in rows if row.rating is not None]
    assert len(keys) == len(rows)
    assert keys == sorted(keys, reverse=True)


async def test_players_with_few_opponents_are_listed_separately_at_the_end() -> None:
    rows = (await StandingsCache(structlog.get_logger(), InProcessRating()).of(played().tournament)).rows
    ratings = [row.rating for row in rows if row.rating is not None]
    provisional = [rating.provisional for rating in ratings]
    assert provisional == sorted(provisional)
    assert set(provisional) == {False, True}
    [newcomer] = [row.rating for row in rows if row.player == "p005"]
    assert newcomer is not None
    assert newcomer.provisional
    assert newcomer.elo > ratings[-1].elo


async def test_the_ratings_can_be_computed_from_the_log() -> None:
    tournament = played().tournament
    again = fit(Counts.of(RatedGame(*game[:3]) for game in rated_games(tournament)))
    found = await own_ratings(tournament, InProcessRating())
    assert {each.player: (each.rating, each.low, each.high) for each in again.rated} == {
        player: (rating.elo, rating.low, rating.high) for player, rating in found.items()
    }


async def test_a_repeated_game_adds_no_certainty() -> None:
    found = []
    for times in (1, 10):
        tournament_run = ladder(2)
        moves = ("won in seat 1", "won in seat 2", "drawn")
        met(tournament_run, "p000", "p001", [1, 2, 0] * times, moves * times)
        met(tournament_run, "p001", "p000", [2, 2, 1] * times, moves * times)
        found.append(await own_ratings(tournament_run.tournament, InProcessRating()))
    once, ten_times = found
    assert ten_times == once
    new = ladder(2)
    met(new, "p000", "p001", [1, 2, 0] * 10, [str(number) for number in range(30)])
    met(new, "p001", "p000", [2, 2, 1] * 10, [str(number) for number in range(30)])
    certain = (await own_ratings(new.tournament, InProcessRating()))["p000"]
    assert certain.high - certain.low < 0.6 * (once["p000"].high - once["p000"].low), "thirty games with other moves"


STRENGTHS = (0, -200, -100, 0, 100, 200, 300)
BETTER = 400  #: by so much the second version of p000 is better
SEATS_S = 30  #: a game's seconds


def returning(seed: int, before: int, after: int, versions: bool = True) -> TournamentRun:
    """Return a ladder in virtual time in which p000 comes back as a better version after so many games of it.

    versions: whether the record has the versions.
    """
    run, lots = ladder(len(STRENGTHS)), random.Random(seed)
    run.result = lambda game: (
        1 if lots.random() < 1 / (1 + 10 ** ((strength(game.seat2) - strength(game.seat1)) / 400)) else 2
    )

    def strength(player: str) -> int:
        return STRENGTHS[int(player[1:])] + (BETTER if player == "p000" and run.versions[player] == "1.1" else 0)

    for version, games in (("1.0", before), ("1.1", before + after)):
        run.versions["p000"] = version
        while len(run.tournament.meetings_of["p000"]) < games:
            run.play_free(run.now + 1_000, lambda game: SEATS_S * 1_000)
        run.play_free(run.now + SEATS_S * 1_000, lambda game: SEATS_S * 1_000)
    if not versions:
        for number, result in run.tournament.results.items():
            run.tournament.results[number] = result._replace(versions=())
    return run


@pytest.mark.long
async def test_a_bot_that_comes_back_400_elo_better_is_rated_so_soon() -> None:
    """After 100 games of the first version and 20 of the second: by name alone, it would be 200 behind."""
    mean = sum(STRENGTHS) / len(STRENGTHS)
    errors, held, by_name = [], 0, []
    for seed in range(4):
        found = (await own_ratings(returning(seed, 100, 20).tournament, InProcessRating()))["p000"]
        others = await own_ratings(returning(seed, 100, 20, versions=False).tournament, InProcessRating())
        errors.append(found.elo - (BETTER - mean))
        by_name.append(others["p000"].elo - (BETTER - mean))
        held += found.low <= BETTER - mean <= found.high
    assert held >= 3
    assert abs(sum(errors) / 4) < 100
    assert sum(by_name) / 4 < -150


@pytest.mark.long
async def test_the_row_of_a_player_is_the_version_with_which_it_has_played_last() -> None:
    """Also if that is an older one again; the opponents of the other versions do not count for it."""
    run = ladder(5)
    for version, winner in (("1.0", 1), ("2.0", 2), ("1.0", 1)):
        run.versions["p000"] = version
        for other in ("p001", "p002", "p003", "p004")[: 4 if version == "1.0" else 1]:
            met(run, "p000", other, [cast("Winner", winner)] * 4)
    found = await own_ratings(run.tournament, InProcessRating())
    assert set(found) == {f"p00{number}" for number in range(5)}
    assert found["p000"].elo > max(found[f"p00{number}"].elo for number in range(1, 5))
    assert not found["p000"].provisional
    met(run, "p001", "p002", [0])
    run.versions["p000"] = "3.0"
    met(run, "p000", "p001", [1])
    assert (await own_ratings(run.tournament, InProcessRating()))["p000"].provisional


async def test_a_game_without_versions_counts_for_the_version_that_entered() -> None:
    """Records of earlier servers have none."""
    run = ladder(3)
    met(run, "p000", "p001", [1, 2])
    assert {each.version1 for each in rated_games(run.tournament)} == {""}
    run.tournament.entrants["p000"] = run.tournament.entrants["p000"]._replace(version="1.0")
    run.versions["p000"] = "1.1"
    met(run, "p000", "p002", [1])
    assert [each.version1 for each in rated_games(run.tournament)] == ["1.0", "1.0", "1.1"]


async def test_without_ratings_there_is_a_table_nevertheless() -> None:
    tournament = played().tournament
    rows = (await StandingsCache(structlog.get_logger(), Broken()).of(tournament)).rows
    assert [row.rating for row in rows] == [None] * 6
    assert rows[0].player == "p001"


async def test_other_formats_show_ratings_and_keep_their_order() -> None:
    tournament_run = TournamentRun(Spec("test", Format.ROUND_ROBIN, ("hop-it",), "1s"), 4, random.Random(2))
    tournament_run.play()
    rows = (await StandingsCache(structlog.get_logger(), InProcessRating()).of(tournament_run.tournament)).rows
    plain = (await StandingsCache(structlog.get_logger()).of(tournament_run.tournament)).rows
    assert [row._replace(rating=None) for row in rows] == list(plain)
    assert all(row.rating is not None for row in rows)
