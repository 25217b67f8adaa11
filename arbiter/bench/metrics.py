"""The cost of metrics and traces: processor time for a move with metrics, with metrics and traces, and without.

The servers play the same matches, and their rounds alternate. Two servers that do the same may differ by some percent
as long as they run: so they are started anew several times, and a second one without metrics says how much that is. A
scrape, once in many seconds, is not measured. Traces are sent to a collector in this process, which discards them.
They are sent every few seconds, so that the median of the rounds leaves the sending out: a quarter of a millisecond for
each traced move.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from statistics import median
from typing import Any, Final

from arbiter.bench.playing_server import playing
from arbiter.bench.report import Bound, Progress, Report

FASTEST: Final = 6_000  #: moves a second for which enough matches are created
MOST_PERCENT: Final = 3.0
WARM_UP_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class MetricsPlan:
    """Matches at once; starts of all servers; rounds of each server and start, and the seconds of each round.

    folder: of the databases.
    """

    matches: int = 64
    starts: int = 6
    rounds: int = 8
    seconds: float = 1.0
    folder: Path | None = None


def bench_metrics(plan: MetricsPlan, progress: Progress) -> Report:
    """Measure the processor time of a move without metrics, with metrics, and with metrics and traces, in turn."""
    report = Report("metrics", f"{plan.matches} matches of bots that answer at once, measured and not")
    with _collector() as url:
        starts = []
        for number in range(1, plan.starts + 1):
            progress(f"start {number} of {plan.starts}")
            starts.append(_microseconds(plan, url, number))
    for column, (name, what) in enumerate(
        (("plain_us", "without metrics"), ("measured_us", "with metrics"), ("traced_us", "with metrics and traces"))
    ):
        report.median(name, f"processor time {what}", (us[column] for us in starts), "µs a move")
    for column, (name, what) in enumerate((("more", "metrics"), ("traced", "metrics and traces")), start=1):
        more = (_percent(us[column], us) for us in starts)
        report.median(name, f"more with {what}, median of the starts", more, "%", MOST_PERCENT, Bound.MOST)
    noise = (abs(us[3] / us[0] - 1) * 100 for us in starts)
    report.median("noise", "between two servers without metrics, median of the starts", noise, "%")
    return report


def _percent(measured: float, us: Sequence[float]) -> float:
    """Return how much more a server takes than the two without metrics, which are the first and the last one."""
    return 100 * (2 * measured / (us[0] + us[-1]) - 1)


def _microseconds(plan: MetricsPlan, url: str, number: int) -> list[float]:
    """Return the processor time of a move, in microseconds, of newly started servers: the median of their rounds.

    They are the one without metrics, the one with metrics, the one with metrics and traces, and another without. What
    they do between their rounds does not count: they collect garbage then.
    """
    moves = FASTEST * (plan.rounds * plan.seconds + WARM_UP_S)
    kinds: tuple[dict[str, Any], ...] = ({}, {"metrics": True}, {"metrics": True, "traces": url}, {})
    with ExitStack() as stack:
        servers = [stack.enter_context(playing(plan.matches, 1, moves, 0.0, plan.folder, **kind)) for kind in kinds]
        for server in servers:
            server.round(min(WARM_UP_S, plan.seconds))
        found: list[list[float]] = [[] for _ in servers]
        for turn in range(number, number + plan.rounds):
            for place in range(len(servers)):
                which = (turn + place) % len(servers)
                found[which].append(servers[which].round(plan.seconds).server_us)
    return [median(rounds) for rounds in found]


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
