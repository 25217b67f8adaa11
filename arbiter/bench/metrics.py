"""The cost of metrics and traces: processor time for a move with metrics, with metrics and traces, and without.

The servers play the same matches, and their rounds alternate. A scrape, once in many seconds, is not measured.
Traces are sent to a collector in this process, which discards them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Final

from arbiter.bench.playing_server import playing
from arbiter.bench.report import Bound, Progress, Report

FASTEST: Final = 6_000  #: moves a second for which enough matches are created
MOST_PERCENT: Final = 3.0
WARM_UP_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class MetricsPlan:
    """Matches at once; rounds of each server, and the seconds of each round; the folder of the databases."""

    matches: int = 64
    rounds: int = 9
    seconds: float = 3.0
    folder: Path | None = None


def bench_metrics(plan: MetricsPlan, progress: Progress) -> Report:
    """Measure the processor time of a move without metrics, with metrics, and with metrics and traces, in turn."""
    report = Report("metrics", f"{plan.matches} matches of bots that answer at once, measured and not")
    moves = FASTEST * (plan.rounds * plan.seconds + WARM_UP_S)
    with (
        _collector() as url,
        playing(plan.matches, 1, moves, 0.0, plan.folder) as plain,
        playing(plan.matches, 1, moves, 0.0, plan.folder, metrics=True) as measured,
        playing(plan.matches, 1, moves, 0.0, plan.folder, metrics=True, traces=url) as traced,
    ):
        servers = (plain, measured, traced)
        for server in servers:
            server.round(min(WARM_UP_S, plan.seconds))
        rounds = []
        for number in range(1, plan.rounds + 1):
            progress(f"round {number} of {plan.rounds}")
            first = number % len(servers)
            order = servers[first:] + servers[:first]
            found = {server: server.round(plan.seconds).server_us for server in order}
            rounds.append([found[server] for server in servers])
    for column, (name, what) in enumerate(
        (("plain_us", "without metrics"), ("measured_us", "with metrics"), ("traced_us", "with metrics and traces"))
    ):
        report.median(name, f"processor time {what}", (round_us[column] for round_us in rounds), "µs a move")
    for column, (name, what) in enumerate((("more", "metrics"), ("traced", "metrics and traces")), start=1):
        more = (100 * (round_us[column] / round_us[0] - 1) for round_us in rounds)
        report.median(name, f"more with {what}, median of the rounds", more, "%", MOST_PERCENT, Bound.MOST)
    return report


@contextmanager
def _collector() -> Iterator[str]:
    """Accept traces (OTLP over HTTP) and discard them; yields the URL."""

    class Forgetting(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Forgetting) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
