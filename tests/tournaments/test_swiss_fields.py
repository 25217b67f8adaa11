"""Small fields of a Swiss: rounds that fewer than two play, and more rounds than there are opponents."""

from __future__ import annotations

import random

import pytest

from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import engine, formats
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.standings import standings


def spec_of(rounds: int) -> Spec:
    return Spec("test", Format.SWISS, ("hop-it",), "1s", paired=False, options=Options(rounds=rounds))


def run_of(rounds: int, byes: dict[str, tuple[int, ...]]) -> TournamentRun:
    """Return a Swiss of these players that has started, with the rounds that each asked to sit out."""
    run = TournamentRun(spec_of(rounds), 0, random.Random(1), lambda _: 1)  # nobody has entered: it has not started
    for player, asked in byes.items():
        assert run.act(do.Enter(player, "organiser", f"enter {player}", byes=asked)).refusal is None
    assert run.act(do.Start("organiser", "start again")).refusal is None
    return run


@pytest.mark.parametrize(
    ("byes", "after"),
    [
        ({"p1": (1,), "p2": (1,), "p3": ()}, {"p1": 1, "p2": 1, "p3": 2}),
        ({"p1": (1,), "p2": (1,), "p3": (1,)}, {"p1": 1, "p2": 1, "p3": 1}),
        ({"p1": (1,), "p2": (), "p3": (1,), "p4": (1,)}, {"p1": 1, "p2": 2, "p3": 1, "p4": 1}),
    ],
)
def test_a_round_of_byes_is_a_round(byes: dict[str, tuple[int, ...]], after: dict[str, int]) -> None:
    run = run_of(3, byes)
    proposal = formats.of(run.tournament.spec).propose(run.tournament, formats.FreePlayers())
    assert proposal is not None
    run.act(proposal)
    assert run.tournament.rounds == 1
    assert {row.player: row.points for row in standings(run.tournament).rows} == after, "in half points"
    tournament = run.play()
    assert tournament.rounds == 3
    assert tournament.results
    assert violations(run.log) == []


def test_a_player_left_alone_has_the_bye_only_once() -> None:
    run = run_of(3, {"p1": (1, 2), "p2": (1, 2), "p3": ()})
    tournament = run.play()
    assert tournament.rounds == 3
    assert tournament.byes.get(1) == ("p3",)
    assert 2 not in tournament.byes
    assert violations(run.log) == []


def test_a_swiss_from_which_all_but_one_have_withdrawn_is_over() -> None:
    run = run_of(5, {"p1": (), "p2": (), "p3": ()})
    run.step()
    run.withdraw("p1")
    run.withdraw("p2")
    tournament = run.play()
    assert tournament.rounds == 1
    assert violations(run.log) == []


def test_the_checker_finds_a_swiss_that_ends_because_players_sit_out_a_round() -> None:
    run = run_of(3, {"p1": (1,), "p2": (1,), "p3": ()})
    ended = engine.decide(run.tournament, do.Arrange(run.tournament.revision, 1, ()), 0).events
    assert isinstance(ended[0], ev.Ended), "as it was before"
    found = violations([*run.log, *ended])
    assert found == ["it ended before round 1, which only 1 would have played: others come back"]


@pytest.mark.parametrize(
    ("rounds", "players", "most"), [(9, 4, 3), (4, 4, 3), (3, 4, 0), (5, 5, 0), (6, 5, 5), (9, 1, 0)]
)
def test_more_rounds_than_the_field_allows_are_said(rounds: int, players: int, most: int) -> None:
    said = formats.of(spec_of(rounds)).field_caution(spec_of(rounds), players)
    assert bool(said) is bool(most)
    assert not most or f"{players} players can play {most} rounds" in said
