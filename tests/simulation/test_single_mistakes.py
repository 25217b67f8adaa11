"""Checks of the simulation find single mistakes, in tournaments and ends of matches that are made for this."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from arbiter.service.record.tournament_log import Chain, StoredLog
from arbiter.service.tournaments.trial_decision import PairTest
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.testing.simulation.invariants import RunEvidence
from arbiter.testing.simulation.invariants.ends import absent
from arbiter.testing.simulation.invariants.run_evidence import RecordedEvent
from arbiter.testing.simulation.invariants.tournaments import (
    VOID,
    games_are_matches,
    paired,
    played_alone,
    trial_ends_by_its_test,
)
from arbiter.tournaments.events import Begun, EndedGame, Event, Paired
from arbiter.tournaments.evolution import replay
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.standings import standings
from arbiter.tournaments.tournament import TournamentPhase


@pytest.mark.parametrize("seed", range(20))
def test_a_tournament_is_paired_on_one_server_as_on_several_also_with_late_entries(seed: int) -> None:
    dice = Random(seed)
    spec = Spec("a cup", Format.SWISS, ("circle-of-life(target=1)",), "1m", paired=False, options=Options(rounds=5))
    run = TournamentRun(spec, 3, dice, lambda _: dice.choice((0, 1, 2)))
    late = [f"late{number}" for number in range(3)]
    while late and run.tournament.phase is TournamentPhase.RUNNING:
        if dice.random() < 0.3:
            run.enter(late.pop())
        run.step()
    run.play()
    alone = played_alone(run.log)
    assert paired(alone) == paired(run.tournament)
    assert standings(alone).rows == standings(run.tournament).rows
    assert len(alone.players) == 6 - len(late)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_bracket_is_the_same_on_one_server_whichever_of_its_ties_goes_on_first(double: bool, seed: int) -> None:
    """Draws are played again, so one tie may be decided long before another."""
    dice = Random(seed)
    options = Options(double=double)
    spec = Spec("a cup", Format.KNOCKOUT, ("circle-of-life(target=1)",), "1m", paired=False, options=options)
    run = TournamentRun(spec, 6, dice, lambda _: dice.choice((0, 0, 1, 2)))
    run.play()
    alone = played_alone(run.log)
    assert paired(alone) == paired(run.tournament)
    assert standings(alone).rows == standings(run.tournament).rows


def test_a_pairing_that_does_not_follow_from_the_results_is_found() -> None:
    spec = Spec("a cup", Format.KNOCKOUT, ("circle-of-life(target=1)",), "1m", paired=False)
    run = TournamentRun(spec, 4, Random(1), lambda _: 1)
    run.play()
    final = next(n for n, event in enumerate(run.log) if isinstance(event, Paired) and len(event.meetings) == 1)
    event = run.log[final]
    assert isinstance(event, Paired)
    [meeting] = event.meetings
    loser = next(name for name in run.tournament.players if name not in (meeting.first, meeting.second))
    [game] = meeting.games
    changed = meeting._replace(second=loser, games=(game._replace(seat2=loser),))
    tampered = [*run.log[:final], replace(event, meetings=(changed,)), *run.log[final + 1 :]]
    assert paired(played_alone(tampered)) != paired(replay(tampered))


@pytest.mark.parametrize("elo1", [10, 400])
def test_a_trial_that_ends_without_its_verdict_is_found(elo1: int) -> None:
    """Between bots that win with seat 1, it is soon clear that one is not 400 Elo better than the other."""
    options = Options(elo1=elo1, most_meetings=40)
    spec = Spec("a trial", Format.TRIAL, ("circle-of-life(target=1)",), "1m", options=options)
    run = TournamentRun(spec, 2, Random(1), lambda _: 1)
    run.play()
    tournament = run.tournament
    assert tournament.end is not None
    assert list(trial_ends_by_its_test(StoredLog(run.log, tournament, Chain("t1")))), "it does not say how it stood"
    tournament.end = replace(tournament.end, note=PairTest(tournament).answer())
    found = list(trial_ends_by_its_test(StoredLog(run.log, tournament, Chain("t1"))))
    assert bool(found) is (elo1 == 400)


class OfMatches(RunEvidence):
    """Evidence of some matches alone."""

    def __init__(self, matches: dict[str, list[RecordedEvent]]) -> None:
        self.matches = matches


def recorded(*events: dict[str, Any]) -> list[RecordedEvent]:
    """Return the events of a match, after its creation at 0 for the tournament t1."""
    created = {"kind": "created", "at": 0, "label": "t1", "policy": {"abandon_ms": 3_000, "no_show_ms": 1_000}}
    return [RecordedEvent(n, n, b"", each) for n, each in enumerate((created, *events), start=1)]


LEFT_BY_BOTH = (
    {"kind": "arrived", "at": 1, "seat": 1},
    {"kind": "arrived", "at": 1, "seat": 2},
    {"kind": "started", "at": 1},
    {"kind": "left", "at": 10, "seat": 2},
    {"kind": "left", "at": 11, "seat": 1},
)
BY_ABSENCE = {"kind": "ended", "cause": "absence", "reason": "abandonment"}


@pytest.mark.parametrize("back", [False, True])
def test_a_win_by_absence_of_a_player_who_was_not_there_is_found(back: bool) -> None:
    won = BY_ABSENCE | {"at": 3_011, "result": "win", "winner": 1, "seat": 2, "party": "player"}
    came_back = ({"kind": "arrived", "at": 3_000, "seat": 1},) if back else ()
    wrong = absent(OfMatches({}), "m1", recorded(*LEFT_BY_BOTH, *came_back, won))
    assert wrong == ("" if back else "was won by the absence of a player by one who was not there either")


@pytest.mark.parametrize(("at", "time", "wrong"), [(2_000, "none", ""), (1_999, "none", "came before 2000")])
def test_a_match_whose_players_left_may_be_void_once_its_flag_has_fallen(at: int, time: str, wrong: str) -> None:
    """Also without clocks: a move has its cap."""
    match_ = recorded(*LEFT_BY_BOTH, BY_ABSENCE | {"at": at, "result": "void", "winner": 0, "party": "players"})
    match_[0].event["time"], match_[0].event["policy"]["move_cap_ms"] = time, 1_999
    assert absent(OfMatches({}), "m1", match_) == wrong


@pytest.mark.parametrize(("reason", "wrong"), [("abandonment", True), ("no_show", False)])
def test_a_void_match_that_counts_as_a_draw_is_found(reason: str, wrong: bool) -> None:
    void = BY_ABSENCE | {"at": 3_011, "result": "void", "winner": 0, "party": "players", "reason": reason}
    case = OfMatches({"m1": recorded(*LEFT_BY_BOTH, void)})
    log: list[Event] = [Begun(1, 1, 1, "m1"), EndedGame(3_011, 1, "m1", 0, reason, "absence")]
    found = [violation.promise for violation in games_are_matches(case, "t1", log)]
    assert found == ([VOID] if wrong else [])
