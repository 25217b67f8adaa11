"""The test of a trial errs no more often than it says: also with simultaneous games, and with repeated openings."""

from __future__ import annotations

import dataclasses
import heapq
import random
import re
from collections.abc import Callable
from typing import NamedTuple

import pytest

from arbiter.errors import RulesFailed
from arbiter.ratings.sprt import Verdict
from arbiter.service.tournaments import trial_decision
from arbiter.service.tournaments.tournament_verification import trial_faults
from arbiter.service.tournaments.trial_decision import MOST_REPEATS, PairTest
from arbiter.testing.clock import run
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments.events import End, Ended
from arbiter.tournaments.game_ends import Winner
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.spec import Format, Openings, Options, Spec
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from tests.service.tournaments.contest import Contest, spec_of

pytestmark = pytest.mark.long

SPEC = Spec("test", Format.TRIAL, ("hop-it",), "1s", options=Options(elo0=0, elo1=60, most_meetings=2_000))


class Ending(NamedTuple):
    """How a game goes: who wins, after how long, by which moves."""

    winner: Winner
    lasts: float
    moves: str


def trial(spec: Spec, play: Callable[[ScheduledGame], Ending], seed: int = 1) -> tuple[TournamentRun, PairTest]:
    """Play a trial until its test is decided, or its meetings are over; a game takes as long as its ending says."""
    tournament_run = TournamentRun(spec, 2, random.Random(seed))
    test, clock = PairTest(tournament_run.tournament), 0.0
    under_way: list[tuple[float, int, Ending]] = []
    while not test.answer() and tournament_run.tournament.phase is not TournamentPhase.ENDED:
        tournament_run.pair()
        for game in list(tournament_run.tournament.ready()):
            tournament_run.act(do.Begin(game.number, 1, f"m{game.number}"))
            ending = play(game)
            heapq.heappush(under_way, (clock + ending.lasts, game.number, ending))
        if not under_way:
            tournament_run.act(do.Tick())
            break
        clock, number, ending = heapq.heappop(under_way)
        tournament_run.act(do.ReportResult(number, f"m{number}", ending.winner, "by lot", "rules", ending.moves))
        test.update()
    return tournament_run, test


def errors(of: int, at_once: int, play: Callable[[random.Random], Callable[[ScheduledGame], Ending]]) -> int:
    """Return in how many of this many trials of equal bots one is called better."""
    spec = dataclasses.replace(SPEC, at_once=at_once)
    return sum(trial(spec, play(random.Random(seed)), seed)[1].verdict is Verdict.H1 for seed in range(of))


def equal_bots_that_lose_slowly(lots: random.Random) -> Callable[[ScheduledGame], Ending]:
    def play(game: ScheduledGame) -> Ending:
        winner: Winner = lots.choice((0, 1, 2))
        a_lost = winner != 0 and (game.seat1, game.seat2)[winner - 1] != "p000"
        return Ending(winner, 3.0 if a_lost else 1.0, str(game.number))

    return play


def test_simultaneous_games_do_not_make_it_err_more_often(seeds: int) -> None:
    trials = seeds
    for at_once in (1, 64):
        found = errors(trials, at_once, equal_bots_that_lose_slowly)
        assert found <= 0.05 * trials + 3 * (0.05 * 0.95 * trials) ** 0.5, f"{found} of {trials}, {at_once} at once"


def equal_bots_without_chance(openings: int) -> Callable[[random.Random], Callable[[ScheduledGame], Ending]]:
    """Return bots that repeat the same game from the same opening and seats; the openings are used in turn."""

    def with_lots(lots: random.Random) -> Callable[[ScheduledGame], Ending]:
        known: dict[tuple[int, str], Ending] = {}

        def play(game: ScheduledGame) -> Ending:
            key = ((game.meeting - 1) % openings, game.seat1)
            if key not in known:
                known[key] = Ending(lots.choice((0, 1, 2)), 1.0, f"{key}")
            return known[key]

        return play

    return with_lots


def test_repeated_openings_do_not_make_it_err_more_often(seeds: int) -> None:
    trials = seeds
    for openings in (5, 20, 100):
        found = errors(trials, 2, equal_bots_without_chance(openings))
        assert found <= 0.05 * trials + 3 * (0.05 * 0.95 * trials) ** 0.5, f"{found} of {trials}, {openings} openings"


def test_the_rules_are_asked_for_openings_only_once_a_pair_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(openings: Openings, game: str, most: int) -> int:
        raise RulesFailed(game, "no answer within 1 ms")

    monkeypatch.setattr(trial_decision, "different", fail)
    spec = dataclasses.replace(SPEC, options=Options(elo0=0, elo1=60, most_meetings=3))
    _, test = trial(spec, lambda game: Ending(1, 1.0, f"{game.number}"))
    assert test.answer().startswith("undecided at the end")
    with pytest.raises(RulesFailed):
        trial(spec, lambda game: Ending(1, 1.0, game.seat1))


def test_a_repeated_pair_counts_once() -> None:
    def play(game: ScheduledGame) -> Ending:
        return Ending(1 if game.seat1 == "p000" else 2, 1.0, game.seat1)  # A wins, always with the same moves

    _, test = trial(SPEC, play)
    assert test.pairs.total == 1
    assert test.verdict is Verdict.UNDECIDED
    assert test.answer().startswith("undecided: the last pair of games was played before, move by move")
    assert "openings.plies" in test.answer()


