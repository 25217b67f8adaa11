"""Large tournaments in simulated time: through the whole service, and where pairing takes long on the engine alone."""

from __future__ import annotations

import random

import pytest

from arbiter.testing.clock import virtually
from arbiter.testing.tournaments import Grounds
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.spec import Format
from tests.service.tournaments.contest import Contest, spec_of


@pytest.mark.timeout(600)  # nearly all of it is the drawing of the rounds by the FIDE rules
def test_a_swiss_of_500_players_is_played_to_its_end() -> None:
    grounds = Grounds(spec_of(Format.SWISS, rounds=11), 500, random.Random(1))
    tournament = grounds.play()
    assert tournament.end is not None
    assert tournament.end.end is ev.End.COMPLETE
    assert len(tournament.results) == 11 * 250
    assert violations(grounds.log) == []


@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    ("format_", "players", "games"), [(Format.SWISS, 60, 5 * 30), (Format.ROUND_ROBIN, 100, 99 * 50)]
)
@virtually
async def test_large_ones_are_played_through_the_whole_service(format_: Format, players: int, games: int) -> None:
    contest = Contest(players)
    log = await contest.ended(await contest.start(spec_of(format_, rounds=5)))
    assert len(log.tournament.results) == games
