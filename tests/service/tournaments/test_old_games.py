"""A ladder over real matches drops its old games; rulings on them count, also after crashes and on other servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

import pytest

from arbiter.errors import Refusal
from arbiter.service.tournaments.own_ratings import results_of
from arbiter.service.tournaments.tournament_ports import InProcessPairing
from arbiter.testing.clock import run, virtually
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments import folding
from arbiter.tournaments.corrections import Disqualify, Forbid, Replay, Results
from arbiter.tournaments.recalling import Recalled, Wanted
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


class Slowly:
    """Holds old games back once they have been read from the log. asked: how often they were asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = 0
        self.may_go_on = asyncio.Event()
        recall = InProcessPairing.recall

        async def slowly(pairing: InProcessPairing, wanted: Wanted, bodies: AsyncIterator[Sequence[bytes]]) -> Recalled:
            self.asked += 1
            found = await recall(pairing, wanted, bodies)
            await self.may_go_on.wait()
            return found

        monkeypatch.setattr(InProcessPairing, "recall", slowly)


@virtually
async def test_play_goes_on_while_old_games_are_read_and_other_decisions_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contest, slowly = Contest(4), Slowly(monkeypatch)
    tournament_id = await contest.start(SPEC)
    before = await old(contest, tournament_id, 12)
    games, ended = before.old.games, before.games_ended
    rule = do.Rule("org", "r1", 1, ev.Decision.POINTS, (1, 1), "both agreed")
    ruling = asyncio.create_task(contest.act(tournament_id, rule))
    again = asyncio.create_task(contest.act(tournament_id, do.Correct("org", "r2", Replay(2), "a wrong opening")))
    while (now := await contest.tournament(tournament_id)).games_ended < ended + 8:  # noqa: ASYNC110 - no event to wait for
        await asyncio.sleep(0.01)
    assert now.old.games == games, "none becomes old meanwhile"
    await contest.act(tournament_id, do.Correct("org", "r3", Forbid("p001", "p002"), "friends"))
    assert (slowly.asked, ruling.done(), again.done()) == (1, False, False)
    slowly.may_go_on.set()
    await asyncio.gather(ruling, again)
    assert slowly.asked > 1, "somebody had decided meanwhile"
    await old(contest, tournament_id, games + 8)
    whole = await check_end(contest, tournament_id)
    assert whole.results[1].ruling
    assert [type(each.what) for each in whole.corrections] == [Forbid, Replay]


@virtually
async def test_a_crash_while_old_games_are_read_loses_only_the_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    contest, slowly = Contest(4), Slowly(monkeypatch)
    tournament_id = await contest.start(SPEC)
    await old(contest, tournament_id, 12)
    rule = do.Rule("org", "r1", 1, ev.Decision.POINTS, (1, 1), "both agreed")
    ruling = asyncio.create_task(contest.act(tournament_id, rule))
    while not slowly.asked:  # noqa: ASYNC110 - no event to wait for
        await asyncio.sleep(0.01)
    await contest.crash()
    slowly.may_go_on.set()
    with suppress(Refusal):
        await ruling
    assert 1 not in (await contest.tournament(tournament_id)).rulings
    await contest.act(tournament_id, rule)
    await contest.act(tournament_id, rule)
    whole = await check_end(contest, tournament_id)
    assert len(whole.rulings[1]) == 1


@virtually
async def test_the_end_comes_while_old_games_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    contest, slowly = Contest(4), Slowly(monkeypatch)
    tournament_id = await contest.start(SPEC)
    await old(contest, tournament_id, 12)
    ruling = asyncio.create_task(contest.act(tournament_id, do.Rule("org", "r1", 1, ev.Decision.VOID)))
    while (await contest.tournament(tournament_id)).end is None:  # noqa: ASYNC110 - no event to wait for
        await asyncio.sleep(0.1)
    slowly.may_go_on.set()
    assert (await ruling).results[1].void
    assert (await check_end(contest, tournament_id)).results[1].void


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
