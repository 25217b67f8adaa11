"""The saved results of benchmarks (`--json FILE`) in one table: ratios, goals, and stolen processor time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from arbiter.bench.report import TIMES, Bound, Figure

RATIOS: Final = (TIMES, "%")
"""The units of figures that compare two measurements of one run."""

Row = tuple[str, str, str, str, str]
"""Benchmark, figure, value, unit, goal."""


def rows_of(kept: dict[str, Any]) -> list[Row]:
    """Return the rows of one benchmark from what `Report.json` returned; the last one is the steal of its run.

    Raises LookupError, TypeError or ValueError if it is something else.
    """
    name = str(kept["bench"])
    rows = [(name, figure.title, figure.shown, figure.unit, figure.verdict) for figure in _compared(kept["figures"])]
    return [*rows, (name, "the machine's steal", f"{float(kept['machine']['stolen']):.1f}", "%", "")]


def _compared(figures: list[dict[str, Any]]) -> Iterator[Figure]:
    """Yield the figures that are ratios or have goals."""
    for kept in figures:
        figure = Figure(
            kept["key"],
            kept["title"],
            float(kept["value"]),
            kept["unit"],
            None if kept["goal"] is None else float(kept["goal"]),
            Bound(kept["bound"]),
        )
        if figure.unit in RATIOS or figure.goal is not None:
            yield figure
