"""The stall detector: notices when the whole server stood still, and pings the streams in turn between its looks.

A process that is stopped (SIGSTOP, a paused virtual machine, a machine that swaps) neither reads moves nor sees a clock
run out, while time goes on. That is an outage like any other: matches are interrupted and resumed, and it is charged to
nobody. A move that had been sent before may be read before the outage is noticed, and is then charged for it.
"""

from __future__ import annotations

import asyncio
from typing import Final, NoReturn

from arbiter.config import Limits
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.play.sessions import Sessions
from arbiter.service.ports.log import Logger
from arbiter.service.ports.meter import NO_METER, Meter

LOOK_MS: Final = 20  #: between two looks at the time


async def watch_for_stalls(
    sessions: Sessions, matches: MatchRegistry, limits: Limits, log: Logger, meter: Meter = NO_METER
) -> NoReturn:
    """Look at the time until cancelled. A gap of `limits.held_up_ms` or more between two looks is an outage."""
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
        last = loop.time()  # what was done about an outage is none: thousands of matches take their time
