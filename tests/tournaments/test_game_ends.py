"""What the end of a game means, by one table: all ends × all formats, as every reader of a result sees it."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import NamedTuple

import pytest

from arbiter.matches.events import Cause, MatchEndReason
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.evolution import apply
from arbiter.tournaments.formats.arena import arena_scores
from arbiter.tournaments.formats.trial import TrialPairs
from arbiter.tournaments.game_ends import ABSENCE, DRAW, LOSS, NO_SHOW, UNPLAYED, WALKOVER, WIN, GameResult, Winner
from arbiter.tournaments.spec import MOST_ATTEMPTS, Format, Options, Spec
from arbiter.tournaments.spec_text import read_spec, write_spec
from arbiter.tournaments.standings import rated_games, standings
from arbiter.web.tournament_tables import crosstable


class Means(NamedTuple):
    """What an end means: what each seat scores in half points, whether it was played, and each seat's own fault."""

    scores: tuple[int, int]
    played: bool = True
    faults: tuple[str, str] = ("", "")


class Case(NamedTuple):
    """The end of a match: winner (None: void), reason, cause, absent seats; `means` None: the game is played again."""

    winner: Winner | None
    reason: str
    cause: str
    absent: tuple[int, ...]
    means: Means | None


FIRST, LEVEL, SECOND, NOBODY = (WIN, LOSS), (DRAW, DRAW), (LOSS, WIN), (LOSS, LOSS)
ENDS = {
    "won by the rules": Case(1, "five_in_a_row", "rules", (), Means(FIRST)),
    "drawn by the rules": Case(0, "full_board", "rules", (), Means(LEVEL)),
    "drawn by agreement": Case(0, "draw_agreed", "agreement", (), Means(LEVEL)),
    "resigned": Case(2, "resignation", "resignation", (), Means(SECOND)),
    "lost on time": Case(2, "time", "time", (), Means(SECOND, faults=("timeouts", ""))),
    "lost by illegal moves": Case(1, "illegal_moves", "rule_violation", (), Means(FIRST, faults=("", "violations"))),
    "awarded by the organiser": Case(1, "adjudicated", "organiser", (), Means(FIRST)),
    "drawn by adjudication": Case(0, "adjudicated_length", "organiser", (), Means(LEVEL)),
    "one left": Case(1, "abandonment", "absence", (2,), Means(FIRST, faults=("", "crashes"))),
    "both left": Case(None, "abandonment", "absence", (1, 2), None),
    "one did not come": Case(2, "no_show", "absence", (1,), Means(SECOND, False, ("crashes", ""))),
    "one did not come, and the match is void": Case(None, "no_show", "absence", (1,), None),
    "neither came": Case(None, "no_show", "absence", (1, 2), Means(NOBODY, False, ("crashes", "crashes"))),
    "a fault of the arbiter": Case(None, "arbiter_fault", "arbiter", (), None),
    "aborted by the organiser": Case(None, "aborted", "organiser", (), None),
    "void by adjudication": Case(None, "adjudicated", "organiser", (), None),
    "a damaged record": Case(None, "record damaged", "", (), None),
}


def begun(format_: Format, attempts: int = 3) -> TournamentRun:
    """Return a tournament of two whose game 1 is under way."""
    duration_ms = 60_000 if format_ in (Format.ARENA, Format.LADDER) else 0
    options = Options(rounds=3, duration_ms=duration_ms, validation=False, most_meetings=9)
    spec = Spec("test", format_, ("hop-it",), "1s", paired=False, options=options, attempts=attempts)
    tournament_run = TournamentRun(spec, 2, random.Random(1))
    tournament_run.pair()
    tournament_run.act(do.Begin(1, 1, "m1"))
    return tournament_run


def check(tournament_run: TournamentRun, means: Means) -> None:
    """Assert that everybody who reads the result of game 1 reads the same from it."""
    tournament = tournament_run.tournament
    game, result = tournament.games[0], tournament.results[1]
    players = (game.seat1, game.seat2)
    assert (result.half_points(1), result.half_points(2)) == means.scores
    assert (result.played, result.lost_by_both) == (means.played, means.scores == NOBODY)
    rows = {row.player: row for row in standings(tournament).rows}
    for player, score, fault in zip(players, means.scores, means.faults, strict=True):
        row = rows[player]
        assert (row.game_points, row.meeting_points, row.games) == (score, score, 1)
        assert (row.wins, row.draws, row.losses) == (score == WIN, score == DRAW, score == LOSS)
        assert {name for name, count in row.faults._asdict().items() if count} == ({fault} - {""})
        assert tournament.score(tournament.meetings[0], player) == score
        assert arena_scores(tournament, [player]) == {player: score}
    page = crosstable(tournament, players)
    shown = {WIN: "1", DRAW: "½", LOSS: "0"}
    assert [page[0][1].points, page[1][0].points] == [shown[score] for score in means.scores]  # type: ignore[union-attr]
    assert [(each.seat1, each.seat2, each.winner) for each in rated_games(tournament)] == (
        [(*players, result.winner)] if means.played else []
    )
    assert not [wrong for wrong in violations(tournament_run.log) if "void" in wrong]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("format_", Format)
