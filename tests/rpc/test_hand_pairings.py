"""Pairings by hand over real gRPC: a preview, what they break, and the round that is played."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import arbiter_client as arb
import pytest
from arbiter_client.bots.random import RandomBot

from arbiter.service.players.accounts import Scope
from arbiter.tournaments.events import Paused
from tests.rpc.servers import level
from tests.rpc.test_tournaments import SWISS, WAIT_S, World
from tests.rpc.test_tournaments import world as world

SPEC = replace(SWISS, paired=False, options=arb.TournamentOptions(rounds=2))


async def paused(world: World, tournament_id: str, times: int) -> None:
    """Wait until a tournament has paused so often."""
    seen = 0
    feed = world.server.running.arbiter.feed
    async with asyncio.timeout(WAIT_S), feed.of_all(0, tournament_id) as stream:
        async for batch in stream:
            seen += sum(isinstance(each.event, Paused) for each in batch) if isinstance(batch, list) else 0
            if seen >= times:
                return


@pytest.mark.long
async def test_an_organiser_pairs_a_round_by_hand_while_the_tournament_waits(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE)
    tournament_id = (await organiser.create_tournament(SPEC)).tournament_id
    for name in ("ann", "ben", "cat", "dan"):
        await (await world.bot(name, RandomBot(1))).enter_tournament(tournament_id)
    made = await organiser.correct_tournament(tournament_id, arb.PauseAfterRound(), note="a look")
    assert (made.paired, made.breaks) == (None, ())
    await organiser.start_tournament(tournament_id)
    await paused(world, tournament_id, 1)
    assert (await organiser.get_tournament(tournament_id)).rounds == 0

    ordered = await organiser.correct_tournament(tournament_id, arb.RoundPairing(1), preview=True)
    assert ordered.paired is not None
    assert len(ordered.paired.pairs) == 2
    await organiser.correct_tournament(tournament_id, arb.RoundPairing(1))
    first = ordered.paired.pairs[0]
    swapped = arb.PlayerPair(first.second, first.first)
    would = await organiser.correct_tournament(tournament_id, arb.PairingByHand(1, (swapped,)), preview=True)
    assert would.paired is not None
    assert swapped in would.paired.pairs
    assert would.breaks == ()
    done = await organiser.correct_tournament(tournament_id, arb.PairingByHand(1, (swapped,)), request_id="swap")
    assert (done.paired, done.breaks) == (would.paired, would.breaks)
    again = await organiser.correct_tournament(tournament_id, arb.PairingByHand(1, (swapped,)), request_id="swap")
    assert again.paired == would.paired

    await organiser.correct_tournament(tournament_id, arb.PauseAfterRound())
    await organiser.resume_tournament(tournament_id)
    await paused(world, tournament_id, 2)
    await level(world.server)
    rematch = arb.PairingByHand(2, (swapped,))
    said = await organiser.correct_tournament(tournament_id, rematch, preview=True)
    assert f"{first.second} and {first.first} meet again" in said.breaks
    done = await organiser.correct_tournament(tournament_id, rematch)
    assert done.breaks == said.breaks
    await organiser.correct_tournament(tournament_id, arb.ForbiddenPair("ann", "ben"))
    await organiser.correct_tournament(tournament_id, arb.ForbiddenPair("ann", "ben", lifted=True))
    with pytest.raises(arb.ArbiterError) as caught:
        await organiser.correct_tournament(tournament_id, arb.GivenBye("zoe", 2))
    assert caught.value.facts["why"] == "zoe does not play in it"
    await organiser.resume_tournament(tournament_id)
    await world.over(tournament_id)

    decided: list[arb.TournamentCorrected] = []
    paired: list[arb.GamesPaired] = []
    async for event in organiser.observe_tournament(tournament_id, "0"):
        if isinstance(event.what, arb.TournamentCorrected):
            decided.append(event.what)
        if isinstance(event.what, arb.GamesPaired):
            paired.append(event.what)
        if isinstance(event.what, arb.TournamentEnded):
            break
    assert decided[0] == arb.TournamentCorrected(arb.Correction(hold=arb.PauseAfterRound()), "a look", "org")
    assert [each.round for each in paired] == [1, 1, 2]
    assert any(game.players == (swapped.first, swapped.second) for game in paired[-1].games)


@pytest.mark.long
async def test_a_bye_is_asked_for_in_advance(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE)
    tournament_id = (await organiser.create_tournament(SPEC)).tournament_id
    for name in ("ann", "ben", "cat", "dan"):
        await (await world.bot(name, RandomBot(1))).enter_tournament(tournament_id)
    await organiser.correct_tournament(tournament_id, arb.GivenBye("ann", 1))
    await organiser.correct_tournament(tournament_id, arb.GivenBye("ben", 1, 1))
    await organiser.start_tournament(tournament_id)
    await world.over(tournament_id)
    rows = {row.player: row for row in (await organiser.get_standings(tournament_id)).rows}
    assert (rows["ann"].games, rows["ben"].games) == (1, 1)
