"""What `python -m tests.studies capacity` says: the model's answers as figures, and as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import Any, Final

from arbiter.bench.processes import BenchError
from arbiter.drawing.chart import AxisTick, Curve, Mark, chart_svg
from tests.studies.capacity import DESIGNS, Costs, Load, carried, costs_of, needed, predicted, remedy

CORES: Final = (2, 4, 8, 16, 32, 64, 128)  #: of the picture
CHECKED: Final = 4  #: replicas, of which the measurement is compared with the prediction

Row = tuple[str, ...]
HEADINGS: Final = ("cores", "design", "live matches", "moves/s", "observers", "replicas", "gives out first")
NEEDED_HEADINGS: Final = (
    "design",
    "cores for all",
    "replicas",
    "busy cores of replicas, PostgreSQL, NATS",
    "memory",
    "gives out first",
    "then",
)
CHECK_HEADINGS: Final = ("prediction", "predicted", "measured", "of it")


def rows(load: Load, costs: Costs, cores: Sequence[int]) -> list[Row]:
    """Return what each number of cores carries of a load, with each design."""
    found: list[Row] = []
    for number in cores:
        for design in DESIGNS:
            most = carried(load, costs, design, number)
            most_load = (f"{most.load.matches:,.0f}", f"{most.load.moves:,.0f}", f"{most.load.observers:,.0f}")
            found.append((f"{number}", design.name, *most_load, f"{most.replicas}", most.limit))
    return found


def needed_rows(load: Load, costs: Costs) -> list[Row]:
    """Return how many cores carry all of a load with each design, or that no number of them does."""
    found: list[Row] = []
    for design in DESIGNS:
        least = needed(load, costs, design)
        then = remedy(least.limit, design)
        if not least.cores:
            most = f"none: at most {least.load.matches:,.0f} live matches"
            found.append((design.name, most, "", "", "", least.limit, then))
            continue
        taken = least.demand
        busy = f"{taken.replicas:,.0f}, {taken.database:,.0f}, {taken.bus:,.0f}"
        sizes = (f"{least.cores:,}", f"{least.replicas:,}", busy, f"{taken.memory_gib:,.0f} GiB")
        found.append((design.name, *sizes, least.limit, then))
    return found


def costs_in(kept: Mapping[str, Any]) -> Costs:
    """Return the costs of one and two replicas in what `arbiter bench cluster` has kept. Raises BenchError.

    With two replicas NATS has two messages a move: from the one that decides it, and to the other one.
    """
    figures = _figures(kept)
    one, two = (_pair(figures, replicas) for replicas in (1, 2))
    bus = figures.get("replicas_2_bus_nats_us")
    if bus is None:
        return costs_of(one, two)
    more, writers = (max(0.0, of_two - of_one) for of_one, of_two in zip(one, _pair(figures, "2_bus"), strict=True))
    return costs_of(one, two, bus=bus / 2, bus_follow=more, bus_writer=writers)


def checks(kept: Mapping[str, Any]) -> list[Row]:
    """Return predictions for CHECKED replicas, from those of one and two, beside what was measured with so many."""
    figures, found = _figures(kept), list[Row]()
    for key, bus, how in ((f"{CHECKED}", False, ""), (f"{CHECKED}_bus", True, " and NATS")):
        told = predicted(costs_in(kept), CHECKED, bus)
        for this, (part, name) in zip(told, _PARTS.items(), strict=True):
            that = figures.get(f"replicas_{key}_{part}_us")
            if that and this:
                title = f"processor time of {name} a move with {CHECKED} replicas{how}, µs"
                found.append((title, f"{this:,.0f}", f"{that:,.0f}", f"{this / that:.2f}"))
    return found


_PARTS: Final = {"replicas": "the replicas", "postgres": "PostgreSQL", "nats": "NATS"}


def _figures(kept: Mapping[str, Any]) -> dict[str, float]:
    if kept.get("bench") != "cluster":
        raise BenchError("this is not what `arbiter bench cluster --json FILE` keeps")
    return {figure["key"]: float(figure["value"]) for figure in kept["figures"]}


def _pair(figures: Mapping[str, float], replicas: int | str) -> tuple[float, float]:
    try:
        return figures[f"replicas_{replicas}_replicas_us"], figures[f"replicas_{replicas}_postgres_us"]
    except KeyError:
        raise BenchError(
            f"what was kept has no processor time of {replicas} replica(s) and PostgreSQL: measure with "
            "--replicas 1,2,4, without --store"
        ) from None


def capacity_svg(load: Load, costs: Costs) -> str:
    """Return a picture of the moves a second that cores carry, a curve for each design."""
    curves = []
    for design in DESIGNS:
        found = [(number, carried(load, costs, design, number).load.moves) for number in CORES]
        curves.append(Curve(design.name, [Mark(log2(number), moves, moves, moves) for number, moves in found]))
    ticks = [AxisTick(log2(number), f"{number} cores") for number in CORES]
    return chart_svg("Moves a second that cores carry, by design", curves, ticks, "moves/s", powers=True)
