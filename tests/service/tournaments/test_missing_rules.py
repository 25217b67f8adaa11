"""Tournaments of a game whose package is gone: they wait for it, can be read, and cost no other tournament anything."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from arbiter.testing.clock import run, virtually
from arbiter.tournaments import commands as do
from arbiter.tournaments.spec import Format, Openings
from arbiter.tournaments.tournament import TournamentPhase
from tests.plugins.installed import installed
from tests.service.tournaments.contest import Contest, spec_of
from tests.service.tournaments.test_tournament_verification import played

HEAP = "heap(stones=7)"
WAITING = {
    Format.ROUND_ROBIN: Openings(lines={HEAP: (("1",), ("2",))}),
    Format.TRIAL: Openings(plies=1, seed="s"),
    Format.LADDER: Openings(),
}


@pytest.mark.parametrize("format_", WAITING)
@virtually
async def test_they_wait_and_go_on_once_the_rules_are_back(tmp_path: Path, format_: Format) -> None:
    for folder in ("then", "now", "later"):
        (tmp_path / folder).mkdir()
    with installed(tmp_path / "then", ("heap",)):
        contest = Contest(2)
        spec = spec_of(format_, games=(HEAP,), openings=WAITING[format_], duration_ms=600_000)
        tournament_id = await contest.open(spec)
        before = await contest.act(tournament_id, do.Start("org", "start"))
    with installed(tmp_path / "now"):
        with capture_logs() as starting:
            await contest.crash()
        assert [log["game"] for log in starting if log["event"] == "tournament_waits_for_rules"] == [HEAP]
        with capture_logs() as logs:
            other = await contest.start(spec_of(Format.SWISS, rounds=1))
            await contest.ended(other)
        assert "tournament_set_aside" not in {log["event"] for log in starting}
        assert not {"game_not_made", "tournament_failed"} & {log["event"] for log in logs}
        waits = await contest.server.arbiter.tournaments.get(tournament_id)
        assert (waits.phase, waits.spec) == (TournamentPhase.RUNNING, before.spec)
        assert waits.games_ended == before.games_ended
    with installed(tmp_path / "later", ("heap",)):
        await contest.crash()
        while waits.games_ended == before.games_ended:
            await asyncio.sleep(0.1)
            waits = await contest.server.arbiter.tournaments.get(tournament_id)


@pytest.mark.long
def test_what_follows_from_the_rules_is_not_checked(tmp_path: Path) -> None:
    for folder in ("then", "now"):
        (tmp_path / folder).mkdir()
    openings = Openings(plies=1, seed="s")
    with installed(tmp_path / "then", ("heap",)):
        export = run(played(Format.TRIAL, 2, leaves=False, games=(HEAP,), openings=openings, most_meetings=4))
        assert export.verified().unchecked == []
    with installed(tmp_path / "now"):
        found = export.verified()
        assert (found.tournament.spec.games, found.unchecked) == ((HEAP,), [HEAP])
