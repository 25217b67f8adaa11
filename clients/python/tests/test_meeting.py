"""Bots find opponents on a real arbiter: by seeks, and in a tournament that is announced to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import arbiter_client as arb
import pytest

from arbiter.service.players.accounts import Scope
from arbiter.testing.served import Served, served

QUICK = "circle-of-life(target=1)"


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    """Run an arbiter in this process."""
    async with served() as running:
        yield running


class First(arb.Bot):
    """Plays the first legal move, and records the ends."""

    extras = arb.Extras(legal_moves_up_to=100)

    def __init__(self, name: str) -> None:
        self.name = name
        self.finished: list[arb.FinishedMatch] = []

    async def choose(self, turn: arb.Turn) -> str:
        return turn.legal_moves[0].text

    async def ended(self, finished: arb.FinishedMatch) -> None:
        self.finished.append(finished)


async def secret(server: Served, player: str, *scopes: Scope) -> str:
    ((_, bearer),) = await server.token(player, *scopes)
    return bearer.removeprefix("Bearer ")


@pytest.mark.long
async def test_two_bots_meet_by_a_seek_and_leave_none_open(server: Served) -> None:
    seeker, other = First("seeker"), First("other")
    seeker.seeks = (arb.Terms(QUICK, "5m"), arb.Terms("pods"))
    seeker.most_matches = 1
    other.accept_seeks = True
    other.games = ("circle-of-life",)
    tokens = {bot: await secret(server, bot.name) for bot in (seeker, other)}
    async with asyncio.TaskGroup() as group:
        for bot, token in tokens.items():
            group.create_task(arb.play(bot, server.address, token=token, matches=3))
    assert [finished.opponent for finished in seeker.finished] == ["other"] * 3
    async with arb.Client(server.address, token=tokens[seeker]) as client:
        assert await client.list_challenges() == ()
        assert {match.game for match in await client.list_matches()} == {QUICK}


@pytest.mark.long
async def test_bots_enter_a_tournament_that_suits_and_play_it(server: Served) -> None:
    bots = [First("alice"), First("bob"), First("carol")]
    tokens = [await secret(server, bot.name) for bot in bots]
    bots[2].games = ("pods",)
    for bot in bots:
        bot.enter_tournaments = True
    spec = arb.TournamentSpec("cup", arb.TournamentFormat.ROUND_ROBIN, (QUICK,), "5m", rated=False)
    organiser = await secret(server, "org", Scope.ORGANISE, Scope.OBSERVE)
    async with arb.Client(server.address, token=organiser) as client:
        running = [
            asyncio.create_task(arb.play(bot, server.address, token=token, matches=2))
            for bot, token in zip(bots[:2], tokens[:2], strict=True)
        ]
        idle = asyncio.create_task(arb.play(bots[2], server.address, token=tokens[2]))
        made = await client.create_tournament(spec)
        while len((await client.get_tournament(made.tournament_id)).entrants) < 2:
            pass  # each look is a call to the server, so no clock is needed
        await client.start_tournament(made.tournament_id)
        await asyncio.gather(*running)
        idle.cancel()
        await asyncio.wait([idle])
        entrants = (await client.get_tournament(made.tournament_id)).entrants
    assert {entrant.player for entrant in entrants} == {"alice", "bob"}
    assert [len(bot.finished) for bot in bots] == [2, 2, 0]
