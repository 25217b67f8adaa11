"""Control groups of bots: the kernel's, where it allows us to make some, and files like them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arbiter.sandbox import cgroup
from arbiter.sandbox.cgroup import Cgroup, delegated
from arbiter.sandbox.limits import MIB, ResourceLimits
from tests.sandbox.test_limits import DEADLY, FEW, HELD, needs_bwrap

HANDED_OVER = """
import json, sys
from arbiter.sandbox.cgroup import delegated
print(json.dumps(str(delegated() or "")))
"""


def own_group() -> str:
    return next(line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))


def test_a_group_has_its_limits_and_reports_which_were_reached(tmp_path: Path) -> None:
    made = Cgroup.make(str(tmp_path), ResourceLimits(memory_mb=64, processes=10))
    assert made is not None
    assert (made.path / "memory.max").read_text() == str(64 * MIB)
    assert (made.path / "memory.oom.group").read_text() == "1"
    assert (made.path / "pids.max").read_text() == "12"
    assert made.hits() == []
    (made.path / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\n")
    assert made.hits() == ["memory_mb"]
    (made.path / "pids.events").write_text("max 7\n")
    (made.path / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 2000000\n")
    assert made.hits() == ["memory_mb", "processes"]
    assert made.cpu_s() == 2.5


def test_where_no_group_can_be_made_none_is_used(tmp_path: Path) -> None:
    assert Cgroup.make(str(tmp_path / "nowhere"), ResourceLimits()) is None
    assert delegated(tmp_path) is None


def test_a_group_without_the_controllers_is_not_changed(tmp_path: Path) -> None:
    group = tmp_path / own_group().strip("/")
    group.mkdir(parents=True, exist_ok=True)
    (group / "cgroup.controllers").write_text("cpu io\n")
    assert delegated(tmp_path) is None
    assert not (group / cgroup.STARTER).exists()


def test_the_starter_moves_into_a_group_below_that_of_its_bots(tmp_path: Path) -> None:
    group = tmp_path / own_group().strip("/")
    (group / cgroup.STARTER).mkdir(parents=True)
    (group / "cgroup.controllers").write_text("cpu memory pids\n")
    assert delegated(tmp_path) == group
    assert (group / cgroup.STARTER / "cgroup.procs").read_text() == str(os.getpid())
    assert (group / "cgroup.subtree_control").read_text() == "+memory +pids"


def _handed_over() -> bool:
    """Return whether this machine allows us to make groups; a process of its own tries it, because it has to move."""
    run = subprocess.run([sys.executable, "-c", HANDED_OVER], capture_output=True, text=True, check=False)
    return run.stdout.strip() not in ("", '""')


if _handed_over():

    @needs_bwrap
    @pytest.mark.parametrize(
        ("script", "limit"),
        [(DEADLY["memory of its own"], "memory_mb"), (HELD["processes"], "processes")],
        ids=["memory", "processes"],
    )
    def test_the_kernel_counts_what_a_bot_takes(tmp_path: Path, script: str, limit: str) -> None:
        tmp_path.chmod(0o755)
        starter = f"""
import asyncio, pathlib, sys
from arbiter.sandbox.bot_process import BotProcess
from arbiter.sandbox.cgroup import delegated
from arbiter.sandbox.limits import Limits
from arbiter.sandbox.bubblewrap import Program, find

async def main():
    group = delegated()
    sandbox = find(Limits(*{tuple(FEW)!r}))._replace(cgroup=group)
    program = Program((sys.executable, "-I", "-S", "-c", {script!r}), pathlib.Path({str(tmp_path)!r}), {{}})
    bot = await BotProcess.start(program, "127.0.0.1", 9, sandbox)
    while not bot.hits:
        await asyncio.sleep(0.01)
    print(group, *(hit.limit for hit in bot.hits))
    bot.terminate()
    await bot.wait()
    print(len(list(group.glob("arbiter-bot-*"))))

asyncio.run(main())
"""
        run = subprocess.run([sys.executable, "-c", starter], capture_output=True, text=True, check=False)
        assert run.stdout.split()[1:] == [limit, "0"], run.stderr
