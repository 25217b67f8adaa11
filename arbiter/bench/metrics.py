"""The cost of metrics and traces: processor time for a move with metrics, with metrics and traces, and without.

The servers play the same matches, and their rounds alternate. The processor time of a move differs by a tenth from one
second to the next, so it takes many rounds to show one percent. Two more figures say how exact the answer is: the 95 %
confidence interval of the median, and a second server without metrics. All servers are started several times, since two
that do the same may differ as long as they run. A scrape, once in many seconds, is not measured. Traces are sent to
a collector in this process, which discards them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from math import ceil, sqrt
from typing import Any, Final

from arbiter.bench.plans import FASTEST, WARM_UP_S, MetricsPlan
from arbiter.bench.playing_server import playing
from arbiter.bench.report import Bound, Progress, Report

MOST_PERCENT: Final = 3.0


def bench_metrics(plan: MetricsPlan, progress: Progress) -> Report:
    """Measure the processor time of a move without metrics, with metrics, and with metrics and traces, in turn."""
    report = Report("metrics", f"{plan.matches} matches of bots that answer at once, measured and not")
    rounds: list[Sequence[float]] = []
    with _collector() as url:
        for number in range(1, plan.starts + 1):
            progress(f"start {number} of {plan.starts}")
            rounds += _microseconds(plan, url, number)
    for column, (name, what) in enumerate(
        (("plain_us", "without metrics"), ("measured_us", "with metrics"), ("traced_us", "with metrics and traces"))
    ):
        report.median(name, f"processor time {what}", (us[column] for us in rounds), "µs a move")
    for column, (name, what) in enumerate((("more", "metrics"), ("traced", "metrics and traces")), start=1):
        more = [_percent(us[column], us) for us in rounds]
        report.median(name, f"more with {what}", more, "%", MOST_PERCENT, Bound.MOST)
        report.add(f"{name}_interval", "95 % confidence interval of this: plus or minus", _half_interval(more), "%")
    noise = (100 * (us[3] / us[0] - 1) for us in rounds)
    report.median("noise", "more in the second server without metrics", noise, "%")
    return report


def _percent(measured: float, us: Sequence[float]) -> float:
    """Return how much more a server takes than the two without metrics, which are the first and the last one."""
    return 100 * (2 * measured / (us[0] + us[-1]) - 1)


def _half_interval(values: Sequence[float]) -> float:
    """Return half of the 95 % confidence interval of a median, between order statistics (normal approximation)."""
    ordered, apart = sorted(values), 0.98 * sqrt(len(values))
    middle = len(values) / 2
    return (ordered[min(len(values) - 1, ceil(middle + apart))] - ordered[max(0, int(middle - apart))]) / 2


def _microseconds(plan: MetricsPlan, url: str, number: int) -> list[Sequence[float]]:
    """Return the processor time of a move, in microseconds, in each round of newly started servers.

    They are the one without metrics, the one with metrics, the one with metrics and traces, and another without. What
    they do between their rounds does not count: they collect garbage then.
    """
    moves = FASTEST * (plan.rounds * plan.seconds + WARM_UP_S)
    kinds: tuple[dict[str, Any], ...] = ({}, {"metrics": True}, {"metrics": True, "traces": url}, {})
    with ExitStack() as stack:
        servers = [stack.enter_context(playing(plan.matches, 1, moves, 0.0, plan.folder, **kind)) for kind in kinds]
        for server in servers:
            server.round(min(WARM_UP_S, plan.seconds))
        found: list[Sequence[float]] = []
        for turn in range(number, number + plan.rounds):
            us = [0.0] * len(servers)
            for place in range(len(servers)):
                which = (turn + place) % len(servers)
                us[which] = servers[which].round(plan.seconds).server_us
            found.append(us)
    return found


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
