"""Fan-out: how many events a second reach observers, and how soon after their commit."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arbiter_protos.v1 import player_pb2

from arbiter.bench.moves import GAME, PLAYERS, SCRIPTS
from arbiter.bench.parts import Part
from arbiter.bench.report import Bound, Progress, Report, percentile
from arbiter.bench.scripts import scripts
from arbiter.bench.venue import opened

OBSERVERS: Final = "arbiter.bench.observers"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: observers of all matches, matches, deliveries a second that are asked for, seconds.

    What is asked for is a tenth more than the goal for the rate: how late events come is of interest while a server
    keeps up, and not how a queue grows once it does not.
    """

    observers: int = 1_000
    matches: int = 10
    offered: int = 22_000
    seconds: float = 10.0
    folder: Path | None = None


def bench_fanout(plan: Plan, progress: Progress) -> Report:
    """Have matches played at a steady pace while all of their observers are told of every move."""
    report = Report("fanout", f"{plan.observers} observers of all {plan.matches} matches, a stream each")
    games = scripts(GAME, SCRIPTS)
    think_ms = 1_000 * plan.observers * plan.matches / plan.offered
    a_match = 2 + int(plan.seconds * 1_000 / think_ms / min(map(len, games)))
    with opened(plan.folder) as venue, ExitStack() as stack:
        pairs = [(f"first-{n}", f"second-{n}") for n in range(plan.matches)]
        tokens = [venue.tokens([pair[side] for pair in pairs]) for side in (0, 1)]
        (eye,) = venue.tokens(["observer"], player_pb2.SCOPE_OBSERVE)
        made = venue.matches(GAME, [pair for _ in range(a_match) for pair in pairs])
        progress(f"connecting {plan.observers} observers")
        observers = stack.enter_context(Part(OBSERVERS, address=venue.address, token=eye, observers=plan.observers))
        observers.hear()
        known = {match: number % len(games) for number, match in enumerate(made)}
        common = {"address": venue.address, "scripts": games, "matches": known, "at_once": 1, "think_ms": think_ms}
        players = [stack.enter_context(Part(PLAYERS, tokens=tokens[side], **common)) for side in (0, 1)]
        for side in players:
            side.hear()
        venue.server.ask()
        progress(f"{plan.seconds:g} s of {plan.offered / plan.observers:g} moves a second")
        before = venue.server.cpu_s(), observers.cpu_s()
        for side in reversed(players):
            side.tell(seconds=plan.seconds)
        seconds = max(side.hear()["seconds"] for side in players)
        spent = venue.server.cpu_s() - before[0], observers.cpu_s() - before[1]
        durable = venue.server.ask()["durable"]
        found = observers.ask(durable=durable)
    deliveries, latencies = found["deliveries"] or 1, found["latencies"]
    report.add("deliveries_per_s", "events delivered", deliveries / seconds, "deliveries/s", 20_000)
    report.add("delivery_p50_ms", "from commit to observer, p50", percentile(latencies, 50), "ms")
    report.add("delivery_p99_ms", "from commit to observer, p99", percentile(latencies, 99), "ms", 60, Bound.MOST)
    report.add("server_us_per_delivery", "the server's processor time", spent[0] / deliveries * 1e6, "µs a delivery")
    report.add("observers_us", "the observers' processor time", spent[1] / deliveries * 1e6, "µs a delivery")
    return report