def test_an_end_means_the_same_to_all_who_read_it(format_: Format, end: str) -> None:
    case, tournament_run = ENDS[end], begun(format_)
    tournament_run.act(do.ReportResult(1, "m1", case.winner, case.reason, case.cause, "moves", case.absent))
    tournament = tournament_run.tournament
    if case.means is not None:
        check(tournament_run, case.means)
        return
    assert not tournament.results, "a void match is no result"
    assert next(iter(tournament.waiting)).number == 1, "it is played again"
    assert [row.games for row in standings(tournament).rows] == [0] * len(tournament.seeds)
    assert rated_games(tournament) == []
    assert violations(tournament_run.log) == []


@pytest.mark.parametrize(("absent", "means"), [((), SECOND), ((1,), SECOND), ((2,), NOBODY), ((1, 2), NOBODY)])
@pytest.mark.parametrize("format_", Format)
def test_who_was_not_there_does_not_win_by_the_withdrawal_of_the_other(
    format_: Format, absent: tuple[int, ...], means: tuple[int, int]
) -> None:
    tournament_run = begun(format_)
    tournament_run.withdraw(tournament_run.tournament.games[0].seat1)
    tournament_run.act(do.ReportResult(1, "m1", None, "abandonment", "absence", "", absent))
    first, second = means
    check(tournament_run, Means(means, False, ("walkovers" if not first else "", "walkovers" if not second else "")))


@pytest.mark.parametrize("format_", Format)
def test_an_older_record_with_a_void_match_as_a_draw_is_read_as_lost_by_both(format_: Format) -> None:
    tournament_run = begun(format_)
    older = ev.EndedGame(0, 1, "m1", 0, "abandonment", "absence")
    apply(tournament_run.tournament, older)
    check(tournament_run, Means(NOBODY, False, ("crashes", "crashes")))
    assert [wrong for wrong in violations([*tournament_run.log, older]) if "void match 'm1'" in wrong], "a fault"


@pytest.mark.parametrize("end", [name for name, case in ENDS.items() if case.means is not None])
def test_a_trial_takes_only_games_that_were_played_as_evidence(end: str) -> None:
    case, tournament_run = ENDS[end], begun(Format.TRIAL)
    tournament_run.act(do.ReportResult(1, "m1", case.winner, case.reason, case.cause, "a", case.absent))
    tournament_run.pair()
    tournament_run.act(do.Begin(2, 1, "m2"))
    tournament_run.act(do.ReportResult(2, "m2", 1, "by lot", "rules", "b"))
    pairs = list(TrialPairs(tournament_run.tournament).read())
    assert case.means is not None
    assert len(pairs) == case.means.played


@pytest.mark.parametrize("end", [name for name, case in ENDS.items() if case.means is not None])
def test_a_swiss_pairs_two_again_who_have_not_played(end: str) -> None:
    case = ENDS[end]
    spec = Spec("test", Format.SWISS, ("hop-it",), "1s", paired=False, options=Options(rounds=2))
    tournament_run = TournamentRun(spec, 2, random.Random(1))
    tournament_run.pair()
    tournament_run.act(do.Begin(1, 1, "m1"))
    tournament_run.act(do.ReportResult(1, "m1", case.winner, case.reason, case.cause, "", case.absent))
    tournament_run.pair()
    assert case.means is not None
    assert (tournament_run.tournament.rounds == 2) is not case.means.played


def test_the_words_are_those_of_matches() -> None:
    assert (MatchEndReason.NO_SHOW, Cause.ABSENCE) == (NO_SHOW, ABSENCE)
    ends = {(case.reason, case.cause) for case in ENDS.values()}
    assert {cause.value for cause in Cause} <= {cause for _, cause in ends}
    assert WALKOVER not in {reason for reason, _ in ends}


def test_a_result_has_at_most_one_point() -> None:
    winners: tuple[Winner, ...] = (0, 1, 2)
    for winner, match, reason, cause in itertools.product(
        winners, ("", "m1"), (NO_SHOW, WALKOVER, "abandonment", "five_in_a_row"), (ABSENCE, "rules", "time")
    ):
        result = GameResult(winner, match, reason, cause)
        scored = result.half_points(1) + result.half_points(2)
        assert scored == (LOSS if result.lost_by_both else WIN)


