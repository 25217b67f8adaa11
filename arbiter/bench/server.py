"""A part: one server, as `arbiter serve` runs it, with its commit times noted.

Plan: `store` (URL), `port`, `profile` (whether to sample where the time goes). It answers once it serves, and then
every order with what happened since the one before.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from functools import partial

import structlog

from arbiter.bench.parts import answer, order
from arbiter.bench.stages import Stopwatch
from arbiter.bootstrap import open_world, serving
from arbiter.config import load
from arbiter.runtime.loop import new_loop


async def run(store: str, port: int, profile: bool = False) -> None:
    """Serve until there are no more orders."""
    started = time.monotonic()
    commits: list[tuple[int, float]] = []
    stopwatch = Stopwatch() if profile else None
    if stopwatch is not None:
        stopwatch.install()

    def committed(writes: int, seconds: float) -> None:
        commits.append((writes, seconds))

    settings = load(None, listen=f"127.0.0.1:{port}", store=store, limits={"open_matches_of_player": 10_000})
    async with serving(settings, partial(open_world, committed=committed)) as running:
        answer(port=running.port, token=running.admin_token, matches=running.matches, took=time.monotonic() - started)
        while await asyncio.to_thread(order) is not None:
            since, commits[:] = list(commits), []
            answer(commits=since, stages=stopwatch.read() if stopwatch is not None else {})


if __name__ == "__main__":
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),  # standard output is for answers
    )
    plan = order()
    assert plan is not None
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run(**plan))
