"""A benchmark process: one server, as `arbiter serve` runs it, which records its commit times.

Plan: `store` (URL), `keys` (the file of its signing keys), `profile` (whether stages are timed), `limits` (that differ
from the defaults), `metrics` (whether the server has them), `traces` (the URL of their collector, '' for none), `web`
(the page's address, '' for none), `listen` (that of gRPC, '' for the page alone), `shared` (whether other servers use
the store too: then `durable` has only what this server has decided, and its times are those at which it knew of the
commit), `bus` (the URL of a NATS, '' for none), `steps` (whether each step of the event loop is timed). It sends an
answer once it serves. It answers every later order with the data since the previous order: `commits` (writes and
seconds of each), `stages` (seconds of each), `durable` (match, revision and time of the commit, by the monotonic clock,
of each event), and `longest` (the step that took longest: milliseconds of a processor, and what it was).
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections import deque
from collections.abc import Sequence
from functools import partial
from time import thread_time
from typing import Any, Final

import structlog

from arbiter.bench.processes import answer, order
from arbiter.bootstrap.running_server import serving
from arbiter.bootstrap.world import open_world
from arbiter.config import load
from arbiter.matches.match import Match
from arbiter.runtime.grpc_events import new_loop
from arbiter.runtime.loop import keep, let_players_go_first, run_process
from arbiter.service.players.accounts import ADMIN, Caller, Scope
from arbiter.service.record.published import Published

FOR_ORGANISER = {"calls_a_second": 10_000}  #: of the organiser, which makes all matches of a benchmark before it begins
ORGANISER: Final = Caller(ADMIN, "", frozenset({Scope.ADMIN.value}))


class Measurements:
    """The measurements that are recorded while the server runs."""

    def __init__(self, shared: bool) -> None:
        self._shared = shared
        self.commits: list[tuple[int, float]] = []
        self.durable: list[tuple[str, int, float]] = []
        self._ends: deque[float] = deque()  # the time of the commit for each write in it, in the order of the writes

    def committed(self, writes: int, seconds: float) -> None:
        """Record a commit; called in the writer's thread."""
        self.commits.append((writes, seconds))
        if self._shared:
            return  # heartbeats are writes too
        self._ends.extend([time.monotonic()] * writes)

    def happened(self, match: Match, events: Sequence[Published]) -> None:
        """Record that a write's content has become durable; while only matches are written, that is every write."""
        at = self._ends.popleft() if self._ends else time.monotonic()
        self.durable += [(match.id, event.revision, at) for event in events]

    def take(self) -> dict[str, Any]:
        """Return the recorded data and start again with none."""
        taken = {"commits": self.commits, "durable": self.durable}
        self.commits, self.durable = [], []
        self._ends.clear()
        return taken


async def run(
    store: str,
    keys: str,
    profile: bool,
    limits: dict[str, int],
    metrics: bool,
    traces: str,
    web: str,
    shared: bool = False,
    bus: str = "",
    listen: str = "127.0.0.1:0",
    steps: bool = False,
) -> None:
    """Serve until there are no more orders."""
    if not listen:
        let_players_go_first()
    notes = Measurements(shared)
    longest = LongestStep()
    if steps:
        longest.install()
    stopwatch = None
    if profile:
        from arbiter.bench.stages import Stopwatch  # it builds every game, which a server does not do at its start

        stopwatch = Stopwatch()
        stopwatch.install()
    settings = load(
        None,
        listen=listen,
        store=store,
        keys=keys,
        listen_proxies=["127.0.0.1"],  # so that the drivers' calls can come from several addresses
        limits={"open_matches_of_player": 10_000, **FOR_ORGANISER, **limits},
        metrics="127.0.0.1:0" if metrics else None,
        traces=traces,
        web=web,
        bus=bus,
    )
    async with serving(settings, partial(open_world, committed=notes.committed, shared=shared)) as running:
        running.reading.add_done_callback(keep)

        def happened(match: Match, events: Sequence[Published]) -> None:
            if events[0].decided_here:
                notes.happened(match, events)

        running.arbiter.match_listeners.append(happened)
        accounts, token = running.arbiter.accounts, running.admin_token
        if token is None:  # the store has players already
            _, token = await accounts.create_token(ORGANISER, ORGANISER.player, [Scope.ADMIN], "benchmark")
        answer(port=running.port, token=token, page=running.page)
        while await asyncio.to_thread(order) is not None:
            stages = stopwatch.read() if stopwatch is not None else {}
            # In a thread: an answer may be long, and to write it is no step of a server.
            await asyncio.to_thread(answer, **notes.take(), stages=stages, longest=longest.take())


SHOWN: Final = 200  #: characters of what a step was


class LongestStep:
    """Notes the longest step of `asyncio`'s own event loop; another one has no steps of this kind."""

    def __init__(self) -> None:
        self._ms, self._what = 0.0, ""

    def install(self) -> None:
        """Measure all steps from now on."""
        run = asyncio.Handle._run

        def measured(handle: asyncio.Handle) -> None:
            began = thread_time()
            run(handle)
            took_ms = (thread_time() - began) * 1_000
            if took_ms > self._ms:
                self._ms, self._what = took_ms, repr(handle)[:SHOWN]

        asyncio.Handle._run = measured  # type: ignore[assignment, method-assign]

    def take(self) -> tuple[float, str]:
        """Return the processor time of the longest step, in milliseconds, and what it was; begin anew."""
        found = self._ms, self._what
        self._ms, self._what = 0.0, ""
        return found


if __name__ == "__main__":
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),  # standard output is for answers
    )
    plan = order()
    assert plan is not None
    # The fast event loop passes its steps by no place where they could be timed.
    run_process(run(**plan), asyncio.new_event_loop if plan.get("steps") else new_loop)
