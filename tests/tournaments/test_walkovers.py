"""Who wins by the withdrawal of another: the rows of the table of `arbiter.tournaments.walkovers`."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.game_ends import ABSENCE, LOSS, NO_SHOW, WALKOVER, WIN, Winner
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.spec import Format, Options, Spec


def round_robin(players: int) -> TournamentRun:
    """Return a round robin whose rounds are all paired."""
    tournament_run = TournamentRun(Spec("t", Format.ROUND_ROBIN, ("hop-it",), "1s", paired=False), players, NONE)
    tournament_run.pair()
    return tournament_run


NONE = random.Random(1)


def between(tournament_run: TournamentRun, *players: str) -> ScheduledGame:
    """Return the game of two players."""
    return next(game for game in tournament_run.tournament.games if {game.seat1, game.seat2} == set(players))


def play(tournament_run: TournamentRun, *players: str, absent: str = "", leaves: bool = False) -> None:
    """Play the game of two players: the first wins, or the one who is there. leaves: the absent one came first."""
    game = between(tournament_run, *players)
    best = next(player for player in players if player != absent)
    reason, cause = ("abandonment" if leaves else NO_SHOW, ABSENCE) if absent else ("by lot", "rules")
    attempt = tournament_run.tournament.attempts[game.number] + 1
    assert tournament_run.act(do.Begin(game.number, attempt, f"m{game.number}.{attempt}")).events
    winner: Winner = 1 if game.seat1 == best else 2
    tournament_run.act(do.ReportResult(game.number, f"m{game.number}.{attempt}", winner, reason, cause))


def scores(tournament_run: TournamentRun, *players: str) -> tuple[int, ...] | None:
    """Return what two players scored in their game; None if it has no result."""
    game = between(tournament_run, *players)
    result = tournament_run.tournament.results.get(game.number)
    return result and tuple(result.half_points(1 if game.seat1 == player else 2) for player in players)


def test_who_came_to_its_last_match_wins_at_once() -> None:
    tournament_run = round_robin(4)
    play(tournament_run, "p001", "p002")
    tournament_run.withdraw("p000")
    assert scores(tournament_run, "p001", "p000") == (WIN, LOSS)
    assert scores(tournament_run, "p002", "p000") == (WIN, LOSS)
    assert scores(tournament_run, "p003", "p000") is None, "it has had no match yet"
    assert [*tournament_run.tournament.ready()] == [between(tournament_run, "p001", "p003")], "nobody plays p000"
    play(tournament_run, "p003", "p001")
    assert scores(tournament_run, "p003", "p000") == (WIN, LOSS)


@pytest.mark.parametrize("leaves", [False, True])
def test_who_misses_its_own_games_wins_nothing(leaves: bool) -> None:
    tournament_run = round_robin(4)
    play(tournament_run, "p003", "p001", absent="p003", leaves=leaves)
    tournament_run.withdraw("p000")
    assert scores(tournament_run, "p003", "p000") is None, "it has another game to come to"
    play(tournament_run, "p003", "p002", absent="p003", leaves=leaves)
    assert scores(tournament_run, "p003", "p000") == (LOSS, LOSS)
    assert scores(tournament_run, "p002", "p000") == scores(tournament_run, "p001", "p000") == (WIN, LOSS)
    play(tournament_run, "p001", "p002")
    tournament_run.act(do.Tick())
    assert tournament_run.tournament.end is not None
    assert violations(tournament_run.log) == []


def test_who_comes_back_for_its_next_game_wins() -> None:
    tournament_run = round_robin(4)
    play(tournament_run, "p003", "p001", absent="p003")
    tournament_run.withdraw("p000")
    play(tournament_run, "p002", "p003")
    assert scores(tournament_run, "p003", "p000") == (WIN, LOSS)


def test_who_never_came_wins_nothing_though_the_other_withdrew_before_its_first_game() -> None:
    tournament_run = round_robin(4)
    tournament_run.withdraw("p000")
    assert not tournament_run.tournament.results
    for other in ("p001", "p002"):
        play(tournament_run, "p003", other, absent="p003")
    assert scores(tournament_run, "p003", "p000") == (LOSS, LOSS)


def test_who_has_no_other_game_wins_at_once() -> None:
    tournament_run = round_robin(2)
    tournament_run.withdraw("p000")
    assert scores(tournament_run, "p001", "p000") == (WIN, LOSS)


def test_a_void_match_says_nothing_of_who_came() -> None:
    tournament_run = round_robin(3)
    game = between(tournament_run, "p001", "p002")
    tournament_run.act(do.Begin(game.number, 1, "m"))
    tournament_run.act(do.ReportResult(game.number, "m", None, "arbiter_fault", "arbiter"))
    tournament_run.withdraw("p000")
    assert not tournament_run.tournament.results
    play(tournament_run, "p001", "p002")
    assert len(tournament_run.tournament.results) == 3


def test_all_who_withdraw_lose() -> None:
    tournament_run = round_robin(4)
    for player in ("p000", "p001", "p002", "p003"):
        tournament_run.withdraw(player)
    points = [result.half_points(seat) for result in tournament_run.tournament.results.values() for seat in (1, 2)]
    assert len(points) == 12
    assert sum(points) == 3 * WIN, "p003 was still there when the last of the others left, and had no other game"


@pytest.mark.parametrize("format_", [Format.SWISS, Format.KNOCKOUT, Format.ARENA, Format.LADDER, Format.TRIAL])
def test_other_formats_wait_for_nothing(format_: Format) -> None:
    duration_ms = 60_000 if format_ in (Format.ARENA, Format.LADDER) else 0
    options = Options(rounds=2, duration_ms=duration_ms, validation=False)
    tournament_run = TournamentRun(Spec("t", format_, ("hop-it",), "1s", paired=False, options=options), 2, NONE)
    tournament_run.pair()
    tournament_run.withdraw("p000")
    assert tournament_run.tournament.results[1].reason == WALKOVER
    assert tournament_run.tournament.stranded() == []


def test_the_checker_knows_who_came() -> None:
    tournament_run = round_robin(4)
    play(tournament_run, "p003", "p001", absent="p003")
    play(tournament_run, "p003", "p002", absent="p003")
    tournament_run.withdraw("p000")
    lost = between(tournament_run, "p003", "p000")
    for winner, text in (("p003", "it did not come to its own last game"), ("p000", "it had withdrawn")):
        seat: Winner = 1 if lost.seat1 == winner else 2
        forged = [
            replace(each, winner=seat) if isinstance(each, ev.EndedGame) and each.game == lost.number else each
            for each in tournament_run.log
        ]
        assert [each for each in violations(forged) if f"{winner} won by walkover, though {text}" in each]
