"""The kit waits for a bot: time in which the machine does not run the bot does not count."""

from __future__ import annotations

import asyncio
from itertools import count

from arbiter.conformance.waiting import LOOKS_EVERY_S, within


def looks(look_takes_s: float, limit_s: float) -> int:
    """Return how often a condition that never holds is checked, on a machine where each check takes this long."""
    seen = count()
    clock = iter(tick * look_takes_s for half in count() for tick in (half, half + 1))

    async def wait() -> None:
        ready = asyncio.Event()

        def condition() -> bool:
            next(seen)
            asyncio.get_running_loop().call_soon(ready.set)
            return False

        assert not await within(condition, limit_s, lambda: ready, lambda: next(clock))

    asyncio.run(wait())
    return next(seen)


def test_a_busy_machine_takes_no_check_from_the_bot() -> None:
    assert looks(LOOKS_EVERY_S, 1.0) == looks(60.0, 1.0) == 21


def test_early_checks_take_their_own_time() -> None:
    assert looks(LOOKS_EVERY_S / 5, 1.0) > 100


def test_a_condition_is_seen_though_no_time_is_left() -> None:
    async def wait() -> bool:
        return await within(lambda: True, 0.0, asyncio.Event)

    assert asyncio.run(wait())
