"""What measuring costs: a server's processor time for a move with metrics, beside that without.

Both servers play the same matches in rounds that take turns. To show the metrics, once
in many seconds, is not measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arbiter.bench.playing_server import playing
from arbiter.bench.report import Bound, Progress, Report

FASTEST: Final = 6_000  #: moves a second for which enough matches are created
MOST_PERCENT: Final = 3.0
WARM_UP_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class MetricsPlan:
    """Matches at once; pairs of rounds, and the seconds of each round; the folder of the databases."""

    matches: int = 64
    rounds: int = 9
    seconds: float = 3.0
    folder: Path | None = None


def bench_metrics(plan: MetricsPlan, progress: Progress) -> Report:
    """Measure the processor time of a move with and without metrics, in turn."""
    report = Report("metrics", f"{plan.matches} matches of bots that answer at once, with and without metrics")
    moves = FASTEST * (plan.rounds * plan.seconds + WARM_UP_S)
    with (
        playing(plan.matches, 1, moves, 0.0, plan.folder) as plain,
        playing(plan.matches, 1, moves, 0.0, plan.folder, metrics=True) as measured,
    ):
        for server in (plain, measured):
            server.round(min(WARM_UP_S, plan.seconds))
        rounds = []
        for number in range(1, plan.rounds + 1):
            progress(f"round {number} of {plan.rounds}")
            order = (plain, measured) if number % 2 else (measured, plain)
            found = {server: server.round(plan.seconds).server_us for server in order}
            rounds.append((found[plain], found[measured]))
    report.median("plain_us", "processor time without metrics", (us for us, _ in rounds), "µs a move")
    report.median("measured_us", "processor time with metrics", (us for _, us in rounds), "µs a move")
    more = (100 * (after / before - 1) for before, after in rounds)
    report.median("more", "more with metrics, median of the pairs of rounds", more, "%", MOST_PERCENT, Bound.MOST)
    return report
