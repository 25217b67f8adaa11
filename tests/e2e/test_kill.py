"""A server that is killed, and started again: matches go on, and nothing that was acknowledged is lost."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter

import arbiter_client as arb

from arbiter.matches import check_chain, replay
from arbiter.matches.events import Interrupted, Moved, Resumed
from arbiter.matches.transcript import split
from tests.e2e.processes import Server

MATCHES = 6
KILLS = 3
MOVES_BETWEEN = 60


async def test_matches_survive_kill_9(server: Server) -> None:
    for name in ("anna", "ben"):
        server.arbiter("player", "register", name)
    bot = [sys.executable, "-m", "arbiter_client.bots.random", "--server", server.address]
    with server.running([*bot, "--name", "anna"]), server.running([*bot, "--name", "ben"]):
        async with arb.Client(server.address, token=server.admin_token) as client:
            made = [
                await client.create_match("pondlife", ("anna", "ben"), time_control="1m+1s", request_id=str(number))
                for number in range(MATCHES)
            ]
            seen: Counter[str] = Counter()
            for _ in range(KILLS):
                await _play_on(client, seen)
                await asyncio.to_thread(server.kill)
                await asyncio.to_thread(server.start)
            for match in made:
                async for _ in client.observe(match.match_id):
                    pass
            records = {match.match_id: await client.transcript(match.match_id) for match in made}
    restarts = 0
    for match_id, text in records.items():
        events = check_chain(split(text)[0])
        final = replay(events)
        moves = [event for event in events if isinstance(event, Moved)]
        assert [move.ply for move in moves] == list(range(final.ply))
        assert len(moves) >= seen[match_id], "an acknowledged move is gone"
        assert final.result is not None
        assert final.result.reason not in ("time", "abandonment", "no_show", "arbiter_fault")
        restarts += sum(isinstance(event, Interrupted) for event in events)
        assert sum(isinstance(event, Resumed) for event in events) <= restarts
    assert restarts > 0


async def _play_on(client: arb.Client, seen: Counter[str]) -> None:
    """Read the record from its beginning until there are some moves more than have been seen."""
    most = sum(seen.values()) + MOVES_BETWEEN
    seen.clear()
    async for event in client.observe_all("0"):
        seen[event.match_id] += event.kind == "moved"
        if sum(seen.values()) >= most or event.kind == "ended":
            return
