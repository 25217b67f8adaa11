"""The queue of a tournament's commands."""

from __future__ import annotations

from arbiter.service.matches.live import DRAINING
from arbiter.service.tournaments.command_queue import CommandQueue
from arbiter.testing.clock import virtually
from arbiter.tournaments import commands as do


@virtually
async def test_a_command_that_comes_while_its_server_stops_is_answered() -> None:
    queue = CommandQueue()
    waiting = queue.submit(do.Tick())
    queue.close(lambda _: DRAINING)
    assert (await waiting, await queue.submit(do.Tick())) == (DRAINING, DRAINING)
