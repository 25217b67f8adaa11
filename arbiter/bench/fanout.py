"""Fan-out: how many events a second reach observers, and how soon after their commit.

The pace of play asks for a tenth more deliveries a second than the goal. So the benchmark measures the delay of a
server that keeps up, not a queue that grows without end. When the players connect, all matches begin at the same time,
which is no steady pace. So the measurement window opens after all matches are under way. Every event that is committed
in the window must reach every observer, however late. For comparison, a baseline server writes one message to as many
observers in the same run.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from arbiter_protos.v1 import player_pb2

from arbiter.bench.playing_server import PLAYERS
from arbiter.bench.processes import BenchError, BenchProcess
from arbiter.bench.report import TIMES, Bound, Progress, Report, percentile, ratio
from arbiter.bench.scripts import GAME, SCRIPTS, scripts
from arbiter.bench.server_process import ServerProcess, opened

OBSERVERS: Final = "arbiter.bench.observers"
BARE: Final = "arbiter.bench.bare_fanout"
UNDER_WAY: Final = 2.5  #: thinking times until all matches are under way: a first move starts within one, takes another
OF_BARE: Final = 1.25  #: goal: the most times the bare server's delay
ALONE_S: Final = 0.25  #: seconds between two events of the baseline server: each is delivered long before the next


@dataclass(frozen=True, slots=True)
class FanoutPlan:
    """The size of the measurement: observers of all matches, matches, required deliveries a second, seconds."""

    observers: int = 1_000
    matches: int = 10
    offered: int = 22_000
    seconds: float = 10.0
    folder: Path | None = None

    @property
    def think_s(self) -> float:
        """How long a player thinks."""
        return self.observers * self.matches / self.offered

    @property
    def lead_s(self) -> float:
        """The time until every match is under way."""
        return UNDER_WAY * self.think_s


def bench_fanout(plan: FanoutPlan, progress: Progress) -> Report:
    """Play matches at a steady pace while observers follow every move; measure rate and delay."""
    report = Report("fanout", f"{plan.observers} observers of all {plan.matches} matches, a stream each")
    games = scripts(GAME, SCRIPTS)
    a_match = 2 + int((plan.lead_s + plan.seconds) / plan.think_s / min(map(len, games)))
    unlimited = {"streams_of_player": plan.observers, "observer_messages_a_second": 1_000_000}
    with opened(plan.folder, limits=unlimited) as server_process, ExitStack() as stack:
        pairs = [(f"first-{n}", f"second-{n}") for n in range(plan.matches)]
        tokens = [server_process.tokens([pair[side] for pair in pairs]) for side in (0, 1)]
        (eye,) = server_process.tokens(["observer"], player_pb2.SCOPE_OBSERVE)
        made = server_process.matches(GAME, [pair for _ in range(a_match) for pair in pairs])
        progress(f"connecting {plan.observers} observers")
        observers = stack.enter_context(
            BenchProcess(OBSERVERS, address=server_process.address, token=eye, observers=plan.observers)
        )
        observers.next_answer()
        common = {
            "addresses": [server_process.address],
            "scripts": games,
            "matches": {match: number % len(games) for number, match in enumerate(made)},
            "at_once": 1,
            "think_ms": 1_000 * plan.think_s,
        }
        players = [stack.enter_context(BenchProcess(PLAYERS, tokens=tokens[side], **common)) for side in (0, 1)]
        for side in players:
            side.next_answer()
        observers.ask(durable=[])
        server_process.server.ask()  # ignore what was written before the window
        ours = _measure(plan, server_process, players, observers, report, progress)
    least = _measure_bare(plan, report, progress)
    for percent in (50, 99):
        times = ratio(percentile(ours, percent), percentile(least, percent))
        title = f"from commit to observer, p{percent}, of the bare server's"
        report.add(f"delivery_p{percent}_ratio", title, times, TIMES, OF_BARE, Bound.MOST)
    return report


def _measure(
    plan: FanoutPlan,
    server_process: ServerProcess,
    players: list[BenchProcess],
    observers: BenchProcess,
    report: Report,
    progress: Progress,
) -> list[float]:
    """Play; return the delay of each event at each observer, in milliseconds."""
    progress(f"{plan.seconds:g} s of {plan.offered / plan.observers:g} moves a second")
    for side in reversed(players):
        side.send(seconds=plan.lead_s + plan.seconds)
    time.sleep(plan.lead_s)
    begin, before = time.monotonic(), (server_process.server.cpu_s(), observers.cpu_s())
    time.sleep(plan.seconds)
    end, after = time.monotonic(), (server_process.server.cpu_s(), observers.cpu_s())
    for side in players:
        side.next_answer()
    durable = [event for event in server_process.server.ask()["durable"] if begin <= event[-1] < end]
    latencies = _latencies(plan, observers, durable)
    server_us, observers_us = [(now - then) / len(latencies) * 1e6 for now, then in zip(after, before, strict=True)]
    report.add("deliveries_per_s", "events delivered", len(latencies) / (end - begin), "deliveries/s", 20_000)
    report.add("delivery_p50_ms", "from commit to observer, p50", percentile(latencies, 50), "ms")
    report.add("delivery_p99_ms", "from commit to observer, p99", percentile(latencies, 99), "ms", 60, Bound.MOST)
    report.add("server_us_per_delivery", "the server's processor time", server_us, "µs a delivery")
    report.add("observers_us", "the observers' processor time", observers_us, "µs a delivery")
    return latencies


def _measure_bare(plan: FanoutPlan, report: Report, progress: Progress) -> list[float]:
    """Write single messages; return the delay of each at each observer, in milliseconds."""
    progress(f"a bare server: connecting {plan.observers} observers")
    with BenchProcess(BARE) as server:
        address = f"127.0.0.1:{server.next_answer()['port']}"
        with BenchProcess(OBSERVERS, address=address, token="", observers=plan.observers) as observers:
            observers.next_answer()
            durable = server.ask(events=1 + round(plan.seconds / ALONE_S), every_s=ALONE_S)["durable"]
            latencies = _latencies(plan, observers, durable)
    report.add("bare_p50_ms", "one message written to as many by a bare server, p50", percentile(latencies, 50), "ms")
    report.add("bare_p99_ms", "and p99", percentile(latencies, 99), "ms")
    return latencies


def _latencies(plan: FanoutPlan, observers: BenchProcess, durable: list[Any]) -> list[float]:
    """Return the delay of each event at each observer, in milliseconds.

    Raises BenchError if an event did not reach all of them.
    """
    latencies: list[float] = observers.ask(durable=durable)["latencies"]
    if not len(latencies) == len(durable) * plan.observers > 0:
        raise BenchError(f"{len(latencies)} deliveries of {len(durable)} events to {plan.observers} observers")
    return latencies
