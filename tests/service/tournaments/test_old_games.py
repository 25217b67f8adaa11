"""A ladder over real matches drops its old games; rulings on them count, also after crashes and on other servers."""

from __future__ import annotations

import asyncio

import pytest

from arbiter.errors import Refusal
from arbiter.service.tournaments.own_ratings import results_of
from arbiter.testing.clock import run, virtually
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments import folding
from arbiter.tournaments.corrections import Disqualify, Replay, Results
from arbiter.tournaments.spec import Format
from arbiter.tournaments.standings import old_rated_games, rated_games, standings
from arbiter.tournaments.tournament import Tournament
from tests.service.sharing.servers import servers
from tests.service.tournaments.contest import Contest, spec_of

pytestmark = pytest.mark.long

SPEC = spec_of(Format.LADDER, duration_ms=6_000, validation=False)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ladders keep few games."""
    monkeypatch.setattr(folding, "KEPT", 6)
    monkeypatch.setattr(folding, "AT_ONCE", 2)


async def old(contest: Contest, tournament_id: str, games: int) -> Tournament:
    """Wait until a ladder has dropped so many games; return it."""
    while (found := await contest.tournament(tournament_id)).old.games < games:  # noqa: ASYNC110 - no event to wait for
        await asyncio.sleep(0.01)
    return found


async def check_end(contest: Contest, tournament_id: str) -> Tournament:
    """Wait for the end; assert that the state in memory stands like the log; return the whole ladder."""
    whole = (await contest.ended(tournament_id)).tournament
    short = await contest.tournament(tournament_id)
    assert standings(short) == standings(whole)
    assert results_of(rated_games(short), old_rated_games(short)) == results_of(rated_games(whole))
    return whole


@virtually
async def test_a_ladder_keeps_few_games_over_a_crash() -> None:
    contest = Contest(4)
    tournament_id = await contest.start(SPEC)
    before = await old(contest, tournament_id, 10)
    await contest.crash()
    after = await contest.tournament(tournament_id)
    assert after.old.games >= before.old.games
    assert after.games.left < 30
    await check_end(contest, tournament_id)


@virtually
async def test_an_organiser_decides_on_old_games() -> None:
    contest = Contest(4)
    tournament_id = await contest.start(SPEC)
    await old(contest, tournament_id, 12)
    rule = do.Rule("org", "r1", 1, ev.Decision.POINTS, (1, 1), "both agreed")
    preview = await contest.server.arbiter.tournaments.preview(tournament_id, rule)
    assert preview.results[1].ruling
    assert (await contest.act(tournament_id, rule)).results[1].half_points(1) == 1
    await contest.act(tournament_id, do.Correct("org", "r2", Replay(2), "a wrong opening"))
    await contest.act(tournament_id, do.Correct("org", "r3", Disqualify("p001", True, Results.FORFEIT), "an engine"))
    await old(contest, tournament_id, 20)
    with pytest.raises(Refusal):
        await contest.act(tournament_id, do.Rule("org", "r4", 999, ev.Decision.VOID))
    whole = await check_end(contest, tournament_id)
    assert whole.results[1].ruling
    after = await contest.act(tournament_id, do.Rule("org", "r5", 3, ev.Decision.VOID))
    assert after.results[3].void


def test_a_server_that_follows_another_one_sees_a_ruling_on_an_old_game() -> None:
    async def play() -> None:
        contest = Contest(4, servers=await servers(2))
        tournament_id = await contest.start(SPEC)
        for n in range(2):
            await old(contest, tournament_id, 8 * (n + 1))
            await contest.act(tournament_id, do.Rule("org", f"r{n}", 1 + n, ev.Decision.POINTS, (1, 1)))
        whole = await check_end(contest, tournament_id)
        assert [bool(whole.results[number].ruling) for number in (1, 2)] == [True, True]

    run(play())
