"""Void matches of tournaments, through the whole service in virtual time: their games are played again."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from arbiter.testing.clock import settle, virtually
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.spec import Format
from arbiter.tournaments.tournament import TournamentPhase
from tests.service.tournaments.contest import Contest, spec_of


async def under_way(contest: Contest, tournament_id: str, plies: int = 3) -> str:
    """Wait until a match of a tournament has some plies; return its id."""
    matches = contest.server.arbiter.matches
    while (tournament := await contest.tournament(tournament_id)).phase is TournamentPhase.RUNNING:
        for running in tournament.running.values():
            if (await matches.match(running.match)).ply >= plies:
                return running.match
        await asyncio.sleep(0.01)
    raise AssertionError("no game lasted so long")


NOBODY_RESIGNS = 5  #: a seed of a contest
GAMES_THAT_LAST: dict[str, Any] = {
    "games": ("circle-of-life",),
    "time": "5m",
    "policy": {"abandon_ms": 3_000, "resume_ms": 1_000},
}


@pytest.mark.parametrize("apart_s", [0.0, 0.05, 2.9])
@pytest.mark.parametrize("format_", [Format.ROUND_ROBIN, Format.SWISS, Format.KNOCKOUT, Format.TRIAL])
@virtually
async def test_neither_has_won_a_match_that_both_have_left_and_it_is_played_again(
    format_: Format, apart_s: float
) -> None:
    contest = Contest(2, seed=NOBODY_RESIGNS)
    spec = spec_of(format_, **GAMES_THAT_LAST)
    tournament_id = await contest.start(dataclasses.replace(spec, options=dataclasses.replace(spec.options, rounds=1)))
    match_id = await under_way(contest, tournament_id)
    await contest.leave("p001")
    await asyncio.sleep(apart_s)
    await contest.leave("p000")
    await asyncio.sleep(10)
    match = await contest.server.arbiter.matches.match(match_id)
    assert match.result is not None
    assert (match.result.result, match.result.reason, match.result.seat) == ("void", "abandonment", None)
    tournament = await contest.tournament(tournament_id)
    assert (tournament.results, tournament.attempts) == ({}, {1: 2})
    await contest.connect("p000")
    await contest.connect("p001")
    log = await contest.ended(tournament_id)
    assert [event.match for event in log.events if isinstance(event, ev.Voided)] == [match_id]
    assert log.tournament.results[1].match != match_id


@virtually
async def test_a_match_that_server_and_players_left_is_played_again_and_no_draw() -> None:
    contest = Contest(2, seed=NOBODY_RESIGNS)
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN, **GAMES_THAT_LAST))
    match_id = await under_way(contest, tournament_id)
    for name in contest.names:
        contest.playing.pop(name).cancel()
    await contest.server.restart()
    await asyncio.sleep(10)
    tournament = await contest.tournament(tournament_id)
    assert (tournament.results, tournament.attempts) == ({}, {1: 2})
    log = await contest.ended(tournament_id)
    assert [event.match for event in log.events if isinstance(event, ev.Voided)] == [match_id]
    result = log.tournament.results[1]
    assert (result.reason, result.lost_by_both) == ("no_show", True), "nobody came to the second match either"


@pytest.mark.parametrize("attempts", [1, 4])
@virtually
async def test_a_player_who_never_comes_has_lost_after_the_last_attempt(attempts: int) -> None:
    contest = Contest(2)
    policy = {"no_show": "void", "no_show_ms": 1_000}
    tournament_id = await contest.open(spec_of(Format.ROUND_ROBIN, policy=policy, attempts=attempts))
    await settle()  # its task runs, and can be cancelled
    await contest.leave("p001")
    await contest.act(tournament_id, do.Start("org", "start"))
    log = await contest.ended(tournament_id, most_s=100)
    result, game = log.tournament.results[1], log.tournament.games[0]
    assert sum(isinstance(event, ev.Voided) for event in log.events) == attempts
    assert (result.winner, result.reason, result.match) == (1 if game.seat1 == "p000" else 2, "no_show", "")
    assert not result.played


@virtually
async def test_replays_after_outages_are_counted_and_bounded() -> None:
    contest = Contest(2, seed=NOBODY_RESIGNS)
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN, attempts=1, **GAMES_THAT_LAST))
    await under_way(contest, tournament_id)
    for name in contest.names:
        contest.playing.pop(name).cancel()
    await contest.server.restart()
    log = await contest.ended(tournament_id, most_s=100)
    result = log.tournament.results[1]
    assert (result.reason, result.cause, result.lost_by_both) == ("unplayed", "absence", True)