@pytest.mark.parametrize("lines", [1, 7, 12])
def test_without_chance_it_ends_once_all_openings_have_come_again(lines: int) -> None:
    openings = Openings(lines={SPEC.games[0]: tuple((f"{number}",) for number in range(lines))})

    def play(game: ScheduledGame) -> Ending:
        line = (game.meeting - 1) % lines
        return Ending(1 if line % 2 else 2, 1.0, f"{line} {game.seat1}")

    played, test = trial(dataclasses.replace(SPEC, openings=openings), play)
    assert test.pairs.total == lines
    assert len(played.tournament.meetings) == 2 * lines, "each opening once, and once more"
    assert test.verdict is Verdict.UNDECIDED
    assert "log-likelihood ratio" in test.answer()


def test_bots_with_chance_may_repeat_a_pair_and_go_on() -> None:
    """Two pairs differ, so that these bots play by chance; then come many that repeat the first."""

    def play(game: ScheduledGame) -> Ending:
        return Ending(1 if game.meeting % 2 else 2, 1.0, f"{game.meeting == 2} {game.seat1}")

    played, test = trial(SPEC, play)
    assert test.pairs.total == 2
    assert len(played.tournament.meetings) == 2 + MOST_REPEATS
    assert test.answer().startswith(f"undecided: the last {MOST_REPEATS} pairs of games were all played before")


def test_a_pair_with_a_new_game_counts() -> None:
    def play(game: ScheduledGame) -> Ending:
        moves = "always the same" if game.seat1 == "p000" else str(game.number)
        return Ending(1 if game.seat1 == "p000" else 2, 1.0, moves)

    _, test = trial(SPEC, play)
    assert test.verdict is Verdict.H1


def test_it_waits_for_earlier_pairs_and_keeps_its_first_verdict() -> None:
    tournament_run = TournamentRun(dataclasses.replace(SPEC, at_once=1_000), 2, random.Random(1))
    tournament, test = tournament_run.tournament, PairTest(tournament_run.tournament)
    tournament_run.pair()

    def end(game: ScheduledGame, winner: str) -> None:
        tournament_run.act(do.Begin(game.number, 1, f"m{game.number}"))
        seat: Winner = 1 if game.seat1 == winner else 2
        tournament_run.act(do.ReportResult(game.number, f"m{game.number}", seat, "by lot", "rules", str(game.number)))
        test.update()

    first, second, *rest = tournament.games
    end(first, "p000")
    for game in rest[: len(rest) // 2]:
        end(game, "p000")
    assert test.pairs.total == 0, "the first pair is not over"
    for game in rest[len(rest) // 2 :]:
        end(game, "p001")
    end(second, "p000")
    assert test.verdict is Verdict.H1, "later pairs do not change the verdict"
    assert test.pairs.two < len(rest) // 2
    assert PairTest(tournament).answer() == test.answer(), "the verdict follows from the log"


async def played(most_meetings: int) -> Tournament:
    """Return a trial of bots that resign by lot, after its end."""
    contest = Contest(2)
    spec = spec_of(Format.TRIAL, paired=True, elo0=0, elo1=400, most_meetings=most_meetings)
    return (await contest.ended(await contest.start(spec))).tournament


def test_a_verdict_by_the_last_pair_counts() -> None:
    whole = run(played(500))
    assert whole.end is not None
    assert whole.end.end is End.DECIDED
    just_enough = run(played(len(whole.meetings)))
    assert just_enough.end is not None
    assert (just_enough.end.end, just_enough.end.note) == (End.DECIDED, whole.end.note)


def test_an_undecided_trial_says_where_its_test_stands() -> None:
    end = run(played(1)).end
    assert end is not None
    assert end.end is End.COMPLETE, "it has no verdict"
    assert end.note.startswith("undecided at the end of options.most_meetings, 1; log-likelihood ratio ")
    assert re.search(r"bounds -2.944 and 2.944, pairs with 0 to 2 points: \d, \d, \d, \d, \d$", end.note)


@pytest.mark.parametrize(
    ("better", "words", "older"),
    [
        ("p000", "h1: p000 is better than p001 by more than 0 Elo", "h1: p000 is 60 Elo above p001"),
        ("p001", "h0: p000 is not better than p001 by 60 Elo", "h0: p000 is 0 Elo above p001"),
    ],
)
def test_a_verdict_says_on_which_side_of_a_bound_the_difference_is(better: str, words: str, older: str) -> None:
    def play(game: ScheduledGame) -> Ending:
        return Ending(1 if game.seat1 == better else 2, 1.0, str(game.number))

    tournament_run, test = trial(SPEC, play)
    assert test.answer().startswith(f"{words} from the openings of this trial; ")
    assert test.answer(older=True).startswith(f"{older} from the openings of this trial; ")
    for note, faults in ((test.answer(), 0), (test.answer(older=True), 0), (f"{words} by chance", 1)):
        tournament_run.tournament.end = Ended(0, End.DECIDED, note=note)
        assert len(trial_faults(tournament_run.tournament)) == faults, "records of older servers hold, too"
