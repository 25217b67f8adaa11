"""Rulings on games that have a result: what counts afterwards, what is refused, and that the checker agrees."""

from __future__ import annotations

import json
import random

import pytest

from arbiter.errors import Reason
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import codec
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.engine import TournamentDecision
from arbiter.tournaments.events import Decision
from arbiter.tournaments.evolution import replay
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.spec import Format, Options, Spec, TieBreak
from arbiter.tournaments.standings import rated_games, standings
from arbiter.tournaments.tournament import TournamentPhase
from arbiter.web.tournament_tables import crosstable
from tests.tournaments import test_standings

RULED = (Format.ROUND_ROBIN, Format.GAUNTLET, Format.SWISS, Format.ARENA, Format.LADDER)


def run_of(format_: Format, players: int = 4, *, paired: bool = False, rounds: int = 2) -> TournamentRun:
    duration_ms = 4_000 if format_ in (Format.ARENA, Format.LADDER) else 0
    options = Options(rounds=rounds, duration_ms=duration_ms, validation=False, most_meetings=3)
    spec = Spec("t", format_, ("hop-it",), "1s", paired=paired, options=options)
    return TournamentRun(spec, players, random.Random(3), lambda game: 1)


def rule(
    run: TournamentRun, game: int, decision: Decision, *points: int, request: str = "", revision: int = 0
) -> TournamentDecision:
    request = request or f"rule {len(run.log)}"
    return run.act(do.Rule("org", request, game, decision, points, "seen on video", revision))


def scores(run: TournamentRun, game: ScheduledGame) -> list[int]:
    rows = {row.player: row.game_points for row in standings(run.tournament).rows}
    return [rows[game.seat1], rows[game.seat2]]


@pytest.mark.parametrize("points", [(2, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 0)])
@pytest.mark.parametrize("format_", RULED)
def test_the_points_of_a_ruling_count_and_can_be_taken_back(format_: Format, points: tuple[int, int]) -> None:
    run = run_of(format_)
    run.play()
    before = standings(run.tournament)
    game = run.tournament.games[0]
    first, second = scores(run, game)
    assert run.tournament.phase is TournamentPhase.ENDED, "also after the end"
    assert not rule(run, 1, Decision.POINTS, *points).refusal
    assert scores(run, game) == [first - 2 + points[0], second + points[1]]
    rows = {row.player: row for row in standings(run.tournament).rows}
    assert rows[game.seat1].games == {row.player: row for row in before.rows}[game.seat1].games
    assert len(rated_games(run.tournament)) == len(run.tournament.results) - (sum(points) != 2)
    ruling = run.tournament.results[1].ruling
    assert ruling is not None
    assert (ruling.before, ruling.by, ruling.note) == ((2, 0), "org", "seen on video")
    assert violations(run.log) == []
    rule(run, 1, Decision.STANDS)
    assert standings(run.tournament).rows == before.rows


@pytest.mark.parametrize("format_", RULED)
def test_a_void_game_is_not_counted(format_: Format) -> None:
    run = run_of(format_)
    run.play()
    game = run.tournament.games[0]
    before = {row.player: row for row in standings(run.tournament).rows}
    rule(run, 1, Decision.VOID)
    after = {row.player: row for row in standings(run.tournament).rows}
    for player in (game.seat1, game.seat2):
        assert after[player].games == before[player].games - 1
    assert after[game.seat1].game_points == before[game.seat1].game_points - 2
    assert len(rated_games(run.tournament)) == len(run.tournament.results) - 1
    assert run.tournament.results[1].lost_by_both
    cross = crosstable(run.tournament, [game.seat1, game.seat2])
    if format_ is Format.ROUND_ROBIN:
        assert cross == [[None, None], [None, None]], "their only game"
    assert violations(run.log) == []


def test_a_void_game_ends_no_streak_of_an_arena() -> None:
    run = test_standings.run_of(test_standings.spec_of(Format.ARENA, duration_ms=2_000), 2, test_standings.better)
    games = len(run.play().results)
    for void in range(1, 3):
        rule(run, 2 * void, Decision.VOID)
        best = standings(run.tournament).rows[0]
        assert (best.wins, best.arena_points) == (games - void, 4 * (games - void) - 4)
    assert violations(run.log) == []


def test_a_void_meeting_of_a_swiss_is_an_unplayed_round_and_nobody_s_own_will() -> None:
    order = (TieBreak.BUCHHOLZ, TieBreak.BUCHHOLZ_CUT_1)
    run = test_standings.run_of(test_standings.spec_of(Format.SWISS, order=order, rounds=3), 6, test_standings.better)
    run.play()
    last = next(meeting for meeting in run.tournament.of_round(3) if "p000" in meeting.players)
    rule(run, last.games[0].number, Decision.VOID)
    row = next(row for row in standings(run.tournament).rows if row.player == "p000")
    # Two points, against players with 1 and 2; the dummy of three rounds has 1½, and is not cut before the 1.
    assert (row.points, row.values) == (4, (18, 14))


