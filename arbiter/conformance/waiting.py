"""Waiting for a condition, in time that only passes while the machine lets the kit run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

REACT_S: Final = 15.0  #: time limit for a reaction; far more than a correct bot needs
LOOKS_EVERY_S: Final = 0.05  #: interval of the checks, for conditions without an event


async def within(
    condition: Callable[[], bool],
    seconds: float,
    changed: Callable[[], asyncio.Event],
    now_s: Callable[[], float] = time.monotonic,
) -> bool:
    """Wait until a condition holds; return whether it did within a time limit.

    The condition is checked every 50 ms, and whenever the event that `changed` returns is set. Each check costs at most
    50 ms of the time limit: if it takes longer, the machine was busy and did not let the kit run, nor, most likely, the
    bot.
    """
    while not condition():
        if seconds <= 0:
            return False
        began_s, event = now_s(), changed()
        event.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(min(LOOKS_EVERY_S, seconds)):
                await event.wait()
        seconds -= min(now_s() - began_s, LOOKS_EVERY_S)
    return True
