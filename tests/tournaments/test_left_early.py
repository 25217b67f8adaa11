"""Who leaves a round robin before half of its games: whose points they count for."""

from __future__ import annotations

import pytest

from arbiter.tournaments import commands as do
from arbiter.tournaments import engine
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.corrections import Disqualify, Results
from arbiter.tournaments.evolution import apply
from arbiter.tournaments.game_ends import Winner
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.spec import Format
from arbiter.tournaments.spec_text import read_spec, write_spec
from arbiter.tournaments.standings import rated_games, standings
from arbiter.tournaments.tournament import Tournament
from tests.tournaments.test_standings import end, run_of, spec_of


def leaving(games: int, *, keep: bool = False) -> tuple[Tournament, list[ev.Event]]:
    """Return a round robin of five in which p000 leaves after so many of its four games, all of which it has won.

    Of the others, the one of the higher number wins.
    """

    def result(game: ScheduledGame) -> Winner:
        best = "p000" if "p000" in game else max(game.seat1, game.seat2)
        return 1 if game.seat1 == best else 2

    tournament_run = run_of(spec_of(Format.ROUND_ROBIN, keep_early_leavers=keep), 5, result)
    tournament_run.pair()
    of = [game.number for game in tournament_run.tournament.games if "p000" in game]
    for number in of[:games]:
        end(tournament_run, number, result(tournament_run.tournament.games[number - 1]))
    tournament_run.withdraw("p000")
    tournament_run.play()
    return tournament_run.tournament, tournament_run.log


def test_the_games_of_who_leaves_a_round_robin_early_do_not_count_for_the_others() -> None:
    tournament, log = leaving(1)
    rows = standings(tournament).rows
    assert [(each.player, each.points, each.left_early) for each in rows] == [
        ("p004", 6, False), ("p003", 4, False), ("p002", 2, False), ("p001", 0, False), ("p000", 2, True),
    ]  # fmt: skip
    met = next(game for game in tournament.games if "p000" in game)
    beaten = met.seat2 if met.seat1 == "p000" else met.seat1
    for each in rows[:-1]:
        assert each.games == 4, "the counts have every game"
        assert each.game_points == each.points + (0 if each.player == beaten else 2)
    # Sonneborn–Berger and direct encounter have nothing of it either.
    assert rows[0].values[1] == 2 * 4 + 2 * 2
    assert len(rated_games(tournament)) == 7, "ratings have every game that was played"
    assert violations(log) == []


def test_who_has_completed_half_of_its_games_has_not_left_early() -> None:
    rows = standings(leaving(2)[0]).rows
    assert not [each for each in rows if each.left_early]
    assert [each.points for each in rows] == [each.game_points for each in rows]
    assert {each.player: each.points for each in rows}["p000"] == 4


@pytest.mark.parametrize("results", Results)
def test_a_game_that_was_played_is_completed_though_its_opponent_is_disqualified(results: Results) -> None:
    tournament, _ = leaving(2)
    first = tournament.meetings_of["p000"][0]
    [cheat] = {*first.players} - {"p000"}
    for event in engine.decide(tournament, do.Correct("org", "out", Disqualify(cheat, True, results)), 0).events:
        apply(tournament, event)
    assert tournament.disqualified
    assert not [each for each in standings(tournament).rows if each.left_early]


def test_an_option_keeps_the_games_of_who_leaves_early() -> None:
    rows = standings(leaving(1, keep=True)[0]).rows
    assert not [each for each in rows if each.left_early]
    assert [each.points for each in rows] == [each.game_points for each in rows]


def test_a_round_robin_that_was_stored_without_the_option_keeps_them() -> None:
    written = write_spec(spec_of(Format.ROUND_ROBIN))
    assert not read_spec(written, str, stored=True).options.keep_early_leavers
    del written["options"]["keep_early_leavers"]
    assert read_spec(written, str, stored=True).options.keep_early_leavers
    assert not read_spec(written, str).options.keep_early_leavers
