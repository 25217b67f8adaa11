"""Which pairings that exist would be others after a decision of the organiser."""

from __future__ import annotations

from arbiter.tournaments import commands as do
from arbiter.tournaments.corrections import Disqualify, Replay, Results
from arbiter.tournaments.events import Decision
from arbiter.tournaments.later_pairings import later_pairings
from arbiter.tournaments.spec import Format
from arbiter.tournaments.state_copy import copied
from tests.tournaments.test_corrections import correct, until
from tests.tournaments.test_game_rulings import rule, run_of


def test_the_first_round_of_a_swiss_that_would_be_another_is_named() -> None:
    run = run_of(Format.SWISS, 8, rounds=4)
    until(run, lambda: run.tournament.rounds == 3)
    before = copied(run.tournament)
    rule(run, 1, Decision.POINTS, 0, 2)
    [found] = later_pairings(before, run.tournament)
    made = {(m.first, m.second) for m in before.meetings if m.round == 2}
    assert (found.round, found.result) == (2, "")
    assert {pair[:2] for pair in found.pairs} <= made
    assert not {pair[:2] for pair in found.instead} & made
    assert {p for pair in found.pairs for p in pair[:2]} == {p for pair in found.instead for p in pair[:2]}
    rule(run, 1, Decision.STANDS)
    assert later_pairings(before, run.tournament) == [], "nothing has changed"


def test_each_result_of_a_game_that_is_played_again_is_tried() -> None:
    run = run_of(Format.SWISS, 8, rounds=4)
    until(run, lambda: run.tournament.rounds == 2)
    before, what = copied(run.tournament), Replay(1)
    correct(run, what)
    found = later_pairings(before, run.tournament, what)
    assert before.results[1].winner == 1
    assert {each.result for each in found} <= {"1/2-1/2", "0-1"}
    assert "0-1" in {each.result for each in found}
    assert all(each.round == 2 for each in found)


def test_a_bracket_names_the_ties_that_would_have_other_players() -> None:
    run = run_of(Format.KNOCKOUT, 4)
    until(run, lambda: len(run.tournament.meetings) == 3)
    before, final = copied(run.tournament), run.tournament.meetings[-1]
    semi = run.tournament.games[0]
    assert final.first in semi[2:4] or final.second in semi[2:4]
    rule(run, 1, Decision.POINTS, 0, 2)
    [found] = later_pairings(before, run.tournament)
    assert found.round == 0
    assert [set(pair[:2]) for pair in found.pairs] == [{final.first, final.second}]
    assert semi.seat2 in found.instead[0][:2]
    assert semi.seat1 not in found.instead[0][:2]


def test_other_formats_pair_nobody_by_results() -> None:
    for format_ in (Format.ROUND_ROBIN, Format.GAUNTLET, Format.ARENA, Format.LADDER):
        run = run_of(format_, 5)
        until(run, lambda run=run: len(run.tournament.results) > 3)  # type: ignore[misc]
        before = copied(run.tournament)
        run.act(do.Correct("org", "out", Disqualify("p000", True, Results.FORFEIT)))
        assert later_pairings(before, run.tournament) == []
