"""Moves at offered loads: latency of the acknowledgement and of the commit, and processor time, by moves a second.

Moves fall due at drawn times, whether or not the server has answered the ones before, and a latency counts from the
time at which a move was due (`arbiter.bench.arrivals`). The server and the bare path are offered the same times, in
rounds that alternate; in each round bots that answer at once also show what a move costs at saturation. All players are
in one process: a move that is due may be of any match, whoever is to move there.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from arbiter.bench.playing_server import PlayingServer, RoundResult, bare, playing
from arbiter.bench.report import TIMES, Bound, Progress, Report, percentile, ratio
from arbiter.drawing.chart import AxisTick, Curve, Mark, chart_svg

FASTEST: Final = 12_000  #: moves a second at saturation for which enough matches are created
WARM_UP_S: Final = 1.0
FLUSHES: Final = 200
FLUSHED_BYTES: Final = 4_096

PERCENTS: Final = (50, 99)
ACK_MS: Final[Mapping[int, Mapping[int, float]]] = {1_000: {50: 1.5, 99: 6}}
"""Goals: the most ms until a move is acknowledged, by load and percentile."""
BEYOND_MS: Final[Mapping[int, Mapping[int, float]]] = {2_500: {50: 1.5, 99: 5}}
"""Goals: the most ms by which that is more than the same percentile of the commit."""
COMMIT_P50_MS: Final = 1.0  #: goal where the disk's own flush takes 0.1 ms
SMALL: Final = 500  #: the load at which a move may cost
SMALL_US_RATIO: Final = 2.0  #: at most this multiple of its processor time at saturation


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """The size of the measurement: matches at once, rounds, their seconds, loads in moves a second.

    For `folder` and `store` see `arbiter.bench.stores.new_store`.
    """

    matches: int
    rounds: int
    seconds: float
    loads: Sequence[int]
    folder: Path | None
    store: str


Rounds = Mapping[int, Sequence[RoundResult]]
"""What rounds found, by load; SATURATION stands for bots that answer at once."""
SATURATION: Final = 0


def measure_loads(plan: LoadPlan, report: Report, progress: Progress, of_processor: float) -> None:
    """Play all rounds, and add their figures. `of_processor`: multiple of the goal for processor time."""
    report.add("flush_p50_ms", "the disk's own flush of 4 KiB, p50", _flush_ms(plan.folder), "ms")
    rounds, of_bare = _play(plan, progress)
    for load in plan.loads:
        _add_load(report, load, rounds[load], of_bare[load], on_sqlite=not plan.store)
    for key, whose, of_all in (("", "the server's", rounds), ("bare_", "the bare path's", of_bare)):
        at_once = of_all[SATURATION]
        report.median(f"{key}saturation_us", f"{whose} processor time at saturation", _spent(at_once), "µs a move")
        if SMALL in of_all:
            ratios = [ratio(small, most) for small, most in zip(_spent(of_all[SMALL]), _spent(at_once), strict=True)]
            title = f"{whose} processor time a move at {SMALL} moves/s, of that at saturation"
            goal = None if key else SMALL_US_RATIO * of_processor
            report.median(f"{key}small_us_ratio", title, ratios, TIMES, goal, Bound.MOST)


def _play(plan: LoadPlan, progress: Progress) -> tuple[Rounds, Rounds]:
    """Return what each round of the server and of the bare path found."""
    warm_up_s = min(WARM_UP_S, plan.seconds)
    moves = plan.rounds * plan.seconds * (FASTEST + sum(plan.loads)) + FASTEST * warm_up_s
    found: tuple[dict[int, list[RoundResult]], ...] = ({}, {})
    with (
        playing(plan.matches, 1, moves, 0.0, plan.folder, store=plan.store, together=True) as ours,
        bare(plan.matches, moves, 0.0, plan.folder, plan.store, together=True) as least,
    ):
        servers = list(zip((ours, least), found, strict=True))
        for server, _ in servers:
            server.round(warm_up_s)
        for number in range(1, plan.rounds + 1):
            for load in (*plan.loads, SATURATION):
                what = f"{load:,} moves/s offered" if load else "answers at once"
                progress(f"{what}: round {number} of {plan.rounds}")
                for server, of_server in servers[:: 1 if number % 2 else -1]:  # neither is always the first
                    of_server.setdefault(load, []).append(_round(server, plan.seconds, load, number))
    return found[0], found[1]


def _round(server: PlayingServer, seconds: float, load: int, number: int) -> RoundResult:
    return server.round(seconds, offered=load, seed=f"{load}/{number}") if load else server.round(seconds)


def _add_load(
    report: Report, load: int, rounds: Sequence[RoundResult], of_bare: Sequence[RoundResult], on_sqlite: bool
) -> None:
    """Add the figures of a load; their goals are for SQLite."""
    key = f"offered_{load}"
    for name, whose, found in (("", "", rounds), ("bare_", "bare path: ", of_bare)):
        ours = on_sqlite and not name
        title = f"{load:,} moves/s offered: {whose}"
        report.median(f"{key}_{name}moves_per_s", f"{title}acknowledged in time", [r.rate for r in found], "moves/s")
        late = sum(each.unanswered for each in found)
        report.add(f"{key}_{name}unanswered", f"{title}not acknowledged 5 s after a round", late, "moves")
        for percent in PERCENTS:
            acks = [percentile(each.latencies, percent) for each in found]
            commits = [percentile(each.commits, percent) for each in found]
            goal = ACK_MS.get(load, {}).get(percent) if ours else None
            report.median(
                f"{key}_{name}ack_p{percent}_ms", f"{title}acknowledged, p{percent}", acks, "ms", goal, Bound.MOST
            )
            goal = COMMIT_P50_MS if ours and percent == 50 else None
            report.median(
                f"{key}_{name}commit_p{percent}_ms", f"{title}commit, p{percent}", commits, "ms", goal, Bound.MOST
            )
            beyond = [ack - commit for ack, commit in zip(acks, commits, strict=True)]
            goal = BEYOND_MS.get(load, {}).get(percent) if ours else None
            more = f"{title}acknowledged after the commit's time, p{percent}"
            report.median(f"{key}_{name}beyond_p{percent}_ms", more, beyond, "ms", goal, Bound.MOST)
        report.median(f"{key}_{name}us_per_move", f"{title}processor time", _spent(found), "µs a move")
        lags = [percentile(each.lags, 99) for each in found]
        report.median(f"{key}_{name}lag_p99_ms", f"{title}the players' own lag in it, p99", lags, "ms")
    ratios = [ratio(us, least) for us, least in zip(_spent(rounds), _spent(of_bare), strict=True)]
    title = f"{load:,} moves/s offered: processor time a move, of the bare path's"
    report.median(f"{key}_us_ratio", title, ratios, TIMES)


def _spent(rounds: Sequence[RoundResult]) -> list[float]:
    return [each.server_us for each in rounds]


def _flush_ms(folder: Path | None) -> float:
    """Return the median time in which the disk of a folder makes some bytes more of a file durable."""
    took, flush = [], getattr(os, "fdatasync", os.fsync)  # macOS has only fsync
    with TemporaryFile(dir=folder) as file:
        for _ in range(FLUSHES):
            file.write(bytes(FLUSHED_BYTES))
            file.flush()
            began = time.perf_counter()
            flush(file.fileno())
            took.append((time.perf_counter() - began) * 1000)
    return percentile(took, 50)


CURVES: Final = (
    ("server p99", "", 99),
    ("bare path p99", "bare_", 99),
    ("server p50", "", 50),
    ("bare path p50", "bare_", 50),
)
LEAST_MS: Final = 0.01  #: what is drawn in place of nothing, which a logarithmic axis does not have
OFFERED: Final = re.compile(r"offered_([0-9]+)_us_per_move")


def loads_svg(report: Report) -> str:
    """Return the chart; bands reach from the best to the worst round."""
    figures = {figure.key: figure for figure in report.figures}
    loads = sorted(int(found[1]) for key in figures if (found := OFFERED.fullmatch(key)))
    curves = []
    for name, whose, percent in CURVES:
        marks = []
        for load in loads:
            figure = figures[f"offered_{load}_{whose}ack_p{percent}_ms"]
            value, low, high = (max(ms, LEAST_MS) for ms in (figure.value, min(figure.rounds), max(figure.rounds)))
            marks.append(Mark(load, value, low, high))
        curves.append(Curve(name, marks))
    ticks = [AxisTick(load, f"{load:,}/s") for load in loads]
    return chart_svg("Acknowledgement of a move, by moves offered a second", curves, ticks, "ms", digits=1, powers=True)
