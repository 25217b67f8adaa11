"""What the server does about a time in which it stood still. Between its looks at the time it pings streams in turn.

Such a time is an outage: matches are interrupted and resumed, and nobody is charged for it. That happens before
anything else is decided (`arbiter.service.matches.stall_detector`).
"""

from __future__ import annotations

import asyncio
from typing import Final, NoReturn

from arbiter.config import Limits
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.matches.stall_detector import StallDetector
from arbiter.service.play.sessions import Sessions
from arbiter.service.ports.log import Logger
from arbiter.service.ports.meter import NO_METER, Meter

LOOK_MS: Final = 20  #: time between two looks


async def watch_for_stalls(
    stalls: StallDetector,
    sessions: Sessions,
    matches: MatchRegistry,
    limits: Limits,
    log: Logger,
    meter: Meter = NO_METER,
) -> NoReturn:
    """Look at the time until cancelled."""

    def noticed(for_ms: int) -> None:
        log.warning("stall", for_ms=for_ms, matches=len(matches.live))
        sessions.pings.excuse_silence(for_ms)
        matches.attendance.interrupt_for_stall()

    loop = asyncio.get_running_loop()
    stalls.begin(noticed)
    try:
        while True:
            began = loop.time()
            await asyncio.sleep(LOOK_MS / 1000)
            meter.loop_late(loop.time() - began - LOOK_MS / 1000)
            stalls.look()
            sessions.pings.sweep(LOOK_MS / limits.ping_ms)
    finally:
        stalls.end()
