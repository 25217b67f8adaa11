"""The results of a benchmark: figures with their goals beside them, as a table for people or as JSON for programs."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import Any, Final

from arbiter.runtime.build import is_compiled

Progress = Callable[[str], None]
"""A callback for progress: it gets a line that says what the benchmark does now."""


TIMES: Final = "times"  #: the unit of a figure that is a multiple of another one


class Bound(StrEnum):
    """Which side of its goal a figure should be on."""

    LEAST = "least"
    MOST = "most"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. `key` is its name for programs; if `goal` is None, the figure only explains others.

    rounds: what each round found, if there were several.
    """

    key: str
    title: str
    value: float
    unit: str
    goal: float | None = None
    bound: Bound = Bound.LEAST
    rounds: tuple[float, ...] = ()

    @property
    def met(self) -> bool | None:
        """Whether the goal is met, or None if there is none."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.bound is Bound.LEAST else self.value <= self.goal

    @property
    def shown(self) -> str:
        """The value in the format of tables: a multiple with three decimals, so that 0.998 does not look like 1."""
        return f"{self.value:.3f}" if self.unit == TIMES else shown(self.value)

    @property
    def verdict(self) -> str:
        """The text of the table about the goal."""
        if self.goal is None:
            return ""
        sign = "≥" if self.bound is Bound.LEAST else "≤"
        return f"{sign} {shown(self.goal)}  {'met' if self.met else 'not met'}"


@dataclass(slots=True)
class Report:
    """All figures of a benchmark, and the machine on which they were measured.

    stolen: the share of processor time that a virtual machine's host gave to others during the run, in percent. plan:
    the size of the measurement, for whoever reads the figures later.
    """

    name: str
    about: str
    figures: list[Figure] = field(default_factory=list)
    stolen: float = 0.0
    plan: Mapping[str, int | float] = field(default_factory=dict)

    def add(
        self,
        key: str,
        title: str,
        value: float,
        unit: str,
        goal: float | None = None,
        bound: Bound = Bound.LEAST,
        rounds: Iterable[float] = (),
    ) -> None:
        """Add a figure, and what each round found if it comes from several."""
        self.figures.append(Figure(key, title, value, unit, goal, bound, tuple(rounds)))

    def median(
        self,
        key: str,
        title: str,
        rounds: Iterable[float],
        unit: str,
        goal: float | None = None,
        bound: Bound = Bound.LEAST,
    ) -> None:
        """Add the median of what the rounds found, and keep what each of them found."""
        found = tuple(rounds)
        self.add(key, title, median(found), unit, goal, bound, found)

    def json(self) -> dict[str, Any]:
        """Return the report for programs."""
        figures = [asdict(figure) | {"met": figure.met} for figure in self.figures]
        measured = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "plan": dict(self.plan)}
        return {"bench": self.name, "machine": machine() | {"stolen": self.stolen}, **measured, "figures": figures}

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return the report for people: figure, value, unit, goal."""
        return [(figure.title, figure.shown, figure.unit, figure.verdict) for figure in self.figures]


def machine() -> dict[str, Any]:
    """Return what figures depend on: processors, Python, compiled modules, and how busy the machine is otherwise."""
    return {
        "processors": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "compiled": is_compiled(),
        "system": f"{platform.system()} {platform.machine()}",
        "load": round(os.getloadavg()[0], 2),
    }


def stolen_s() -> float:
    """Return how long a virtual machine's host has run others instead of this one, in processor seconds (Linux)."""
    try:
        return int(Path("/proc/stat").read_text().split(maxsplit=9)[8]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def shown(value: float) -> str:
    """Return a number in the format of tables."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile (nearest rank) of unsorted values; 0 if there are none."""
    if not values:
        return 0.0
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, max(0, round(percent / 100 * len(ranked)) - 1))]


def ratio(this: float, that: float) -> float:
    """Return this divided by that; 0 if that is 0."""
    return this / that if that else 0.0


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
