"""Run a benchmark by its name: `python -m arbiter.bench games`, `… pairing`, `… stopping --help`."""

from __future__ import annotations

import sys

from arbiter.bench.arenas import ARENAS, bench_arenas
from arbiter.bench.choosing import bench_choosing
from arbiter.bench.clocks import bench_clocks, plan_of
from arbiter.bench.coverage import RECORDS, bench_coverage
from arbiter.bench.games import bench_games
from arbiter.bench.pairing import bench_pairing
from arbiter.bench.processes import BenchError
from arbiter.bench.ratings import bench_ratings
from arbiter.bench.stopping import bench_stopping
from arbiter.bench.stopping import plan_of as stopping_plan
from arbiter.bench.stopping_pictures import write_pictures
from arbiter.bench.strength import bench_strength, settings


def write(text: str) -> None:
    """Write text to standard output and flush it."""
    sys.stdout.write(text)
    sys.stdout.flush()


BENCHMARKS = ("games", "strength", "clocks", "ratings", "coverage", "pairing", "arenas", "stopping", "choosing")
COUNTS = {"coverage": "RECORDS", "pairing": "FIELDS", "arenas": "ARENAS", "choosing": "MOST"}
"""What the one argument of some benchmarks counts; without it, they take as many as their modules say."""


def _counted(name: str, count: int | None) -> None:
    match name:
        case "coverage":
            bench_coverage(write, count or RECORDS)
        case "pairing":
            bench_pairing(write, count)
        case "arenas":
            bench_arenas(write, count or ARENAS)
        case _:
            bench_choosing(write, count)


def main(arguments: list[str]) -> int:
    """Run the benchmark that the first argument names; `games` and `ratings` have no further arguments.

    `coverage` takes the number of records of each condition, `arenas` of arenas of each kind, `pairing` the most fields
    of each, `choosing`, which prints all tables of deploy/CHOOSING.md, the most of any of them. A benchmark that cannot
    be run prints the reason in one line and exits with code 1.
    """
    name, *rest = arguments or [""]
    if name not in BENCHMARKS or (rest and name in ("games", "ratings")):
        sys.stderr.write(f"usage: python -m arbiter.bench NAME, of: {', '.join(BENCHMARKS)}\n")
        return 2
    try:
        match name:
            case "strength":
                bench_strength(write, settings(rest))
            case "clocks":
                bench_clocks(write, plan_of(rest))
            case "stopping":
                plan = stopping_plan(rest)
                bench_stopping(write, plan.trials)
                if plan.svg is not None:
                    write_pictures(plan.svg, plan.trials)
            case "coverage" | "pairing" | "arenas" | "choosing":
                if any(not each.isdecimal() or int(each) < 1 for each in rest[:1]) or len(rest) > 1:
                    sys.stderr.write(f"usage: python -m arbiter.bench {name} [{COUNTS[name]}], a number from 1\n")
                    return 2
                _counted(name, int(rest[0]) if rest else None)
            case "ratings":
                bench_ratings(write)
            case _:
                bench_games(write)
    except BenchError as error:
        sys.stderr.write(f"arbiter: {' '.join(str(error).split())}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
