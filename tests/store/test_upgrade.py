"""A rolling upgrade: servers of the version before and of this one share a store, while matches go on.

The versions before are commits of this repository, because nothing is released yet. All migrations since them can run
beside servers.
"""

from __future__ import annotations

import asyncio
import io
import os
import random
import shutil
import signal
import subprocess
import tarfile
import warnings
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from arbiter.runtime.loopback import free_port
from arbiter.store.database import engine_of, newest, place_of, version_of
from arbiter.testing.crashing import CrashPlan
from tests.bus.nats import Nats
from tests.cli.command import COMMAND, clean_environment
from tests.e2e.crashing_server import LONGEST_S, CrashingServer, crashing_server
from tests.store.postgres import Cluster
from tests.store.test_bus import Servers
from tests.store.test_failover import Workload, check

ROOT = Path(__file__).parents[2]
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

    If the commit is not there, fail; but in a clone that has no history at all, warn, and return None. In CI, which may
    leave nothing out, that fails too, unless `.ci/run` says that the history can't be had.
    """
    archive = subprocess.run(
        ["git", "archive", commit, "arbiter", "protos", "clients/python"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if archive.returncode:
        said = f"there is no version before to upgrade from: commit {commit} is not here (git fetch --unshallow)"
        if not is_shallow() or (os.environ.get("CI") and not os.environ.get("NO_HISTORY")):
            pytest.fail(said)
        warnings.warn(f"{said}: this version is upgraded to itself", stacklevel=2)
        return None
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def is_shallow() -> bool:
    """Return whether the clone has only a part of the history."""
    asked = ["git", "rev-parse", "--is-shallow-repository"]
    told = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout.strip() != "false"


@pytest.mark.parametrize(
    ("shallow", "told", "warns"),
    [
        (False, {}, False),
        (False, {"CI": "true", "NO_HISTORY": "yes"}, False),
        (True, {}, True),
        (True, {"CI": "true"}, False),
        (True, {"CI": "true", "NO_HISTORY": "yes"}, True),
    ],
)
def test_the_code_of_the_version_before_is_not_left_out_silently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shallow: bool, told: dict[str, str], warns: bool
) -> None:
    monkeypatch.setattr("tests.store.test_upgrade.is_shallow", lambda: shallow)
    for name in ("CI", "NO_HISTORY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    missing = "f" * 40
    if warns:
        with pytest.warns(UserWarning, match="git fetch --unshallow"):
            assert code_of(missing, tmp_path) is None
    else:
        with pytest.raises(pytest.fail.Exception, match="git fetch --unshallow"):
            code_of(missing, tmp_path)


@pytest.mark.parametrize("reachable", [True, False])
def test_ci_fetches_the_history_or_says_that_it_can_not_be_had(tmp_path: Path, reachable: bool) -> None:
    origin, clone, programs = tmp_path / "origin", tmp_path / "clone", tmp_path / "programs"
    (origin / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", origin / ".ci")
    programs.mkdir()
    make = programs / "make"
    make.write_text('#!/bin/sh\necho "$1 ${NO_HISTORY-}"\n')
    make.chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    environment.pop("NO_HISTORY", None)

    def done(*command: str, at: Path) -> str:
        return subprocess.run(command, cwd=at, env=environment, check=True, capture_output=True, text=True).stdout

    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    done(*git, "init", "--quiet", at=origin)
    done(*git, "add", ".", at=origin)
    for number in range(2):
        done(*git, "commit", "--quiet", "--allow-empty", "--message", str(number), at=origin)
    done(*git, "clone", "--quiet", "--depth=1", f"file://{origin}", str(clone), at=tmp_path)
    if not reachable:
        origin.rename(tmp_path / "elsewhere")
    said = "" if reachable else "yes"
    assert done(".ci/run", at=clone) == f"demo {said}\ntest {said}\n"
    assert done("git", "rev-list", "--count", "HEAD", at=clone) == ("2\n" if reachable else "1\n")


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
        old: list[CrashingServer] = []
        new: list[CrashingServer] = []
        for number, address in enumerate(addresses):
            shown: dict[str, Any] = {"metrics": metrics[number]} | ({"bus": bus} if bus else {})
            for name, version, servers in (("old", code, old), ("new", None, new)):
                prepared = crashing_server(
                    tmp_path, store, True, f"{name}-{number}", address=address, code=version, **shown
                )
                servers.append(await stack.enter_async_context(prepared))
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
