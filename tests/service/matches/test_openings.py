"""Openings in the use cases: a repeated request, turns, a restart."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason
from arbiter.matches.match import Phase
from arbiter.matches.policy import ClockStart, Policy
from arbiter.service.play.session import TurnItem
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from tests.refusals import refusing

OPENING = ("a1", "e5", "b1")


async def turns(bot: StreamReader) -> list[tuple[int, int, int]]:
    """Return the turns received now: seat, ply, and the ply from which on they have the last moves."""
    heard = await bot.receive()
    return [(item.seat, item.match.ply, item.first_ply) for item in heard if isinstance(item, TurnItem)]


@pytest.mark.parametrize("start", list(ClockStart))
@virtually
async def test_the_first_turns_have_the_moves_of_the_opening(start: ClockStart) -> None:
    server = InMemoryArbiter()
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create("pods", policy=Policy(start=start), opening=OPENING)
    assert await turns(bob) == [(2, 3, 0)]
    bob.play(match.id, 3, "e6")
    assert await turns(alice) == [(1, 4, 0)]
    alice.play(match.id, 4, "b2")
    assert await turns(bob) == [(2, 5, 3)]
    newest = await server.arbiter.matches.match(match.id)
    assert newest.moves == (*OPENING, "e6", "b2")
    assert newest.turns == b"\1\2\1\2\1"


@virtually
async def test_a_player_who_connects_later_receives_the_opening_too() -> None:
    server = InMemoryArbiter()
    await server.create("pods", policy=Policy(start=ClockStart.AT_ONCE), opening=OPENING)
    assert await turns(await server.connect("bob")) == [(2, 3, 0)]


@virtually
async def test_a_match_goes_on_from_it_after_a_restart() -> None:
    server = InMemoryArbiter()
    match = await server.create("pods", policy=Policy(start=ClockStart.AT_ONCE), opening=OPENING)
    assert await server.restart() == 1
    bob = await server.connect("bob")
    assert await turns(bob) == [(2, 3, 0)]
    request = bob.play(match.id, 3, "e6")
    await bob.receive()
    assert bob.receipt(request).ply == 4
    assert (await server.arbiter.matches.match(match.id)).phase is Phase.ACTIVE


@virtually
async def test_the_opening_is_part_of_the_request() -> None:
    server = InMemoryArbiter()
    made = await server.create("pods", request="r", opening=OPENING)
    again = await server.create("pods", request="r", opening=OPENING)
    assert again.id == made.id
    for other in ((), OPENING[:2]):
        with refusing(Reason.REQUEST_ID_REUSED):
            await server.create("pods", request="r", opening=other)
