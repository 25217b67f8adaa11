"""The table of what benchmarks have kept."""

from __future__ import annotations

import json

from arbiter.bench.report import TIMES, Bound, Report, rows_of


def test_the_table_has_every_ratio_every_goal_and_the_steal() -> None:
    report = Report("moves", "about", stolen=3.46)
    report.median("ratio", "of the bare path's", (0.8, 0.6, 0.7), TIMES, 0.8)
    report.median("other_ratio", "a ratio without a goal", (1.1,), TIMES)
    report.add("share", "of an echo", 11.04, "%")
    report.add("ack_ms", "acknowledged", 4.5, "ms", 6, Bound.MOST)
    report.add("rate", "moves", 3_879, "moves/s")
    assert rows_of(json.loads(json.dumps(report.json()))) == [
        ("moves", "of the bare path's", "0.700", "times", "≥ 0.80  not met"),
        ("moves", "a ratio without a goal", "1.100", "times", ""),
        ("moves", "of an echo", "11.0", "%", ""),
        ("moves", "acknowledged", "4.50", "ms", "≤ 6.00  met"),
        ("moves", "the machine's steal", "3.5", "%", ""),
    ]
