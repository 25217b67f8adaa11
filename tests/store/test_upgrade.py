"""A rolling upgrade: servers of the version before and of this one share a store, while matches go on.

The version before is a commit of this repository, because nothing is released yet. Migrations since then, if there are
any, can run beside servers.
"""

from __future__ import annotations

import asyncio
import io
import random
import signal
import subprocess
import tarfile
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from arbiter.runtime.loopback import free_port
from arbiter.store.database import engine_of, newest, place_of, version_of
from arbiter.testing.crashing import CrashPlan
from tests.e2e.crashing_server import crashing_server
from tests.store.postgres import Cluster
from tests.store.test_failover import Workload, check

BEFORE = "b283fc6eac1d"  #: the version before: a commit
TABLES = "0012"  #: the version of its tables
SERVERS = 2


def code_of(commit: str, folder: Path) -> Path | None:
    """Return a folder with the code of a commit; None if the commit is not there (a clone with --depth)."""
    archive = subprocess.run(
        ["git", "archive", commit, "arbiter", "protos", "clients/python"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=False,
    )
    if archive.returncode:
        return None
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


@pytest.mark.timeout(0)  # each step has its own limit
async def test_servers_are_replaced_one_after_the_other_while_matches_go_on(cluster: Cluster, tmp_path: Path) -> None:
    before, store = code_of(BEFORE, tmp_path / "before"), cluster.fresh()
    engine = engine_of(place_of(store))
    addresses = [f"127.0.0.1:{free_port()}" for _ in range(SERVERS)]
    async with AsyncExitStack() as stack:
        old, new = [], []
        for number, address in enumerate(addresses):
            for name, code, servers in (("old", before, old), ("new", None, new)):
                server = crashing_server(tmp_path, store, True, f"{name}-{number}", address=address, code=code)
                servers.append(await stack.enter_async_context(server))
        assert all(await asyncio.gather(*(server.begin(CrashPlan()) for server in old)))
        assert version_of(engine) == (TABLES if before is not None else newest())
        workload = Workload(list(old), random.Random(BEFORE))
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
                assert version_of(engine) == newest()
                for roamer in workload.roamers[::2]:  # so players are at servers of both versions
                    roamer.leave()
                await workload.answers(40)
            workload.last = True
            workload.exchanges.changed.set()
            await workload.until(lambda: not workload.untold)
            await check(workload)
        for server in new:
            server.kill(signal.SIGTERM)
            assert await server.ended() == 0
    engine.dispose()
