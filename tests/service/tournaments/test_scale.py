"""Large tournaments in simulated time: through the whole service, or on the engine alone where pairing takes long."""

from __future__ import annotations

import random

import pytest

from arbiter.testing.clock import virtually
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.spec import Format
from tests.service.tournaments.contest import Contest, spec_of


@pytest.mark.long
@pytest.mark.timeout(1_800)  # nearly all of the time is the pairing of the rounds by the FIDE rules
def test_a_large_swiss_is_played_to_its_end(players: int) -> None:
    tournament_run = TournamentRun(spec_of(Format.SWISS, rounds=11), players, random.Random(1))
    tournament = tournament_run.play()
    assert tournament.end is not None
    assert tournament.end.end is ev.End.COMPLETE
    assert len(tournament.results) == 11 * (players // 2)
    assert violations(tournament_run.log) == []


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("format_", [Format.SWISS, Format.ROUND_ROBIN])
@virtually
async def test_large_tournaments_are_played_through_the_whole_service(format_: Format, players: int) -> None:
    """A tenth of the players (at least 60) in five rounds; a fifth of them, each against each."""
    count = max(60, players // 10) if format_ is Format.SWISS else players // 5
    contest = Contest(count)
    log = await contest.ended(await contest.start(spec_of(format_, rounds=5)))
    assert len(log.tournament.results) == count // 2 * (5 if format_ is Format.SWISS else count - 1)
