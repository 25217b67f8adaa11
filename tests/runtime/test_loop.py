"""When a server collects garbage. Each test runs in a separate process, which has its own collector."""

from __future__ import annotations

import subprocess
import sys

import pytest

GROWING = """
import asyncio
from arbiter.runtime import loop

async def main():
    await asyncio.sleep(2 * loop.MEMORY_S)
    kept = [[] for _ in range(400_000)]
    while not given_back:
        await asyncio.sleep(loop.MEMORY_S)
    for _ in range(5):
        await asyncio.sleep(2 * loop.MEMORY_S)
    print(len(kept), "kept,", len(given_back), "time given back")

given_back = []
loop.GROWN, loop.QUIET, loop.MEMORY_S = 8 << 20, 2.0, 0.01
loop._giver_back = lambda: lambda: given_back.append(True)
loop.run_process(main())
"""

PROGRAM = """
import asyncio, gc, sys, weakref
gc.disable()  # as a server does for its imports
from arbiter.runtime import loop

class Thing:
    pass

def cycle():
    thing = Thing()
    thing.itself = thing
    return thing

def looks():
    kept.extend([] for _ in range(loop.YOUNG + 10))

async def main():
    young = weakref.ref(cycle())
    print("too early" if young() is None else "still there")
    looks()
    print("gone" if young() is None else "still there")
    used = cycle()
    looks()  # it survives
    later = weakref.ref(used)
    del used
    for _ in range(loop.ROUNDS + 2):
        looks()
    print("gone" if later() is None else "still there")
    old = cycle()
    for _ in range(2 * loop.ROUNDS + 4):
        looks()
    left = weakref.ref(old)
    del old
    kept.extend([] for _ in range(400 * loop.YOUNG))  # at once
    print("gone" if left() is None else "never looked through again")
    print("most", "looked through", max(seen) <= (loop.ROUNDS + 2) * (loop.YOUNG + 10))

def see(phase, info):
    if phase == "start":
        seen.append(sum(len(gc.get_objects(n)) for n in range(info["generation"] + 1)))

seen, kept = [], []
loop.YOUNG = 2_000
gc.callbacks.append(see)
loop.run_process(main())
"""


@pytest.mark.long
def test_what_is_new_is_looked_through_twice_and_what_is_old_is_not() -> None:
    assert run(PROGRAM) == [
        "still there",
        "gone",
        "gone",
        "never looked through again",
        "most looked through True",
    ]


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory a process has")
def test_a_process_that_has_grown_gives_memory_back_once_when_it_is_at_rest() -> None:
    assert run(GROWING) == ["400000 kept, 1 time given back"]


def run(*program: str) -> list[str]:
    """Run a program; return the lines that it prints."""
    ran = subprocess.run([sys.executable, "-c", *program], capture_output=True, text=True, timeout=240, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()
