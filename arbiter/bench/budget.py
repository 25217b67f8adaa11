"""The budget: what one player who does whatever its limits allow costs the moves of others, and the server's memory.

Pairs of players who think play on; beside them one player reads everything from the beginning, on as many streams as it
may, again and again. Then it asks for the same and reads nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arbiter_protos.v1 import player_pb2

from arbiter.bench.playing_server import connected
from arbiter.bench.processes import BenchProcess
from arbiter.bench.report import Bound, Progress, Report, percentile
from arbiter.bench.scripts import GAME, SCRIPTS, scripts
from arbiter.bench.server_process import opened

READERS: Final = "arbiter.bench.readers"
HISTORY_RATE: Final = 3_000.0  #: moves a second, at most, by which the number of matches for the history is reckoned
SETTLE_S: Final = 1.0
AFTER_S: Final = 3.0  #: a server that has little to do gives memory back each second
MOST_TIMES: Final = 2.0  #: as long as alone may the slowest moves take
UNREAD_MIB: Final = 64.0  #: memory that a player may take who does not read
MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Plan:
    """Pairs, who think for `think_ms`; seconds of play that make the history, and of each measurement; streams."""

    pairs: int = 8
    think_ms: float = 50.0
    history_s: float = 8.0
    seconds: float = 10.0
    reading: int = 60
    unread: int = 500
    watching: int = 500
    folder: Path | None = None


def bench_budget(plan: Plan, progress: Progress) -> Report:
    """Measure the moves' latency alone, beside a reader, and beside one that does not read; and memory."""
    report = Report("budget", f"{plan.pairs} pairs who think {plan.think_ms:g} ms, beside one player who reads history")
    games = scripts(GAME, SCRIPTS)
    with opened(plan.folder) as server_process:
        makers = [("first", "second")]
        pairs = [(f"first-{n}", f"second-{n}") for n in range(plan.pairs)]
        (token,) = server_process.tokens(["reader"], player_pb2.SCOPE_OBSERVE)
        progress("making history")
        tokens = [server_process.tokens([pair[side] for pair in makers]) for side in (0, 1)]
        made = server_process.matches(GAME, makers * (1 + int(HISTORY_RATE * plan.history_s / min(map(len, games)))))
        with connected(server_process.address, tokens, games, made, 16, 0.0) as makers_of_history:
            for side in reversed(makers_of_history):
                side.send(seconds=plan.history_s)
            moves = sum(side.next_answer()["moves"] for side in makers_of_history)
        report.add("history", "moves on record", moves, "moves")
        most = 3 * (plan.seconds + SETTLE_S) * 1_000 / plan.think_ms
        tokens = [server_process.tokens([pair[side] for pair in pairs]) for side in (0, 1)]
        made = server_process.matches(GAME, pairs * (2 + int(most / min(map(len, games)))))
        with connected(server_process.address, tokens, games, made, 1, plan.think_ms) as players:
            alone = _measure(plan, players, "alone", report, progress)
            before = server_process.server.resident_bytes()
            for name, streams, after, reads, memory in (
                ("reading", plan.reading, "0", True, None),
                ("unread", plan.unread, "0", False, UNREAD_MIB),
                ("watching", plan.watching, "", True, None),
            ):
                attack = {
                    "address": server_process.address,
                    "token": token,
                    "streams": streams,
                    "after": after,
                    "reads": reads,
                }
                with BenchProcess(READERS, **attack) as readers:
                    readers.next_answer()
                    time.sleep(SETTLE_S)
                    _measure(plan, players, name, report, progress, alone)
                    grown = (server_process.server.resident_bytes() - before) / MIB
                    found = readers.ask()
                report.add(f"{name}_mib", f"memory more, {streams} streams {name}", grown, "MiB", memory, Bound.MOST)
                report.add(f"{name}_read_mib", "read meanwhile", found["bytes"] / MIB, "MiB")
            progress("until the memory is given back")
            time.sleep(AFTER_S)
            report.add(
                "left_mib", "memory more, afterwards", (server_process.server.resident_bytes() - before) / MIB, "MiB"
            )
    return report


def _measure(
    plan: Plan,
    players: tuple[BenchProcess, BenchProcess],
    name: str,
    report: Report,
    progress: Progress,
    alone: float = 0.0,
) -> float:
    """Add the latency of moves to the report; return its p99."""
    progress(f"{plan.seconds:g} s of play, {name}")
    for side in reversed(players):
        side.send(seconds=plan.seconds)
    answers = [side.next_answer() for side in players]
    latencies = [ms for side in answers for ms in side["latencies"]]
    p99 = percentile(latencies, 99)
    report.add(
        f"{name}_moves_per_s", f"moves, {name}", sum(side["moves"] for side in answers) / plan.seconds, "moves/s"
    )
    report.add(f"{name}_p50_ms", f"acknowledged, {name}, p50", percentile(latencies, 50), "ms")
    report.add(f"{name}_p99_ms", f"acknowledged, {name}, p99", p99, "ms")
    if alone:
        report.add(f"{name}_ratio", f"p99, {name}, of that alone", p99 / alone, "times", MOST_TIMES, Bound.MOST)
    return p99
