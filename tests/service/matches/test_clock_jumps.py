"""A clock that jumps below the use cases: times and revisions only grow, and no player is charged for the jump.

The system's clock can't do this to a running server (see `arbiter.runtime.system_clock`), nor go back behind the record
at a start; these tests show that a match alone would withstand it.
"""

from __future__ import annotations

import pytest

from arbiter.matches import Match, Phase, replay
from arbiter.matches.events import Event, Interrupted, Moved, Resumed
from arbiter.matches.record import check_chain
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter

DAY_MS = 86_400_000


async def record(server: InMemoryArbiter, match: Match) -> list[Event]:
    """Return a match's events; assert that they are valid."""
    records = await server.arbiter.matches.record(match.id, 0, 1_000)
    events = list(check_chain([record.body for record in records]))
    replay(events)
    instants = [event.at for event in events]
    assert instants == sorted(instants)
    return events


@pytest.mark.parametrize("jump_ms", [DAY_MS, -DAY_MS])
@virtually
async def test_a_jump_between_stop_and_start_is_charged_to_nobody(jump_ms: int) -> None:
    server = InMemoryArbiter()
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create()
    played = alice.reply(await alice.turn())
    await alice.receive()
    receipt = alice.receipt(played)
    waiting = await server.create(players=("carol", "dave"))

    server.clock.skew_ms += jump_ms
    assert await server.restart() == 2
    assert (await server.arbiter.matches.match(waiting.id)).phase is Phase.PENDING
    alice, bob = await server.connect("alice"), await server.connect("bob")
    turn = await bob.turn()
    again = alice.play(match.id, 0, turn.match.moves[0], played)
    await alice.receive()
    assert alice.receipt(again) == receipt
    server.clock.skew_ms += 700  # bob is thinking
    bob.reply(turn)
    await bob.receive()
    events = await record(server, match)
    first, second = [event for event in events if isinstance(event, Moved)]
    resumed = next(event for event in events if isinstance(event, Resumed))
    assert sum(isinstance(event, Interrupted) for event in events) == 1
    assert resumed.clocks == first.clocks
    assert second.ledger.started == resumed.at
    # Behind its own record the arbiter can't measure a turn: it is charged nothing, for either player.
    assert second.ledger.charged == (700 if jump_ms > 0 else 0)


@virtually
async def test_a_jump_back_during_a_turn_undoes_no_move() -> None:
    server = InMemoryArbiter()
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create()
    alice.reply(await alice.turn())
    turn = await bob.turn()
    server.clock.skew_ms -= DAY_MS
    bob.reply(turn)
    alice.reply(await alice.turn())
    await alice.receive()
    moves = [event for event in await record(server, match) if isinstance(event, Moved)]
    assert [move.ply for move in moves] == [0, 1, 2]
    assert [move.ledger.charged for move in moves[1:]] == [0, 0]
