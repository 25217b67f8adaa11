"""What the tests' own server says when it does not end."""

from __future__ import annotations

import subprocess
import sys

import pytest

STUCK = """
import asyncio
from tests.e2e.crashing import end_when_stuck

async def waits_for_ever():
    await asyncio.Event().wait()

async def main():
    stuck = asyncio.create_task(waits_for_ever())
    await asyncio.sleep(0)
    end_when_stuck(asyncio.get_running_loop(), 0)
    await stuck

asyncio.run(main())
"""


@pytest.mark.long
def test_a_run_that_does_not_end_says_where_it_is_stuck() -> None:
    run = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=600)
    assert run.returncode == 1
    assert "coro=<waits_for_ever()" in run.stderr
    assert "Current thread" in run.stderr
