"""When a server collects garbage. Each test runs in a separate process, which has its own collector."""

from __future__ import annotations

import subprocess
import sys

import pytest

GROWING = """
import asyncio, gc
from arbiter.runtime import loop

async def main():
    await asyncio.sleep(2 * loop.SWEEP_S)
    collected.clear()
    kept = [[] for _ in range(4 * loop.LITTLE)]
    while not given_back:
        await asyncio.sleep(loop.SWEEP_S)
    for _ in range(5):
        await asyncio.sleep(2 * loop.SWEEP_S)
    print(len(kept), "kept,", len(collected), "collection,", len(given_back), "time given back")

collected, given_back = [], []
gc.callbacks.append(lambda phase, info: collected.append(info) if phase == "stop" else None)
loop.GROWN, loop.LITTLE, loop.QUIET, loop.SWEEP_S = 8 << 20, 100_000, 2.0, 0.01
loop._giver_back = lambda: lambda: given_back.append(True)
loop.run_process(main())
"""

PROGRAM = """
import asyncio, gc, sys, weakref
from arbiter.runtime import loop

class Thing:
    pass

def cycle():
    thing = Thing()
    thing.itself = thing
    return weakref.ref(thing)

def grow(containers):
    kept.append([[] for _ in range(containers)])

async def holds(garbage):
    for _ in range(3):
        await asyncio.sleep(2 * loop.SWEEP_S)
    print("looked too early" if garbage() is None else "still there")

async def goes(garbage):
    while garbage() is not None:
        await asyncio.sleep(loop.SWEEP_S)
    print("gone")

async def main():
    garbage = cycle()
    if quiet:
        grow(LITTLE // 2)
        await holds(garbage)
        grow(LITTLE)
        await goes(garbage)
    else:
        grow(MUCH - LITTLE)
        await holds(garbage)
        grow(2 * LITTLE)
        await goes(garbage)
        garbage = cycle()
        grow(MUCH + LITTLE)  # less than twice what was alive
        await holds(garbage)
        grow(2 * MUCH)
        await goes(garbage)

quiet, kept = sys.argv[1] == "quiet", []
LITTLE, MUCH = loop.LITTLE, loop.MUCH = 5_000, 50_000
loop.QUIET = 2.0 if quiet else 0.0  # of a processor: more than it can take, or less
loop.SWEEP_S = 0.01
loop.run_process(main())
"""


@pytest.mark.parametrize(("load", "said"), [("quiet", ["still there", "gone"]), ("busy", ["still there", "gone"] * 2)])
def test_garbage_is_collected_once_there_may_be_enough_of_it(load: str, said: list[str]) -> None:
    assert run(PROGRAM, load) == said


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory a process has")
def test_a_process_that_has_grown_collects_garbage_once_when_it_is_at_rest() -> None:
    assert run(GROWING) == ["400000 kept, 1 collection, 1 time given back"]


def run(*program: str) -> list[str]:
    """Run a program; return the lines that it prints."""
    ran = subprocess.run([sys.executable, "-c", *program], capture_output=True, text=True, timeout=240, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()
