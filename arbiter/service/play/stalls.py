"""The pulse of a server: asks streams for pongs in turn, and notices when the whole server was held up.

A process that is stopped (SIGSTOP, a paused virtual machine, a machine that swaps) neither reads moves nor sees a clock
run out, while time goes on. That is an outage like any other: matches are interrupted and resumed, and it is charged to
nobody. A move that had been sent before may be read before the outage is noticed, and is then charged for it.
"""

from __future__ import annotations

import asyncio
from typing import Final, NoReturn

import structlog

from arbiter.config import Limits
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.play.sessions import Sessions

BEAT_MS: Final = 20  #: between two beats


async def watch_for_stalls(sessions: Sessions, matches: MatchRegistry, limits: Limits) -> NoReturn:
    """Beat until cancelled. A gap of `limits.held_up_ms` or more between two beats is an outage."""
    log = structlog.get_logger("arbiter.pulse")
    loop = asyncio.get_running_loop()
    last = loop.time()
    while True:
        await asyncio.sleep(BEAT_MS / 1000)
        gap_ms = round((loop.time() - last) * 1000)
        if gap_ms >= limits.held_up_ms:
            log.warning("held_up", for_ms=gap_ms, matches=len(matches.live))
            sessions.bear(gap_ms)
            await matches.bear_outage()
        sessions.sweep(BEAT_MS / limits.ping_ms)
        last = loop.time()  # what was done about an outage is none: thousands of matches take their time
