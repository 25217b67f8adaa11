"""Keeps the clock of this server level with the store's, where servers share one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, NoReturn, Protocol

from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.ports.environment import TimeReading, TimeSource
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.ports.log import Logger

LOOK_S: Final = 1.0  #: time between two looks at the store's clock


class Adjustable(Protocol):
    """A clock that follows another one; see `arbiter.runtime.system_clock.FollowingClock`."""

    def follow(self, readings: Sequence[TimeReading]) -> int:
        """Take in what the other clock has shown; return by how many milliseconds this clock has jumped ahead."""


async def keep_time(clock: Adjustable, source: TimeSource, matches: MatchRegistry, log: Logger) -> NoReturn:
    """Follow the store's clock until cancelled.

    If the clock has to jump ahead, the matches of the players who are to move here are interrupted: nobody is charged
    for what it jumped over. While the store can't be reached, the clock goes on as it was.
    """
    while True:
        await asyncio.sleep(LOOK_S)
        try:
            jumped_ms = clock.follow(await source.readings())
            if jumped_ms:
                log.warning("clock_set_ahead", by_ms=jumped_ms, matches=len(matches.live))
                matches.attendance.interrupt_for_stall()
        except StoreFailed:
            continue
        except Exception:  # a mistake of ours: the clock is followed all the same
            log.exception("clock_not_followed")
