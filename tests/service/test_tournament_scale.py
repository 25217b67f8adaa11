"""Large tournaments in simulated time: the engine alone with the largest, the whole service with smaller ones."""

from __future__ import annotations

import random

import pytest

from arbiter.testing.clock import virtually
from arbiter.testing.tournaments import Grounds
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.spec import Format
from tests.service.contest import Contest, spec_of


@pytest.mark.timeout(600)  # most of it is the drawing of the rounds by the FIDE rules
@pytest.mark.parametrize(
    ("format_", "players", "games"), [(Format.SWISS, 500, 11 * 250), (Format.ROUND_ROBIN, 100, 99 * 50)]
)
def test_the_largest_are_played_to_their_end(format_: Format, players: int, games: int) -> None:
    grounds = Grounds(spec_of(format_, rounds=11), players, random.Random(1))
    tournament = grounds.play()
    assert tournament.end is not None
    assert tournament.end.end is ev.End.COMPLETE
    assert len(tournament.results) == games
    assert violations(grounds.log) == []


@pytest.mark.parametrize(
    ("format_", "players", "games"), [(Format.SWISS, 60, 5 * 30), (Format.ROUND_ROBIN, 20, 19 * 10)]
)
@virtually
async def test_large_ones_are_played_through_the_whole_service(format_: Format, players: int, games: int) -> None:
    contest = Contest(players)
    log = await contest.ended(await contest.start(spec_of(format_, rounds=5)))
    assert len(log.tournament.results) == games
