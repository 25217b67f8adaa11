"""The stall detector: notices when the whole server stood still. Between its checks it pings streams in turn.

A stopped process (SIGSTOP, a paused virtual machine, a machine that swaps) reads no moves and does not notice a clock
that runs out, while time goes on. This is an outage: matches are interrupted and resumed, and nobody is charged for it.
A move that was sent before the outage may be read before the outage is noticed; then its player is charged.
"""

from __future__ import annotations

import asyncio
from typing import Final, NoReturn

from arbiter.config import Limits
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.play.sessions import Sessions
from arbiter.service.ports.log import Logger
from arbiter.service.ports.meter import NO_METER, Meter

LOOK_MS: Final = 20  #: time between two checks


async def watch_for_stalls(
    sessions: Sessions, matches: MatchRegistry, limits: Limits, log: Logger, meter: Meter = NO_METER
) -> NoReturn:
    """Check the time until cancelled. A gap of `limits.held_up_ms` or more between two checks is an outage."""
    loop = asyncio.get_running_loop()
    last = loop.time()
    while True:
        await asyncio.sleep(LOOK_MS / 1000)
        gap_s = loop.time() - last
        meter.loop_late(gap_s - LOOK_MS / 1000)
        gap_ms = round(gap_s * 1000)
        if gap_ms >= limits.held_up_ms:
            log.warning("held_up", for_ms=gap_ms, matches=len(matches.live))
            sessions.excuse_silence(gap_ms)
            await matches.interrupt_for_stall()
        sessions.sweep(LOOK_MS / limits.ping_ms)
        last = loop.time()  # the time spent on interrupting thousands of matches is no outage
