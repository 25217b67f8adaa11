"""The statistics of a trial in one line: the pairs are those that the arbiter counts."""

from __future__ import annotations

import random
from typing import Any

import arbiter_client as arb
import pytest

from arbiter.cli.tournament_run.screen import PlainOutput
from arbiter.cli.tournament_run.trial_line import TrialLine
from arbiter.cli.tournament_spec import spec_value
from arbiter.service.tournaments.trial_decision import PairTest
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments.game_ends import NO_SHOW
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.tournament import Tournament
from tests.cli.tournament_events import of_tournament


def played(paired: bool, seed: int, **options: Any) -> Tournament:
    """Return a trial of two variants, some of whose games repeat others or were not played."""
    games = ("hop-it", "pods(size=3)")
    spec = Spec("test", Format.TRIAL, games, "1s", paired=paired, options=Options(**options))
    chance = random.Random(seed)
    return TournamentRun(spec, 2, chance, lambda _: chance.choice((0, 0, 1, 1, 1, 2, 2))).play()


def line_of(tournament: Tournament) -> tuple[TrialLine, list[str]]:
    """Return the statistics from the events of a trial, and the lines on the way."""
    a, b = list(tournament.entrants)[:2]
    line, said = TrialLine(spec_value(tournament.spec), (a, b)), list[str]()
    paired = [arb.PairedGame(game.number, (game.seat1, game.seat2), game.game) for game in tournament.games]
    line.take(of_tournament(arb.GamesPaired(1, tuple(paired), ())))
    numbers = sorted(tournament.results)
    random.Random(3).shuffle(numbers)  # games end in any order
    for number in numbers:
        result = tournament.results[number]
        match_id = f"m{number}" if result.played or result.reason == NO_SHOW else ""
        what = arb.GameEnded(number, match_id, result.winner, result.reason, "", (), result.moves)
        said += filter(None, [line.take(of_tournament(what))])
    return line, said


@pytest.mark.long
@pytest.mark.parametrize(
    ("seed", "paired", "normalised"), [(1, True, True), (2, True, False), (3, False, True), (1, False, False)]
)
def test_the_pairs_are_those_of_the_arbiter(seed: int, paired: bool, normalised: bool) -> None:
    tournament = played(paired, seed, elo0=-3_00, elo1=3_00, elo_parts=10, most_meetings=60, normalised=normalised)
    test = PairTest(tournament)
    line, said = line_of(tournament)
    assert line.pairs == test.pairs
    assert line.pairs.total > 5
    assert line.hypotheses == test._hypotheses
    assert len(said) == len(tournament.results) // 10
    assert f"LLR {test._standing.ratio:.2f} (-2.94 to 2.94) for -30 against 30" in line.line()


def test_a_pair_does_not_count_if_both_bots_left_one_of_its_games() -> None:
    """Neither is there: neither has won, and it is no draw."""
    spec = arb.TournamentSpec(name="t", format=arb.TournamentFormat.TRIAL, games=("pods",), time="1s")
    line = TrialLine(spec, ("a", "b"))
    games = tuple(arb.PairedGame(n, ("a", "b") if n % 2 else ("b", "a"), "pods") for n in range(1, 5))
    line.take(of_tournament(arb.GamesPaired(1, games, ())))
    for number, cause in enumerate(["rules", "rules", "rules", "absence"], 1):
        line.take(of_tournament(arb.GameEnded(number, f"m{number}", 0, "x", cause, (), f"moves {number}")))
    assert (line.games, line.pairs.total) == (4, 1)


def test_the_line_says_all_that_engine_testers_look_for(capsys: pytest.CaptureFixture[str]) -> None:
    spec = arb.TournamentSpec(
        name="t",
        format=arb.TournamentFormat.TRIAL,
        games=("chess",),
        time="1s",
        options=arb.TournamentOptions(elo0=0, elo1=200, elo_parts=100, normalised=True),
    )
    line = TrialLine(spec, ("new", "old"))
    assert line.line().endswith("pairs by points 0-0-0-0-0, LLR 0.00 (-2.94 to 2.94) for 0 against 2 nElo")
    line.pairs, line.games = (
        line.pairs._replace(zero=379, half=10_170, one=21_828, one_and_a_half=10_640, two=343),
        86_720,
    )
    PlainOutput(print).found(line.line())
    assert capsys.readouterr().out == (
        "new against old: 86,720 games, Elo +1.6 (+0.4 to +2.8), nElo +3.1 ± 2.3, LOS 99.5%, draw ratio 50.3%, "
        "pairs by points 379-10170-21828-10640-343, LLR 2.95 (-2.94 to 2.94) for 0 against 2 nElo: H1 is accepted\n"
    )