@pytest.mark.long
def test_a_swiss_pairs_by_results_with_rulings_and_the_checker_agrees() -> None:
    for seed in range(12):
        lots = random.Random(seed)
        spec = Spec("t", Format.SWISS, ("hop-it",), "1s", paired=bool(seed % 2), options=Options(rounds=5))
        run = TournamentRun(spec, 8, lots, lambda game, lots=lots: lots.choice((0, 1, 2)))  # type: ignore[misc]
        while run.tournament.phase is not TournamentPhase.ENDED:
            run.step()
            for number in lots.sample(sorted(run.tournament.results), min(1, len(run.tournament.results))):
                decision = lots.choice(list(Decision))
                points = lots.choice(((2, 0), (0, 2), (1, 0), (0, 0))) if decision is Decision.POINTS else ()
                assert not rule(run, number, decision, *points).refusal
        assert violations(run.log) == [], seed
        read = [codec.read_event(json.loads(json.dumps(codec.write_event(event)))) for event in run.log]
        assert read == run.log
        assert standings(replay(read)) == standings(run.tournament)


def test_the_checker_finds_impossible_rulings() -> None:
    run = run_of(Format.SWISS, 6)
    run.play()
    ruling = ev.Ruled(0, 1, Decision.POINTS, (2, 2), "", "org", "r")
    assert [each for each in violations([*run.log, ruling]) if "the ruling gives" in each]
    assert [each for each in violations([*run.log[:3], ruling]) if "ruled on without a result" in each]


def test_a_single_game_of_a_swiss_gives_half_a_point_for_one_side() -> None:
    run = run_of(Format.SWISS, 4, rounds=1)
    run.play()
    game = run.tournament.games[0]
    rule(run, 1, Decision.POINTS, 1, 0)
    rows = {row.player: row.points for row in standings(run.tournament).rows}
    assert (rows[game.seat1], rows[game.seat2]) == (1, 0)


def test_a_request_is_repeatable_and_conditional() -> None:
    run = run_of(Format.ROUND_ROBIN)
    run.play()
    seen = run.tournament.revision
    first = rule(run, 1, Decision.POINTS, 0, 2, request="r", revision=seen)
    assert len(first.events) == 1
    again = rule(run, 1, Decision.POINTS, 0, 2, request="r", revision=seen)
    assert (again.events, again.refusal) == ((), None)
    other = rule(run, 1, Decision.VOID, request="r").refusal
    assert other is not None
    assert other.reason is Reason.REQUEST_ID_REUSED
    stale = rule(run, 1, Decision.VOID, revision=seen).refusal
    assert stale is not None
    assert stale.reason is Reason.TOURNAMENT_CHANGED
    assert stale.facts == {"revision": str(seen + 1), "why": "the result of game 1 is another one"}
    assert not rule(run, 2, Decision.VOID, revision=seen).refusal, "only this game matters"
    assert not rule(run, 1, Decision.VOID, revision=run.tournament.revision).refusal


@pytest.mark.parametrize("points", [(3, 0), (2, 1), (-1, 1), (1,), ()])
def test_impossible_points_are_refused(points: tuple[int, ...]) -> None:
    run = run_of(Format.ROUND_ROBIN)
    run.play()
    refusal = rule(run, 1, Decision.POINTS, *points).refusal
    assert refusal is not None
    assert refusal.reason is Reason.ARGUMENT_INVALID


def test_a_game_without_a_result_is_not_ruled_on() -> None:
    run = run_of(Format.ROUND_ROBIN)
    run.pair()
    refusal = rule(run, 1, Decision.VOID).refusal
    assert refusal is not None
    assert refusal.facts["why"] == "game 1 has no result to rule on"


def test_a_bracket_that_has_gone_on_stays() -> None:
    run = run_of(Format.KNOCKOUT, 4)
    run.play()
    first, before = run.tournament.games[0], standings(run.tournament).rows
    assert not rule(run, 1, Decision.POINTS, 0, 2).refusal
    after = {row.player: row for row in standings(run.tournament).rows}
    assert [(row.player, row.reached) for row in before] == [(each.player, each.reached) for each in after.values()]
    assert after[first.seat2].game_points == 2
    assert violations(run.log) == []
    final = run.tournament.games[-1]
    winner = {row.player: row.reached for row in standings(run.tournament).rows}
    assert winner[final.seat1] == "winner"
    assert not rule(run, final.number, Decision.POINTS, 0, 2).refusal
    assert {row.player: row.reached for row in standings(run.tournament).rows}[final.seat2] == "winner"
    assert violations(run.log) == []


def test_a_knockout_goes_on_with_the_one_for_whom_was_ruled() -> None:
    run = run_of(Format.KNOCKOUT, 4)
    run.pair()
    games = list(run.tournament.games)
    for game in games:
        run.act(do.Begin(game.number, 1, f"m{game.number}"))
        run.act(do.ReportResult(game.number, f"m{game.number}", 1, "by lot", "rules"))
    assert not rule(run, 1, Decision.POINTS, 0, 2).refusal
    run.play()
    assert games[0].seat2 in run.tournament.games[-1][2:4]
    assert violations(run.log) == []


def test_a_trial_is_not_ruled_on() -> None:
    run = run_of(Format.TRIAL, 2)
    run.play()
    refusal = rule(run, 1, Decision.VOID).refusal
    assert refusal is not None
    assert "its test has used them" in str(refusal.facts["why"])
