"""A game to which a player did not come is a forfeit: to pairing, the checker and tie-breaks."""

from __future__ import annotations

import random

from arbiter.matches.events import MatchEndReason
from arbiter.testing.tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.meetings import NO_SHOW, GameResult, Winner
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.standings import standings


def swiss(rounds: int, players: int) -> TournamentRun:
    spec = Spec("test", Format.SWISS, ("hop-it",), "1s", paired=False, options=Options(rounds=rounds))
    grounds = TournamentRun(spec, players, random.Random(1))
    grounds.pair()
    return grounds


def end(grounds: TournamentRun, number: int, winner: Winner, *, came: bool) -> None:
    """Let a match of a game end: by play, or because a player did not come."""
    grounds.act(do.Begin(number, 1, f"m{number}"))
    reason, cause = ("by lot", "rules") if came else (NO_SHOW, "absence")
    assert grounds.act(do.ReportResult(number, f"m{number}", winner, reason, cause)).events
    grounds.act(do.Tick())
    grounds.pair()


def test_the_reason_is_that_of_matches() -> None:
    assert MatchEndReason.NO_SHOW.value == NO_SHOW
    assert not GameResult(1, "m1", NO_SHOW, "absence").played
    assert not GameResult(1, "", ev.WALKOVER, "absence").played
    assert GameResult(1, "m1", MatchEndReason.ABANDONMENT.value, "absence").played


def test_two_of_whom_one_did_not_come_may_meet_again() -> None:
    grounds = swiss(rounds=2, players=2)
    end(grounds, 1, 1, came=False)
    assert grounds.tournament.rounds == 2, "they have not met yet"
    assert violations(grounds.log) == []
    end(grounds, 2, 1, came=True)
    grounds.act(do.Tick())
    assert grounds.tournament.end is not None
    assert violations(grounds.log) == []


def test_who_has_won_by_a_no_show_has_no_bye_after_it() -> None:
    grounds = swiss(rounds=3, players=3)
    first = grounds.tournament.meetings[0]
    end(grounds, 1, 1, came=False)
    for game in grounds.tournament.ready():
        end(grounds, game.number, 1, came=True)
    assert grounds.tournament.rounds >= 2
    byes = [player for players in grounds.tournament.byes.values() for player in players]
    assert first.first not in byes
    assert violations(grounds.log) == []


def test_the_checker_knows_of_no_shows_by_itself() -> None:
    grounds = swiss(rounds=2, players=2)
    end(grounds, 1, 1, came=False)
    as_if_played = [
        ev.EndedGame(each.at, each.game, each.match, each.winner, "by lot", "rules")
        if isinstance(each, ev.EndedGame)
        else each
        for each in grounds.log
    ]
    assert any("meet again" in text for text in violations(as_if_played))


def test_neither_has_points_where_nobody_came() -> None:
    grounds = swiss(rounds=1, players=2)
    end(grounds, 1, 0, came=False)
    assert [row.points for row in standings(grounds.tournament).rows] == [0, 0]
    assert [row.losses for row in standings(grounds.tournament).rows] == [1, 1]
