"""An organiser's corrections: what counts afterwards, what is refused, and that the checker agrees in every format."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import pytest

from arbiter.errors import Reason
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.corrections import (
    Award,
    Correction,
    Disqualify,
    DrawLots,
    Reinstate,
    Replay,
    Results,
)
from arbiter.tournaments.engine import TournamentDecision
from arbiter.tournaments.game_ends import WALKOVER
from arbiter.tournaments.game_rulings import change_in_words
from arbiter.tournaments.lots import Lots
from arbiter.tournaments.spec import Format
from arbiter.tournaments.standings import StandingsRow, points_text, rated_games, standings
from tests.tournaments.test_game_rulings import rule, run_of

OTHERS = (Format.ROUND_ROBIN, Format.GAUNTLET, Format.SWISS, Format.ARENA, Format.LADDER)


def correct(run: TournamentRun, what: Correction, *, request: str = "", revision: int = 0) -> TournamentDecision:
    return run.act(do.Correct("org", request or f"correct {len(run.log)}", what, "seen on video", revision))


def why(run: TournamentRun, what: Correction) -> str:
    refusal = correct(run, what).refusal
    return str(refusal.facts.get("why", refusal.facts.get("allowed"))) if refusal else ""


def until(run: TournamentRun, there: Callable[[], bool]) -> None:
    """Go on until something is there."""
    for _ in range(2_000):
        if there():
            return
        run.step()
    raise AssertionError("it does not come")


def rows_of(run: TournamentRun) -> dict[str, StandingsRow]:
    return {row.player: row for row in standings(run.tournament).rows}


# Disqualify


@pytest.mark.parametrize("results", list(Results))
@pytest.mark.parametrize("format_", [*OTHERS, Format.KNOCKOUT])
def test_a_player_is_disqualified_from_the_start_after_the_end(format_: Format, results: Results) -> None:
    run = run_of(format_, 5)
    run.play()
    before = standings(run.tournament)
    cheat = before.rows[0].player
    assert not correct(run, Disqualify(cheat, True, results)).refusal
    rows, mine = rows_of(run), [r for g, r in results_of(run, cheat)]
    assert standings(run.tournament).rows[-1].player == cheat, "after all others"
    assert rows[cheat].disqualified
    assert rows[cheat].withdrawn
    if results is Results.STAND:
        assert rows[cheat].game_points == before.rows[0].game_points
    else:
        assert rows[cheat].game_points == 0
        assert not any(r.played or r.rated for r in mine), "they are no evidence of strength"
        assert all(cheat not in (each.seat1, each.seat2) for each in rated_games(run.tournament))
    for game, result in results_of(run, cheat):
        other = 2 if game.seat1 == cheat else 1
        assert result.void == (results is Results.VOID)
        if results is Results.FORFEIT:
            assert result.half_points(other) == 2
        if results is not Results.STAND:
            assert "changed to" in change_in_words(run.tournament, game.number)
    assert violations(run.log) == []
    assert not correct(run, Reinstate(cheat)).refusal
    assert standings(run.tournament).rows == before.rows, "all is as before"


def results_of(run: TournamentRun, player: str):  # type: ignore[no-untyped-def]
    games = (game for game in run.tournament.games if player in game[2:4] and game.seat1 != game.seat2)
    return [(game, run.tournament.results[game.number]) for game in games if game.number in run.tournament.results]


def test_results_to_come_are_treated_like_those_before() -> None:
    run = run_of(Format.ROUND_ROBIN, 4)
    run.pair()
    first, second = islice(run.tournament.ready(), 2)
    for game in (first, second):
        run.act(do.Begin(game.number, 1, f"m{game.number}"))
    cheat = first.seat1
    correct(run, Disqualify(cheat, True, Results.FORFEIT, stop=False))
    assert run.tournament.to_stop() == [], "it goes on"
    assert cheat not in run.tournament.players
    assert first.number in run.tournament.running
    run.act(do.ReportResult(first.number, f"m{first.number}", 1, "goal", "rules"))
    result = run.tournament.results[first.number]
    assert (result.half_points(1), result.half_points(2), result.played) == (0, 2, False)
    assert run.tournament.as_played[first.number].half_points(1) == 2
    run.act(do.ReportResult(second.number, f"m{second.number}", 1, "goal", "rules"))
    walked = [each for each in run.log if isinstance(each, ev.EndedGame) and each.reason == WALKOVER]
    assert walked, "its other games are lost"


def test_games_under_way_are_stopped_and_end_as_walkovers() -> None:
    run = run_of(Format.ROUND_ROBIN, 4)
    run.pair()
    game = next(run.tournament.ready())
    run.act(do.Begin(game.number, 1, "m"))
    correct(run, Disqualify(game.seat2))
    assert run.tournament.to_stop() == [game.number]
    run.act(do.ReportResult(game.number, "m", None, "aborted", "organiser", stopped=True))
    run.play()
    assert run.tournament.results[game.number].reason == WALKOVER
    assert run.tournament.results[game.number].winner == 1
    assert violations(run.log) == []


def test_a_disqualified_player_is_not_paired_and_comes_back_when_it_is_reinstated() -> None:
    run = run_of(Format.SWISS, 6, rounds=5)
    until(run, lambda: len(run.tournament.results) >= 3)
    correct(run, Disqualify("p001"))
    assert why(run, Disqualify("p001")) == "p001 is disqualified already"
    refusal = run.enter("p001").refusal
    assert refusal is not None
    assert refusal.facts["why"] == "p001 is disqualified"
    until(run, lambda: run.tournament.rounds >= 3)
    assert not any(each.round > 1 for each in run.tournament.meetings_of["p001"])
    correct(run, Reinstate("p001"))
    run.play()
    assert any(each.round > 3 for each in run.tournament.meetings_of["p001"])
    assert violations(run.log) == []


def test_who_had_withdrawn_before_stays_away_when_reinstated() -> None:
    run = run_of(Format.SWISS, 6, rounds=3)
    run.withdraw("p001")
    correct(run, Disqualify("p001"))
    correct(run, Reinstate("p001"))
    assert run.tournament.entrants["p001"].withdrawn
    run.play()
    assert violations(run.log) == []


def test_a_later_ruling_on_a_game_counts_and_so_does_a_later_disqualification() -> None:
    run = run_of(Format.ROUND_ROBIN, 4)
    run.play()
    game = run.tournament.games[0]
    rule(run, 1, ev.Decision.POINTS, 1, 1)
    correct(run, Disqualify(game.seat1, True, Results.FORFEIT))
    assert run.tournament.results[1].half_points(2) == 2
    rule(run, 1, ev.Decision.STANDS)
    assert run.tournament.results[1] == run.tournament.as_played[1]
    rule(run, 1, ev.Decision.POINTS, 1, 0)
    assert run.tournament.results[1].half_points(1) == 1
    correct(run, Reinstate(game.seat1))
    assert run.tournament.results[1].half_points(1) == 1, "the ruling is newer"
    assert violations(run.log) == []


def test_a_bracket_goes_on_by_the_results_that_it_has_gone_on_by() -> None:
    run = run_of(Format.KNOCKOUT, 4)
    until(run, lambda: len(run.tournament.meetings) == 3)
    final = run.tournament.meetings[-1]
    correct(run, Disqualify(final.first, True, Results.FORFEIT))
    run.play()
    rows = rows_of(run)
    assert rows[final.second].reached == "winner", "by walkover"
    assert len(run.tournament.meetings) == 3
    assert rows[final.first].game_points == 0
    assert violations(run.log) == []


def test_two_cheats_have_both_lost_their_game() -> None:
    run = run_of(Format.ROUND_ROBIN, 4)
    run.play()
    game = run.tournament.games[0]
    for player in game[2:4]:
        correct(run, Disqualify(player, True, Results.FORFEIT))
    assert run.tournament.results[1].lost_by_both
    assert violations(run.log) == []


# Play again


@pytest.mark.parametrize("format_", OTHERS)
def test_a_game_is_played_again_in_its_round_though_later_rounds_are_paired(format_: Format) -> None:
    run = run_of(format_, 6, rounds=4)
    until(run, lambda: len(run.tournament.results) >= 4)
    game = run.tournament.games[min(run.tournament.results) - 1]
    paired, points = list(run.tournament.meetings), rows_of(run)[game.seat1].game_points
    rule(run, game.number, ev.Decision.POINTS, 0, 2)
    seen = run.tournament.revision
    assert not correct(run, Replay(game.number), revision=seen).refusal
    assert list(run.tournament.meetings) == paired
    assert game.number not in run.tournament.results
    assert rows_of(run)[game.seat1].game_points == points - 2, "standings follow at once"
    assert why(run, Replay(game.number)) == f"game {game.number} has no result, so it can't be played again"
    run.result = lambda each: 2 if each.number == game.number else 1
    run.play()
    assert run.tournament.results[game.number].winner == 2
    assert run.tournament.attempts[game.number] == 2
    assert violations(run.log) == []


def test_a_game_that_is_played_again_has_all_its_attempts_again() -> None:
    run = run_of(Format.ROUND_ROBIN, 3)
    run.pair()
    game = next(run.tournament.ready())
    for attempt in range(1, 7):
        run.act(do.Begin(game.number, attempt, f"m{attempt}"))
        if attempt == 2:
            run.act(do.ReportResult(game.number, "m2", 1, "goal", "rules"))
            correct(run, Replay(game.number))
        else:
            run.act(do.ReportResult(game.number, f"m{attempt}", None, "stopped", "arbiter"))
        if game.number in run.tournament.results:
            break
    assert attempt == 5, "three more"
    assert violations(run.log) == []


def test_no_player_that_is_gone_plays_again() -> None:
    run = run_of(Format.SWISS, 4, rounds=3)
    until(run, lambda: bool(run.tournament.results))
    game = run.tournament.games[min(run.tournament.results) - 1]
    run.withdraw(game.seat2)
    assert why(run, Replay(game.number)) == f"{game.seat2} does not play any more"


def test_a_tie_is_played_again_while_its_bracket_has_not_gone_on() -> None:
    run = run_of(Format.KNOCKOUT, 4)
    run.pair()
    for game in list(run.tournament.games):
        run.act(do.Begin(game.number, 1, f"m{game.number}"))
        run.act(do.ReportResult(game.number, f"m{game.number}", 1, "goal", "rules"))
    assert not correct(run, Replay(1)).refusal
    run.play()
    assert len(run.tournament.meetings) == 3
    assert violations(run.log) == []
    again = run_of(Format.KNOCKOUT, 4)
    until(again, lambda: len(again.tournament.meetings) == 3)
    assert "the bracket follows from it" in why(again, Replay(1))


# Places


@pytest.mark.parametrize("format_", [Format.ROUND_ROBIN, Format.SWISS, Format.ARENA])
def test_points_are_given_and_taken_and_nobody_else_has_other_ones(format_: Format) -> None:
    run = run_of(format_, 5)
    run.play()
    before = standings(run.tournament)
    last = before.rows[-1]
    assert not correct(run, Award(last.player, 40)).refusal
    after = standings(run.tournament)
    assert after.rows[0].player == last.player
    if format_ is Format.ARENA:
        assert (after.rows[0].arena_points, after.rows[0].points) == ((last.arena_points or 0) + 40, last.points)
    else:
        assert after.rows[0].points == last.points + 40
    others = [{row.player: (row.points, row.arena_points) for row in table.rows} for table in (before, after)]
    assert others[0].pop(last.player) != others[1].pop(last.player)
    assert others[0] == others[1]
    correct(run, Award(last.player, -40))
    assert [points_text(each) for each in (-3, -2, -1, 0, 1, 5)] == ["−1½", "−1", "−½", "0", "½", "2½"]
    assert standings(run.tournament).rows == before.rows
    assert violations(run.log) == []


def test_a_shared_place_is_ordered_by_lot() -> None:
    run = run_of(Format.ROUND_ROBIN, 3)
    run.result = lambda game: 0
    run.play()
    assert [row.place for row in standings(run.tournament).rows] == [1, 1, 1]
    names = tuple(sorted(rows_of(run)))
    correct(run, DrawLots(names[:2], "x"))
    assert [row.place for row in standings(run.tournament).rows] == [1, 1, 1], "three are level"
    for seed in ("x", "y", "z"):
        correct(run, DrawLots(names[::-1], seed))
        drawn_ = [(row.place, row.player) for row in standings(run.tournament).rows]
        assert drawn_ == list(enumerate(Lots(seed).shuffled(names), 1))
    assert violations(run.log) == []


# What is refused


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (Disqualify("p000", False, Results.VOID), "that they stand"),
        (Award("p000", 0), "not 0"),
        (Award("p000", 9_999), "2000"),
        (DrawLots(("p000", "p000"), "s"), "different players"),
        (DrawLots(("p000",), "s"), "2 to 1000"),
        (DrawLots(("p000", "p001"), ""), "a text"),
        (Disqualify("zoe", True), "zoe has not entered it"),
        (Award("zoe", 2), "zoe does not take part in it"),
        (DrawLots(("zoe", "p000"), "s"), "zoe does not take part in it"),
        (Reinstate("p000"), "p000 is not disqualified"),
    ],
)
def test_corrections_that_make_no_sense_are_refused(what: Correction, said: str) -> None:
    run = run_of(Format.ROUND_ROBIN, 3)
    run.play()
    before = run.tournament.revision
    assert said in why(run, what) or said in str(correct(run, what).refusal)
    assert run.tournament.revision == before


def test_a_correction_is_repeatable_and_conditional() -> None:
    run = run_of(Format.ROUND_ROBIN, 3)
    run.play()
    seen, what = run.tournament.revision, Award("p000", 2)
    assert len(correct(run, what, request="r", revision=seen).events) == 1
    again = correct(run, what, request="r", revision=seen)
    assert (again.events, again.refusal) == ((), None)
    other = correct(run, Award("p000", 3), request="r").refusal
    assert other is not None
    assert other.reason is Reason.REQUEST_ID_REUSED
    stale = correct(run, Award("p001", 2), revision=seen).refusal
    assert stale is not None
    assert stale.reason is Reason.TOURNAMENT_CHANGED
    assert not correct(run, Award("p001", 2), revision=run.tournament.revision).refusal
