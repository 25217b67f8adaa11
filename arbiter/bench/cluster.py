"""Several servers on one PostgreSQL beside a single one on SQLite: moves, latencies, and processor time of each part.

Where there are several, they are measured without a bus and with NATS.

Every round starts each size anew and plays it, one after the other, so that a disturbance of the machine affects all
of them; ratios are of the same round. First all players answer at once, then moves are offered at a load that a small
machine bears, for the latencies.

A move costs a process more if it has fewer of them, because fewer share a wake-up, a turn of the event loop and a
commit. Several servers on the same processors have fewer each, and together make fewer than the single process when all
answer at once. So there are two more comparisons. With as many moves a second offered to all of them together as to the
single process, up to two servers do the same work as it does. And the single process is measured at the moves a second
that each of several servers had: beside that, the ratio says what it costs to be several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from arbiter.bench.nats_process import NatsProcess, nats
from arbiter.bench.plans import FASTEST, WARM_UP_S, ClusterPlan
from arbiter.bench.processes import BenchError
from arbiter.bench.replicas import ClusterRound, Database, Servers, contest, database
from arbiter.bench.report import TIMES, Bound, Progress, Report, percentile, ratio

TRIES: Final = 4  #: of a round
MOST_LOADED: Final = 2  #: replicas to which the larger load is offered: more of them may not bear it on two processors
REPLICAS_US: Final = 1.25  #: goal: the replicas' processor time a move, of the single process's
ELSEWHERE_MS: Final = 5.0  #: goal: the median from the commit to an observer at another replica
PARTS: Final = ("replicas", "postgres", "nats", "drivers")
SQLITE: Final = Servers(0)  #: what the others are compared with


def _contests(plan: ClusterPlan) -> list[Servers]:
    """Return all servers that are measured, one after the other in a round."""
    with_bus = [Servers(size, bus=True) for size in plan.sizes if size > 1 and plan.bus]
    return [SQLITE, *map(Servers, plan.sizes), *with_bus]


@dataclass(frozen=True, slots=True)
class SizeRounds:
    """What the rounds of one size found: with players who answer at once, and with moves offered.

    loaded: with more moves offered; none of more replicas than MOST_LOADED. single: of several replicas, what the
    single process took at the moves a second that each of them had.
    """

    at_once: Sequence[ClusterRound]
    offered: Sequence[ClusterRound]
    loaded: Sequence[ClusterRound]
    single: Sequence[ClusterRound]


def bench_cluster(plan: ClusterPlan, progress: Progress) -> Report:
    """Measure every size. Raises BenchError if no PostgreSQL or NATS can be run, or a part ends by itself."""
    report = new_report(plan)
    found = _play(plan, progress)
    for size, rounds in found.items():
        _add(report, plan, size, rounds)
    _compare(report, plan, found)
    return report


def new_report(plan: ClusterPlan) -> Report:
    """Return a report without figures, which says how they are measured."""
    about = f"{plan.pairs} pairs of players on replicas that share a PostgreSQL, beside one on SQLite"
    size = {"pairs": plan.pairs, "rounds": plan.rounds, "seconds": plan.seconds}
    size |= {"offered": plan.offered, "loaded": plan.loaded}
    return Report("cluster", about, plan=size)


def _play(plan: ClusterPlan, progress: Progress) -> Mapping[Servers, SizeRounds]:
    at_once: dict[Servers, list[ClusterRound]] = {size: [] for size in _contests(plan)}
    offered: dict[Servers, list[ClusterRound]] = {size: [] for size in at_once}
    loaded: dict[Servers, list[ClusterRound]] = {size: [] for size in at_once}
    single: dict[Servers, list[ClusterRound]] = {size: [] for size in at_once}
    needs_bus = any(size.bus for size in at_once)
    with database(plan.store) as place, nats() if needs_bus else nullcontext() as bus:
        for number in range(1, plan.rounds + 1):
            for size in list(at_once)[:: 1 if number % 2 else -1]:  # none is always the first
                progress(f"round {number} of {plan.rounds}: {_name(size)}")
                fast, steady, *more = _round(plan, size, number, place, bus if size.bus else None, progress)
                at_once[size].append(fast)
                offered[size].append(steady)
                loaded[size] += more
            for size in at_once:
                if size.replicas > 1:
                    each = at_once[size][-1].rate / size.replicas
                    progress(f"round {number} of {plan.rounds}: {_name(SQLITE)} with {each:,.0f} moves/s")
                    single[size].append(_single(plan, number, each, place))
    return {size: SizeRounds(at_once[size], offered[size], loaded[size], single[size]) for size in at_once}


def _single(plan: ClusterPlan, number: int, rate: float, place: Database) -> ClusterRound:
    """Play the single process at this many moves a second."""
    warm_up_s = min(WARM_UP_S, plan.seconds)
    with contest(0, plan.pairs, FASTEST * warm_up_s + rate * plan.seconds, place, plan.folder) as alone:
        alone.round(warm_up_s)
        return alone.round(plan.seconds, offered=max(1, round(rate)), seed=f"{rate:.0f}/{number}")


def _round(
    plan: ClusterPlan, size: Servers, number: int, place: Database, bus: NatsProcess | None, progress: Progress
) -> list[ClusterRound]:
    """Play one size in one round: at once, the offered load, and up to MOST_LOADED replicas the larger one too.

    Raises BenchError if it is disturbed TRIES times.

    On a machine that does much else, a server may stand still for so long that the others take it for gone: then it
    ends the streams of its players, and the round says nothing.
    """
    warm_up_s = min(WARM_UP_S, plan.seconds)
    loads = [plan.offered, plan.loaded] if size.replicas <= MOST_LOADED else [plan.offered]
    moves = FASTEST * (plan.seconds + warm_up_s) + sum(loads) * plan.seconds
    for tries_left in reversed(range(TRIES)):
        try:
            with contest(size.replicas, plan.pairs, moves, place, plan.folder, bus) as replicas:
                replicas.round(warm_up_s)
                fast = replicas.round(plan.seconds)
                seeds = [(load, f"{load}/{number}") for load in loads]
                return [fast, *(replicas.round(plan.seconds, offered=load, seed=seed) for load, seed in seeds)]
        except BenchError as error:
            if not tries_left:
                raise
            progress(f"once more, because it was disturbed: {error}")
    raise AssertionError("the last try returns or raises")


def _add(report: Report, plan: ClusterPlan, size: Servers, rounds: SizeRounds) -> None:
    """Add the figures of a size."""
    key, name = _key(size), _name(size)
    report.median(f"{key}_moves_per_s", f"{name}: moves", [each.rate for each in rounds.at_once], "moves/s")
    for part in PARTS:
        if (
            part in ("replicas", "drivers")
            or (part == "nats" and size.bus)
            or any(each.us[part] for each in rounds.at_once)
        ):
            spent = [each.us[part] for each in rounds.at_once]
            report.median(f"{key}_{part}_us", f"{name}: processor time of {_PARTS[part]}", spent, "µs a move")
    if rounds.loaded:
        title = f"{name}, {plan.loaded:,} moves/s offered: processor time of {_PARTS['replicas']}"
        report.median(f"{key}_loaded_us", title, [each.us["replicas"] for each in rounds.loaded], "µs a move")
    load = f"{name}, {plan.offered} moves/s offered"
    for percent in (50, 99):
        acks = [percentile(each.acks, percent) for each in rounds.offered]
        report.median(f"{key}_ack_p{percent}_ms", f"{load}: acknowledged, p{percent}", acks, "ms")
        seen = [percentile(each.seen, percent) for each in rounds.offered]
        where = "at another replica" if size.replicas > 1 else "there"
        goal = ELSEWHERE_MS if size.replicas > 1 and percent == 50 else None
        title = f"{load}: from the commit to an observer {where}, p{percent}"
        report.median(f"{key}_seen_p{percent}_ms", title, seen, "ms", goal, Bound.MOST)


_PARTS: Final = {
    "replicas": "the replicas",
    "postgres": "PostgreSQL",
    "nats": "NATS",
    "drivers": "players and observer",
}


def _compare(report: Report, plan: ClusterPlan, found: Mapping[Servers, SizeRounds]) -> None:
    """Add the ratios of rounds that were played one after the other."""
    single = [each.us["replicas"] for each in found[SQLITE].at_once]
    first, *others = [size for size in _contests(plan) if size != SQLITE]
    for size in (first, *others):
        spent = [each.us["replicas"] for each in found[size].at_once]
        ratios = [ratio(us, alone) for us, alone in zip(spent, single, strict=True)]
        title = f"{_name(size)}: processor time of the replicas a move, of the single process's"
        report.median(f"{_key(size)}_us_ratio", title, ratios, TIMES, REPLICAS_US, Bound.MOST)
        if found[size].loaded:
            pairs = zip(found[size].loaded, found[SQLITE].loaded, strict=True)
            ratios = [ratio(many.us["replicas"], one.us["replicas"]) for many, one in pairs]
            title = f"{_name(size)}: the same, with {plan.loaded:,} moves/s offered to both"
            report.median(f"{_key(size)}_us_loaded_ratio", title, ratios, TIMES, REPLICAS_US, Bound.MOST)
    for size in others:
        shared, alone = found[size].at_once, found[size].single
        ratios = [ratio(many.us["replicas"], one.us["replicas"]) for many, one in zip(shared, alone, strict=True)]
        title = f"{_name(size)}: the same, of the single process's at the moves a second that each replica had"
        report.median(f"{_key(size)}_us_at_load_ratio", title, ratios, TIMES)
        rates = zip(found[size].at_once, found[first].at_once, strict=True)
        ratios = [ratio(many.rate, few.rate) for many, few in rates]
        title = f"{_name(size)}: moves a second, of {_name(first)}'s"
        goal = 1.0 if size.replicas == 2 else None
        report.median(f"{_key(size)}_rate_ratio", title, ratios, TIMES, goal)


def _key(size: Servers) -> str:
    return f"replicas_{size.replicas}{'_bus' if size.bus else ''}" if size != SQLITE else "single"


def _name(size: Servers) -> str:
    if size == SQLITE:
        return "one process on SQLite"
    return f"{size.replicas} replica{'s' if size.replicas > 1 else ''}{' with NATS' if size.bus else ''}"
