"""Three servers with wrong clocks and a bus, on a PostgreSQL with a synchronous standby, and all faults in one run.

Servers are killed, stopped and continued, told to stop, and after a while replaced by those of the next version. The
database fails over to its standby in each way, and the bus is killed and cut. No acknowledged move is lost or there
twice, no outage is charged, and the memory of a server that goes on stays flat.
"""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from itertools import count, cycle
from pathlib import Path
from statistics import median

import pytest

from arbiter.runtime.loopback import free_port
from tests.bus.changing import changing_bus
from tests.e2e.crashing import CrashPlan
from tests.e2e.crashing_server import CrashingServer, crashing_server
from tests.store.steps import add_steps
from tests.store.test_failover import drain, kill, stop_and_continue
from tests.store.test_promotion import ENDS, Standbys
from tests.store.test_promotion import standbys as standbys
from tests.store.test_upgrade import next_version
from tests.store.workload import Workload, check

WRONG_MS = (3_000, -3_000, 0)  #: how far the clocks of the three servers are ahead
LASTS = 2  #: the number of the server that is neither killed nor stopped, and whose memory is measured
ROUNDS = 15  #: in which every fault has happened; the servers are replaced in the fourth
GROWS = 1.1  #: its memory in the last quarter, of that in the second one, at most


async def fail_over(workload: Workload, standbys: Standbys, how: signal.Signals | None) -> None:
    """Let the standby take over, then give it a standby."""
    await asyncio.to_thread(standbys.fail_over, how)
    await workload.answers()
    standbys.former.stop(signal.SIGQUIT)
    await asyncio.to_thread(standbys.add_standby)
    await asyncio.to_thread(standbys.follow)


async def replace(workload: Workload, newer: list[CrashingServer]) -> None:
    """Replace the servers one after another by those of the next version."""
    for number, server in enumerate(newer):
        players = workload.on(number)
        workload.servers[number].kill(signal.SIGTERM)
        assert await workload.servers[number].ended() == 0
        await workload.go_on(players)
        assert await server.begin(CrashPlan())
        workload.servers[number] = server
        await workload.answers()


async def kill_one(workload: Workload, number: int) -> None:
    """Kill a server, and wait until its players have moved elsewhere."""
    players = workload.on(number)
    starting = asyncio.create_task(kill(workload, number))
    await workload.go_on(players)
    await starting
    await workload.answers()


async def everything(
    workload: Workload, standbys: Standbys, newer: list[CrashingServer], change_bus: Callable[[], None], minutes: int
) -> list[int]:
    """Let everything happen for so many minutes, and at least ROUNDS times; print a line for each round.

    Return the memory of the server that goes on, in KiB, after each round since it was started.
    """
    began, ways, kibibytes = time.monotonic(), cycle(ENDS), list[int]()
    for number in count():
        if number > ROUNDS and time.monotonic() - began > 60 * minutes:
            return kibibytes
        change_bus()
        await kill_one(workload, number % LASTS)
        match number % 4:
            case 0:
                await stop_and_continue(workload, standbys.primary, standbys.url)
            case 1:
                await drain(workload)
            case 2:
                await fail_over(workload, standbys, next(ways))
            case 3 if workload.servers != newer:
                await replace(workload, newer)
        if workload.servers == newer:
            kibibytes.append(newer[LASTS].resident_kib)
        answered, matches = len(workload.exchanges.answers), len(workload.made)
        print(f"{time.monotonic() - began:.0f} s, round {number}: {answered} moves answered, {matches} matches")
    raise AssertionError


@pytest.mark.soak
@pytest.mark.long
@pytest.mark.timeout(0)  # each step has its own limit
async def test_play_goes_on_for_as_long_as_everything_happens(
    standbys: Standbys, tmp_path: Path, steps: Path, minutes: int
) -> None:
    add_steps(steps, True)
    code = next_version(tmp_path / "next", steps)
    standbys.follow()
    async with AsyncExitStack() as stack:
        bus = await stack.enter_async_context(changing_bus())
        older: list[CrashingServer] = []
        newer: list[CrashingServer] = []
        for number, (wrong, url) in enumerate(zip(WRONG_MS, (bus.url, bus.cut_url, bus.url), strict=True)):
            address = f"127.0.0.1:{free_port()}"
            for name, version, servers in (("older", None, older), ("newer", code, newer)):
                prepared = crashing_server(
                    *(tmp_path, standbys.url, True, f"{name}-{number}", wrong), address=address, code=version, bus=url
                )
                servers.append(await stack.enter_async_context(prepared))
        assert all(await asyncio.gather(*(server.begin(CrashPlan()) for server in older)))
        workload = Workload(list(older), random.Random(minutes))
        async with workload.playing():
            await workload.hold_cup()
            kibibytes = await everything(workload, standbys, newer, bus.change, minutes)
            bus.mend()
            workload.last = True
            workload.exchanges.changed.set()
            await workload.until(lambda: not workload.untold)
            await check(workload)
        for server in newer:
            server.kill(signal.SIGTERM)
            assert await server.ended() == 0
    quarter = len(kibibytes) // 4
    early, late = median(kibibytes[quarter : 2 * quarter]), median(kibibytes[-quarter:])
    print(
        f"the server that went on had {early / 1024:.0f} MiB in the second quarter, {late / 1024:.0f} in the last one"
    )
    assert late <= GROWS * early, kibibytes
