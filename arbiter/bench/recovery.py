"""Recovery: how long after its start a server serves all matches that were live when it was killed.

In turns with these starts, a server is started on a log with one new match. What that takes less is the cost of the
matches. Divided by the number of records that the log has more, it is the same for logs with more or longer matches.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import grpc
from arbiter_protos.v1 import match_pb2_grpc

from arbiter.bench.live_matches import write_matches
from arbiter.bench.processes import BenchError
from arbiter.bench.report import Bound, Progress, Report
from arbiter.bench.server_process import live_matches
from arbiter.bench.stores import NewStore
from arbiter.bootstrap import create_token, open_store
from arbiter.runtime.loopback import free_port
from arbiter.service.players.accounts import Scope

GOAL_S: Final = 1.0  #: the most seconds until all matches are served, with up to FEW of them
FEW: Final = 1_000
MANY_GOAL_S: Final = 6.0  #: the same with more, up to ten times as many


@dataclass(frozen=True, slots=True)
class RecoveryPlan:
    """The size of the measurement: live matches in the log, moves in each, number of starts."""

    matches: int = 1_000
    plies: int = 30
    rounds: int = 3
    folder: Path | None = None


def bench_recovery(plan: RecoveryPlan, progress: Progress) -> Report:
    """Write a log with live matches, then repeatedly start `arbiter serve` on it and kill it."""
    report = Report("recovery", f"{plan.matches} live matches of {plan.plies} moves in the log")
    found, least = list[_Start](), list[_Start]()
    with TemporaryDirectory(prefix="arbiter-bench-", dir=plan.folder) as folder:
        progress(f"writing {plan.matches} matches of {plan.plies} moves")
        full_log = _write(Path(folder, "full"), plan.matches, plan.plies)
        least_log = _write(Path(folder, "least"), 1, 0)
        _start(least_log, 1, Path(folder))  # not counted: it compiles the modules to bytecode
        for number in range(1, plan.rounds + 1):
            progress(f"start {number} of {plan.rounds}")
            least.append(_start(least_log, 1, Path(folder)))
            found.append(_start(full_log, plan.matches, Path(folder)))
    served, spent = [each.seconds for each in found], [each.processor_s for each in found]
    # The fastest start is the real cost; other work on the machine only adds to it.
    title, goal = "from the start until all matches are served", GOAL_S if plan.matches <= FEW else MANY_GOAL_S
    report.add("serving_s", title, min(served), "s", goal, Bound.MOST, served)
    report.add("worst_s", "the slowest start", max(served), "s")
    report.add("server_s", "the server's processor time until then", min(spent), "s", rounds=spent)
    alone = [each.processor_s for each in least]
    report.add("least_s", "the fastest start with one match", min(each.seconds for each in least), "s")
    report.add("least_server_s", "the server's processor time until then", min(alone), "s", rounds=alone)
    records = full_log.records - least_log.records
    each_us = [1e6 * (all_ - one) / records for all_, one in zip(spent, alone, strict=True)]
    report.median(
        "record_us", f"processor time for each of {records:,} records more than with one match", each_us, "µs"
    )
    return report


class _Log(NamedTuple):
    """A log with live matches: its store, how many records it has, and a token with which to ask for the matches."""

    store: str
    records: int
    token: str


def _write(folder: Path, matches: int, plies: int) -> _Log:
    folder.mkdir()
    return asyncio.run(_written(NewStore(f"sqlite:///{folder}/arbiter.db", folder), matches, plies))


async def _written(place: NewStore, matches: int, plies: int) -> _Log:
    await write_matches(place, matches, plies, matches)
    async with open_store(place.url) as opened:
        records = await opened.journal.head()
    return _Log(place.url, records, await create_token(place.url, "bench", [Scope.OBSERVE.value], ""))


class _Start(NamedTuple):
    """The seconds from a start until the server has sent every match, and its processor time until then."""

    seconds: float
    processor_s: float


def _start(log: _Log, matches: int, folder: Path) -> _Start:
    port, began = free_port(), time.perf_counter()
    with _serving(log.store, port, folder) as process, grpc.insecure_channel(f"127.0.0.1:{port}", _EAGER) as channel:
        found = live_matches(match_pb2_grpc.MatchServiceStub(channel), (("authorization", f"Bearer {log.token}"),))
        seconds = time.perf_counter() - began
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    if found != matches:
        raise BenchError(f"the server serves {found} matches of {matches}")
    return _Start(seconds, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))


_EAGER: Final = [("grpc.initial_reconnect_backoff_ms", 20), ("grpc.max_reconnect_backoff_ms", 20)]


@contextmanager
def _serving(store: str, port: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Serve as an installed arbiter does: not every start compiles the modules to bytecode, but only the first one.

    At the end, wait for all its processes: they may outlive it by a moment and write to `folder`.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = kept | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    place = ("--listen", f"127.0.0.1:{port}", "--store", store)
    quiet = ("--no-save-token", "--log-level", "error")
    command = [sys.executable, "-m", "arbiter", "serve", *place, *quiet]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    try:
        yield process
    finally:
        process.kill()  # kill it, so that its matches are left as after a crash
        _, said = process.communicate()  # until the last process that inherited its standard error has ended
        sys.stderr.buffer.write(said)
