"""Standings of a knockout: places by the round of elimination."""

from __future__ import annotations

from arbiter.tournaments.game_ends import Winner
from arbiter.tournaments.spec import Format, TieBreak
from arbiter.tournaments.standings import (
    standings,
)
from arbiter.tournaments.tournament import Tournament
from tests.tournaments.test_standings import better, end, places, row, run_of, spec_of


def test_if_both_players_are_gone_both_have_lost() -> None:
    tournament_run = run_of(spec_of(Format.KNOCKOUT), 4, better)
    tournament_run.pair()
    end(tournament_run, 1, 1)
    end(tournament_run, 2, 1)
    finalists = {each.player for each in standings(tournament_run.tournament).rows if each.wins}
    for player in finalists:
        tournament_run.withdraw(player)
    tournament_run.play()
    for player in finalists:
        found = row(tournament_run.tournament, player)
        assert (found.wins, found.draws, found.faults.walkovers) == (1, 0, found.losses)
        assert found.losses > 0
        assert found.game_points == 2
    assert reached(tournament_run.tournament)[:2] == [(1, each, "final, lost by both") for each in sorted(finalists)]


def reached(tournament: Tournament) -> list[tuple[int, str, str]]:
    return [(each.place, each.player, each.reached) for each in standings(tournament).rows]


def test_a_knockout_is_ordered_by_the_round_of_elimination() -> None:
    tournament_run = run_of(spec_of(Format.KNOCKOUT), 7, better)
    assert {place for place, _ in places(tournament_run.tournament)} == {1}
    tournament_run.pair()
    end(tournament_run, 1, better(tournament_run.tournament.games[0]))
    out = max(tournament_run.tournament.games[0][2:4])
    assert places(tournament_run.tournament)[-1] == (7, out)
    assert {place for place, player in places(tournament_run.tournament) if player != out} == {1}
    assert reached(tournament_run.play()) == [
        (1, "p000", "winner"),
        (2, "p001", "final"),
        (3, "p002", "round 2"),
        (3, "p003", "round 2"),
        (5, "p004", "round 1"),
        (5, "p005", "round 1"),
        (5, "p006", "round 1"),
    ]


def test_the_third_place_has_a_game() -> None:
    tournament_run = run_of(spec_of(Format.KNOCKOUT, third_place=True), 4, better)
    tournament_run.pair()
    end(tournament_run, 1, better(tournament_run.tournament.games[0]))
    end(tournament_run, 2, better(tournament_run.tournament.games[1]))
    tournament_run.pair()
    assert reached(tournament_run.tournament)[2:] == [(3, "p002", "third place"), (3, "p003", "third place")]
    assert reached(tournament_run.play()) == [
        (1, "p000", "winner"), (2, "p001", "final"), (3, "p002", "third place"), (4, "p003", "round 1"),
    ]  # fmt: skip


def test_a_double_elimination_eliminates_players_who_have_lost_twice() -> None:
    table = reached(run_of(spec_of(Format.KNOCKOUT, double=True), 8, better).play())
    assert table == [
        (1, "p000", "winner"),
        (2, "p001", "final"),
        (3, "p002", "lower round 4"),
        (4, "p003", "lower round 3"),
        (5, "p004", "lower round 2"),
        (5, "p005", "lower round 2"),
        (7, "p006", "lower round 1"),
        (7, "p007", "lower round 1"),
    ]


def test_the_second_final_of_a_double_elimination_decides() -> None:
    # The better seed wins, except in the first final.
    tournament_run = run_of(spec_of(Format.KNOCKOUT, double=True), 2)
    winners: list[Winner] = [1, 2, 1]
    for number, winner in enumerate(winners, start=1):
        tournament_run.pair()
        game = tournament_run.tournament.games[number - 1]
        end(tournament_run, number, winner if game.seat1 == "p000" else 2 if winner == 1 else 1)
        if number == 2:
            assert places(tournament_run.tournament) == [(1, "p000"), (1, "p001")]
    assert reached(tournament_run.play()) == [(1, "p000", "winner"), (2, "p001", "final")]


def test_tie_breaks_order_a_knockout_if_it_asks_for_them() -> None:
    spec = spec_of(Format.KNOCKOUT, best_of=3, order=(TieBreak.WINS,))
    tournament_run = run_of(spec, 4, lambda game: 0 if "p003" in game[2:4] and game.number < 3 else better(game))
    assert [each.place for each in standings(tournament_run.play()).rows] == [1, 2, 3, 3]
    assert standings(tournament_run.tournament).rows[0].values == (4 * row(tournament_run.tournament, "p000").wins,)
