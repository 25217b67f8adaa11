"""The picture of `arbiter bench moves --svg FILE`: latency by offered load, beside that of the bare path.

It is drawn from the figures of the report alone.
"""

from __future__ import annotations

import re
from typing import Final

from arbiter.bench.report import Report
from arbiter.drawing.chart import AxisTick, Curve, Mark, chart_svg

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
