"""A rolling upgrade: servers of the version before and of this one share a store, while matches go on.

The versions before are commits of this repository, because nothing is released yet. All migrations since them can run
beside servers.
"""

from __future__ import annotations

import asyncio
import io
import random
import signal
import subprocess
import tarfile
import warnings
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from arbiter.runtime.loopback import free_port
from arbiter.store.database import engine_of, newest, place_of, version_of
from arbiter.testing.crashing import CrashPlan
from tests.bus.nats import Nats
from tests.cli.command import COMMAND, clean_environment
from tests.e2e.crashing_server import LONGEST_S, crashing_server
from tests.store.postgres import Cluster
from tests.store.test_bus import Servers
from tests.store.test_failover import Workload, check

SERVERS = 2


class Before(NamedTuple):
    """The version before: a commit, and the version of its tables. with_bus: its servers have a bus, as ours do.

    by_command: `arbiter migrate` migrates beside its servers. Otherwise our first server does as it starts.
    """

    commit: str
    tables: str
    with_bus: bool = False
    by_command: bool = False


BEFORE = (
    # The last commit before the first migration that can run beside servers (0013): from older tables, there is no
    # rolling upgrade. So this one meets every migration that says of itself that it can.
    Before("b283fc6eac1df03f", "0012"),
    # The last commit before the newest migration (0016). Its servers have a bus, which b283fc6e does not know.
    Before("e5402b5376fbe212", "0015", with_bus=True, by_command=True),
)


def code_of(commit: str, folder: Path) -> Path | None:
    """Return a folder with the code of a commit.

    If the commit is not there, fail; but in a clone that has no history at all, warn, and return None.
    """
    archive = subprocess.run(
        ["git", "archive", commit, "arbiter", "protos", "clients/python"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=False,
    )
    if archive.returncode:
        said = f"there is no version before to upgrade from: commit {commit} is not here (git fetch --unshallow)"
        if not is_shallow():
            pytest.fail(said)
        warnings.warn(f"{said}: this version is upgraded to itself", stacklevel=2)
        return None
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def is_shallow() -> bool:
    """Return whether the clone has only a part of the history."""
    asked = ["git", "rev-parse", "--is-shallow-repository"]
    told = subprocess.run(asked, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    return told.stdout.strip() != "false"


def test_the_code_of_the_version_before_is_not_left_out_silently(tmp_path: Path) -> None:
    missing = "f" * 40
    if is_shallow():
        with pytest.warns(UserWarning, match="git fetch --unshallow"):
            assert code_of(missing, tmp_path) is None
    else:
        with pytest.raises(pytest.fail.Exception, match="git fetch --unshallow"):
            code_of(missing, tmp_path)


@pytest.mark.timeout(0)  # each step has its own limit
@pytest.mark.filterwarnings("default:there is no version before")
@pytest.mark.parametrize("before", BEFORE, ids=["without a bus", "with a bus"])
async def test_servers_are_replaced_one_after_the_other_while_matches_go_on(
    cluster: Cluster, tmp_path: Path, before: Before
) -> None:
    code, store = code_of(before.commit, tmp_path / "before"), cluster.fresh()
    engine = engine_of(place_of(store))
    addresses = [f"127.0.0.1:{free_port()}" for _ in range(SERVERS)]
    metrics = [f"127.0.0.1:{free_port()}" for _ in range(SERVERS)]
    async with AsyncExitStack() as stack:
        bus = stack.enter_context(Nats()).url if before.with_bus else ""
        old, new = [], []
        for number, address in enumerate(addresses):
            shown = {"metrics": metrics[number]} | ({"bus": bus} if bus else {})
            for name, version, servers in (("old", code, old), ("new", None, new)):
                server = crashing_server(
                    tmp_path, store, True, f"{name}-{number}", address=address, code=version, **shown
                )
                servers.append(await stack.enter_async_context(server))
        assert all(await asyncio.gather(*(server.begin(CrashPlan()) for server in old)))
        assert version_of(engine) == (before.tables if code is not None else newest())
        workload = Workload(list(old), random.Random(before.commit))
        async with workload.playing():
            await workload.hold_cup()
            await workload.answers()
            if before.by_command and code is not None:
                assert f"from version {before.tables} to version {newest()}" in await migrated(store)
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
                if bus:
                    await Servers(workload.servers, [f"http://{one}/metrics" for one in metrics], []).hear_each_other()
            workload.last = True
            workload.exchanges.changed.set()
            await workload.until(lambda: not workload.untold)
            await check(workload)
        for server in new:
            server.kill(signal.SIGTERM)
            assert await server.ended() == 0
    engine.dispose()


async def migrated(store: str) -> str:
    """Run `arbiter migrate`, while the players go on; return what it says."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "migrate", "--store", store, stdout=asyncio.subprocess.PIPE, env=clean_environment()
    )
    said, _ = await asyncio.wait_for(process.communicate(), LONGEST_S)
    assert process.returncode == 0
    return said.decode()
