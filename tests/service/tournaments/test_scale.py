"""Large tournaments in simulated time: through the whole service, or on the engine alone where pairing takes long."""

from __future__ import annotations

import asyncio
import random

import pytest

from arbiter.service.tournaments.driver import PAIRED_AT_ONCE
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


@virtually
async def test_rounds_that_need_no_game_before_them_are_paired_many_at_once() -> None:
    contest = Contest(2)
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN, cycles=2 * PAIRED_AT_ONCE))
    while (await contest.tournament(tournament_id)).rounds < 2 * PAIRED_AT_ONCE:  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0.01)
    log = (await contest.checked(tournament_id)).events
    before = log[: next(number for number, event in enumerate(log) if isinstance(event, ev.Begun))]
    assert sum(isinstance(event, ev.Paired) for event in before) >= PAIRED_AT_ONCE
