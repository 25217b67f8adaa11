"""A rolling upgrade: servers of one version and of the next share a store, while matches go on."""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

import arbiter
from arbiter.runtime.loopback import free_port
from arbiter.store.database import engine_of, newest, place_of, version_of
from tests.bus.nats import Nats
from tests.e2e.crashing import CrashPlan
from tests.e2e.crashing_server import CrashingServer, crashing_server
from tests.store.postgres import Cluster
from tests.store.steps import add_steps
from tests.store.test_bus import Servers
from tests.store.workload import Workload, check

SERVERS = 2


def next_version(folder: Path, steps: Path) -> Path:
    """Copy the package to a folder, with other steps of its migrations; return the folder."""
    package = Path(arbiter.__file__).parent
    shutil.copytree(package, folder / "arbiter")
    inside = folder / "arbiter" / "store" / "migrations" / "versions"
    shutil.copytree(steps, inside, dirs_exist_ok=True)
    return folder


@pytest.mark.timeout(0)  # each step has its own limit
async def test_servers_are_replaced_one_after_the_other_while_matches_go_on(
    cluster: Cluster, tmp_path: Path, steps: Path
) -> None:
    before, store = newest(), cluster.fresh()
    after = add_steps(steps, True, True)
    code = next_version(tmp_path / "next", steps)
    engine = engine_of(place_of(store))
    addresses = [f"127.0.0.1:{free_port()}" for _ in range(SERVERS)]
    metrics = [f"127.0.0.1:{free_port()}" for _ in range(SERVERS)]
    async with AsyncExitStack() as stack:
        bus = stack.enter_context(Nats()).url
        old: list[CrashingServer] = []
        new: list[CrashingServer] = []
        for number, address in enumerate(addresses):
            for name, version, servers in (("old", None, old), ("new", code, new)):
                prepared = crashing_server(
                    *(tmp_path, store, True, f"{name}-{number}"),
                    address=address,
                    code=version,
                    metrics=metrics[number],
                    bus=bus,
                )
                servers.append(await stack.enter_async_context(prepared))
        assert all(await asyncio.gather(*(server.begin(CrashPlan()) for server in old)))
        assert version_of(engine) == before
        workload = Workload(list(old), random.Random(before))
        async with workload.playing():
            await workload.hold_cup()
            await workload.answers()
            for number in range(SERVERS):
                players = workload.on(number)
                old[number].kill(signal.SIGTERM)
                assert await old[number].ended() == 0
                await workload.go_on(players)
                assert await new[number].begin(CrashPlan()), "it starts, and migrates, beside a server that runs"
                workload.servers[number] = new[number]
                assert version_of(engine) == after
                for roamer in workload.roamers[::2]:  # so players are at servers of both versions
                    roamer.leave()
                await workload.answers(40)
                await Servers(workload.servers, [f"http://{one}/metrics" for one in metrics], []).hear_each_other()
            workload.last = True
            workload.exchanges.changed.set()
            await workload.until(lambda: not workload.untold)
            await check(workload)
        for server in new:
            server.kill(signal.SIGTERM)
            assert await server.ended() == 0
    engine.dispose()
