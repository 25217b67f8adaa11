"""A snapshot of a tournament does not change while the tournament goes on."""

from __future__ import annotations

import random

import pytest

from arbiter.testing.random_tournaments import TournamentRun, drawn
from arbiter.tournaments.evolution import replay
from arbiter.tournaments.standings import standings
from arbiter.tournaments.state_copy import copied
from arbiter.tournaments.tournament import Tournament, TournamentPhase


def state(tournament: Tournament) -> str:
    """Return the complete state of a tournament, except the functions that make its defaults."""
    return repr({name: dict(value) if isinstance(value, dict) else value for name, value in vars(tournament).items()})


@pytest.mark.parametrize("seed", range(12))
def test_a_snapshot_does_not_change(seed: int) -> None:
    lots = random.Random(seed)
    tournament_run = TournamentRun(*drawn(lots), lots)
    for _ in range(lots.randint(1, 30)):
        tournament_run.step()
    behind, events = copied(tournament_run.tournament), list(tournament_run.log)
    before = state(behind)
    assert before == state(tournament_run.tournament)
    tournament_run.play()
    assert tournament_run.tournament.phase is TournamentPhase.ENDED
    assert state(behind) == before
    assert standings(behind) == standings(replay(events))
