"""Knockouts, trials and Swiss rounds without players, through the whole service in virtual time."""

from __future__ import annotations

import pytest

from arbiter.testing.clock import settle, virtually
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.spec import Format
from arbiter.tournaments.standings import standings
from tests.service.tournaments.contest import Contest, spec_of

WAIT_MS = 3_000


@pytest.mark.parametrize("paired", [False, True])
@virtually
async def test_a_tie_of_absent_players_is_waited_for_once_and_the_next_opponent_goes_on(paired: bool) -> None:
    contest = Contest(4)
    spec = spec_of(Format.KNOCKOUT, paired=paired, best_of=3, policy={"no_show_ms": WAIT_MS})
    tournament_id = await contest.open(spec)
    await settle()
    for name in ("p000", "p003"):
        await contest.leave(name)
    await contest.act(tournament_id, do.Start("org", "start"))
    log = await contest.ended(tournament_id, most_s=60)
    absent = [event for event in log.events if isinstance(event, ev.EndedGame) and event.reason == "no_show"]
    assert len(absent) == 1
    assert log.events[-1].at - (log.tournament.started_at or 0) < 2 * WAIT_MS
    (winner,) = [row.player for row in standings(log.tournament).rows if row.reached == "winner"]
    assert winner in ("p001", "p002")


@pytest.mark.parametrize(("paired", "at_once", "games"), [(True, 1, 6), (False, 1, 6), (True, 4, 12)])
@virtually
async def test_a_trial_waits_for_an_absent_player_only_three_times(paired: bool, at_once: int, games: int) -> None:
    contest = Contest(2)
    spec = spec_of(
        Format.TRIAL, paired=paired, at_once=at_once, most_meetings=100, elo1=400, policy={"no_show_ms": WAIT_MS}
    )
    tournament_id = await contest.open(spec)
    await settle()
    await contest.leave("p001")
    await contest.act(tournament_id, do.Start("org", "start"))
    log = await contest.ended(tournament_id, most_s=60)
    end = log.tournament.end
    assert end is not None
    assert end.end is ev.End.DECIDED
    assert end.note.startswith("undecided: p001 did not come to one game after another; log-likelihood ratio 0.000")
    assert games <= len(log.tournament.results) < games + at_once + 1


@virtually
async def test_a_swiss_goes_on_after_a_round_of_byes() -> None:
    contest = Contest(3)
    made = await contest.server.arbiter.tournaments.create(spec_of(Format.SWISS, rounds=3), "org", "make")
    for name in contest.names:
        byes = () if name == "p002" else (1,)
        await contest.act(made.id, do.Enter(name, "org", f"enter {name}", byes=byes))
        await contest.connect(name)
    await contest.act(made.id, do.Start("org", "start"))
    log = await contest.ended(made.id, most_s=60)
    assert log.tournament.rounds == 3
    assert log.tournament.byes[1] == ("p002",)
    assert len(log.tournament.results) == 2
