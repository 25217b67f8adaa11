"""Clocks of players who do not read their streams: they gain no credit for it."""

from __future__ import annotations

import pytest

from tests.rpc.networked_server import PING_MS, idle, move_of, networked_server

pytestmark = pytest.mark.long
UNBUFFERED = (("grpc.http2.lookahead_bytes", 0), ("grpc.http2.bdp_probe", 0))
"""Options of a channel on which the server can write only as much as the client reads."""


async def test_a_stream_that_is_unread_from_the_beginning_gains_no_credit_for_the_server() -> None:
    async with networked_server(ping_ms=PING_MS) as here:
        near = await here.connect("near")
        sly = await here.connect("sly", pings=0, options=UNBUFFERED, choose=idle, reading=False)
        await near.until(lambda: here.server.running.arbiter.sessions.is_live("sly"))
        await here.events(await here.match("near", "sly"), "sly", plies=1)
        pongs = near.pongs
        await near.until(lambda: near.pongs > pongs + 2)
        sly.reading = True
        turn = await sly.turn()
        await sly.say(move_of(turn))
        await sly.until(lambda: len(sly.ledgers) == 1)
    (ledger,) = sly.ledgers
    passed = ledger.arrived_ms - ledger.started_ms
    assert passed >= 2 * PING_MS
    assert ledger.credited_ms <= passed - PING_MS  # a server that was as slow as that itself would give all of it


async def test_a_stream_that_is_left_unread_later_gains_no_credit_for_the_server() -> None:
    async with networked_server(ping_ms=PING_MS) as here:
        sly = await here.connect("sly", options=UNBUFFERED, choose=idle)
        near = await here.connect("near", choose=idle)
        match_id = await here.match("sly", "near")
        turn = await sly.turn()
        sly.reading = False
        await sly.say(move_of(turn))  # the server can't write its answer now
        reply = await near.turn()
        pongs = near.pongs
        await near.until(lambda: near.pongs > pongs + 2)
        await near.say(move_of(reply))
        await here.events(match_id, "sly", plies=2)  # it learns elsewhere that it has the turn, and thinks
        pongs = near.pongs
        await near.until(lambda: near.pongs > pongs + 2)
        sly.reading = True
        turn = await sly.turn()
        assert turn.ply == 2
        await sly.say(move_of(turn))
        await sly.until(lambda: len(sly.ledgers) == 2)
    ledger = sly.ledgers[-1]
    passed = ledger.arrived_ms - ledger.started_ms
    assert passed >= 2 * PING_MS
    own = ledger.handed_over_ms - ledger.started_ms
    assert own <= passed - PING_MS  # not the time for which it did not read
    assert ledger.credited_ms <= own + ledger.round_trip_ms