VOID = {
    "a player did not come": (("no_show", "absence", (2,)), Means(FIRST, False, ("", "crashes")), NO_SHOW),
    "both left": (("abandonment", "absence", (1, 2)), Means(NOBODY, False, ("crashes", "crashes")), UNPLAYED),
    "the arbiter failed": (("arbiter_fault", "arbiter", ()), Means(NOBODY, False), UNPLAYED),
    "aborted": (("aborted", "organiser", ()), Means(NOBODY, False), UNPLAYED),
    "a damaged record": (("record damaged", "", ()), Means(NOBODY, False), UNPLAYED),
}


def void(tournament_run: TournamentRun, attempt: int, case: str, *, stopped: bool = False) -> None:
    """Let an attempt at game 1, which has begun, end void."""
    (reason, cause, absent), _, _ = VOID[case]
    tournament_run.act(do.ReportResult(1, f"m{attempt}", None, reason, cause, "", absent, stopped))


@pytest.mark.parametrize("attempts", [1, 2, 3])
@pytest.mark.parametrize("case", VOID)
@pytest.mark.parametrize("format_", Format)
def test_after_its_last_attempt_a_void_game_has_the_result_of_the_contract(
    format_: Format, case: str, attempts: int
) -> None:
    tournament_run = begun(format_, attempts)
    for attempt in range(1, attempts + 1):
        tournament_run.act(do.Begin(1, attempt, f"m{attempt}"))
        assert not tournament_run.tournament.results
        void(tournament_run, attempt, case)
    _, means, reason = VOID[case]
    check(tournament_run, means)
    result = tournament_run.tournament.results[1]
    assert (result.reason, result.match) == (reason, "")
    assert violations(tournament_run.log) == []


def test_a_match_that_its_tournament_stops_at_the_end_is_no_attempt_that_failed() -> None:
    tournament_run = begun(Format.ARENA, attempts=1)
    void(tournament_run, 1, "aborted", stopped=True)
    assert not tournament_run.tournament.results


def test_the_checker_finds_a_game_that_is_played_too_often_and_one_that_is_given_up_too_early() -> None:
    tournament_run = begun(Format.ROUND_ROBIN, attempts=2)
    for attempt in (1, 2):
        tournament_run.act(do.Begin(1, attempt, f"m{attempt}"))
        void(tournament_run, attempt, "both left")
    created, rest = tournament_run.tournament.created, tournament_run.log[1:]

    def found(attempts: int) -> list[str]:
        return violations([replace(created, spec=replace(created.spec, attempts=attempts)), *rest])

    assert found(2) == []
    assert "game 1 was begun 2 times, of 1 at most" in found(1)
    assert "game 1 was given up after attempt 2" in found(3)


def test_a_stored_specification_without_attempts_has_as_many_as_are_allowed() -> None:
    written = write_spec(begun(Format.ROUND_ROBIN).tournament.spec)
    assert read_spec(written, str, stored=True).attempts == 3
    del written["attempts"]
    assert (read_spec(written, str, stored=True).attempts, read_spec(written, str).attempts) == (MOST_ATTEMPTS, 3)


@pytest.mark.parametrize(
    ("missed", "absent"), [((2, 2, 0, 2, 2), set()), ((2, 2, 2), {"p001"}), ((2, 1, 2), {"p000", "p001"})]
)
def test_a_trial_reads_nothing_more_once_players_have_missed_three_pairs_in_a_row(
    missed: tuple[int, ...], absent: set[str]
) -> None:
    """missed: for each meeting the number of the player, from 1, who did not come to it; 0: both came."""
    spec = Spec("test", Format.TRIAL, ("hop-it",), "1s", options=Options(most_meetings=9))
    tournament_run = TournamentRun(spec, 2, random.Random(1))
    reader = TrialPairs(tournament_run.tournament)
    for player in missed:
        tournament_run.pair()
        for game in tournament_run.tournament.meetings[-1].games:
            tournament_run.act(do.Begin(game.number, 1, f"m{game.number}"))
            seat = 1 if game.seat1 == f"p{player - 1:03}" else 2
            winner: Winner = 2 if seat == 1 else 1
            reason, cause = (NO_SHOW, ABSENCE) if player else ("by lot", "rules")
            match, missing = f"m{game.number}", (seat,) if player else ()
            tournament_run.act(do.ReportResult(game.number, match, winner, reason, cause, absent=missing))
    assert len(list(reader.read())) == missed.count(0)
    assert reader.absent == absent
    patient = TrialPairs(tournament_run.tournament, patient=True)
    list(patient.read())
    assert not patient.absent, "as in tournaments of older servers"
