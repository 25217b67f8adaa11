"""A game to which a player did not come is a forfeit: for pairing, the checker and tie-breaks."""

from __future__ import annotations

import random

from arbiter.matches.events import MatchEndReason
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.game_ends import NO_SHOW, WALKOVER, GameResult, Winner
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.standings import standings


def swiss(rounds: int, players: int) -> TournamentRun:
    spec = Spec("test", Format.SWISS, ("hop-it",), "1s", paired=False, options=Options(rounds=rounds))
    tournament_run = TournamentRun(spec, players, random.Random(1))
    tournament_run.pair()
    return tournament_run


def end(tournament_run: TournamentRun, number: int, winner: Winner, *, came: bool) -> None:
    """End a match of a game: by play, or because a player did not come."""
    tournament_run.act(do.Begin(number, 1, f"m{number}"))
    reason, cause = ("by lot", "rules") if came else (NO_SHOW, "absence")
    assert tournament_run.act(do.ReportResult(number, f"m{number}", winner, reason, cause)).events
    tournament_run.act(do.Tick())
    tournament_run.pair()


def test_the_reason_is_one_of_matches() -> None:
    assert MatchEndReason.NO_SHOW.value == NO_SHOW
    assert not GameResult(1, "m1", NO_SHOW, "absence").played
    assert not GameResult(1, "", WALKOVER, "absence").played
    assert GameResult(1, "m1", MatchEndReason.ABANDONMENT.value, "absence").played


def test_two_players_may_meet_again_if_one_did_not_come() -> None:
    tournament_run = swiss(rounds=2, players=2)
    end(tournament_run, 1, 1, came=False)
    assert tournament_run.tournament.rounds == 2, "the two have not met yet"
    assert violations(tournament_run.log) == []
    end(tournament_run, 2, 1, came=True)
    tournament_run.act(do.Tick())
    assert tournament_run.tournament.end is not None
    assert violations(tournament_run.log) == []


def test_a_player_who_has_won_by_a_no_show_gets_no_bye_later() -> None:
    tournament_run = swiss(rounds=3, players=3)
    first = tournament_run.tournament.meetings[0]
    end(tournament_run, 1, 1, came=False)
    for game in list(tournament_run.tournament.ready()):
        end(tournament_run, game.number, 1, came=True)
    assert tournament_run.tournament.rounds >= 2
    byes = [player for players in tournament_run.tournament.byes.values() for player in players]
    assert first.first not in byes
    assert violations(tournament_run.log) == []


def test_the_checker_handles_no_shows_itself() -> None:
    tournament_run = swiss(rounds=2, players=2)
    end(tournament_run, 1, 1, came=False)
    as_if_played = [
        ev.EndedGame(each.at, each.game, each.match, each.winner, "by lot", "rules")
        if isinstance(each, ev.EndedGame)
        else each
        for each in tournament_run.log
    ]
    assert any("meet again" in text for text in violations(as_if_played))


def test_neither_player_has_points_if_nobody_came() -> None:
    tournament_run = swiss(rounds=1, players=2)
    end(tournament_run, 1, 0, came=False)
    assert [row.points for row in standings(tournament_run.tournament).rows] == [0, 0]
    assert [row.losses for row in standings(tournament_run.tournament).rows] == [1, 1]
