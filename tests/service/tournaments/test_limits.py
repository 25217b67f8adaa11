"""How many games of tournaments are played at once, and how long a paused tournament lasts."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from arbiter.matches.match import Match, Phase
from arbiter.service.record.published import Published
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.spec import Format
from tests.service.tournaments.contest import Contest, spec_of


@pytest.mark.long
@pytest.mark.parametrize("format_", [Format.ROUND_ROBIN, Format.ARENA])
@virtually
async def test_the_number_of_simultaneous_games_is_limited(format_: Format) -> None:
    contest = Contest(7, server=InMemoryArbiter(limits={"tournament_games": 2}))
    matches = contest.server.arbiter.matches
    most = 0

    def count(match: Match, published: list[Published]) -> None:
        nonlocal most
        most = max(most, sum(live.newest.phase is not Phase.ENDED for live in matches.live))

    contest.server.arbiter.match_listeners.append(count)  # type: ignore[arg-type]
    log = await contest.ended(await contest.start(spec_of(format_)))
    assert most == 2
    assert len(log.tournament.results) >= 7


@virtually
async def test_the_games_of_all_tournaments_count_together() -> None:
    contest = Contest(4, server=InMemoryArbiter(limits={"tournament_games": 1}))
    first = await contest.start(spec_of(Format.ROUND_ROBIN))
    other = await contest.server.arbiter.tournaments.create(spec_of(Format.GAUNTLET), "org", "the other one")
    for name in contest.names:
        await contest.act(other.id, do.Enter(name, "org", f"enter {name}"))
    await contest.act(other.id, do.Start("org", "start"))
    logs = [await contest.ended(tournament_id) for tournament_id in (first, other.id)]
    spans = [
        (event.at, next(end.at for end in log.events if isinstance(end, ev.EndedGame) and end.game == event.game))
        for log in logs
        for event in log.events
        if isinstance(event, ev.Begun)
    ]
    spans.sort()
    assert len(spans) == 9
    assert all(ended <= begun for (_, ended), (begun, _) in itertools.pairwise(spans))


@pytest.mark.long
@virtually
async def test_the_time_of_a_pause_does_not_count() -> None:
    contest = Contest(4)
    tournament_id = await contest.start(spec_of(Format.ARENA, duration_ms=6_000))
    before = (await contest.tournament(tournament_id)).ends_at
    await asyncio.sleep(2)
    await contest.act(tournament_id, do.Pause("org", "pause"))
    await asyncio.sleep(100)
    await contest.crash()
    resumed = await contest.act(tournament_id, do.Continue("org", "go on"))
    assert before is not None
    assert resumed.ends_at is not None
    assert resumed.ends_at - before >= 100_000
    log = await contest.ended(tournament_id)
    assert log.tournament.end is not None
    assert log.tournament.end.end is ev.End.TIME
    assert log.tournament.end.at >= resumed.ends_at
    assert any(isinstance(event, ev.Paired) and event.at > before for event in log.events)
