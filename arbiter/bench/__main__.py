"""Run a benchmark by its name: `python -m arbiter.bench games`, `… pairing`, `… stopping --help`."""

from __future__ import annotations

import sys

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


BENCHMARKS = ("games", "strength", "clocks", "ratings", "coverage", "pairing", "stopping")


def main(arguments: list[str]) -> int:
    """Run the benchmark that the first argument names; `games` and `ratings` have no further arguments.

    `coverage` takes the number of records of each condition, `pairing` the most fields of each. A benchmark that
    cannot be run prints the reason in one line and exits with code 1.
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
            case "coverage" | "pairing":
                if any(not each.isdecimal() or int(each) < 1 for each in rest[:1]) or len(rest) > 1:
                    what = "RECORDS" if name == "coverage" else "FIELDS"
                    sys.stderr.write(f"usage: python -m arbiter.bench {name} [{what}], a number from 1\n")
                    return 2
                if name == "coverage":
                    bench_coverage(write, int(rest[0]) if rest else RECORDS)
                else:
                    bench_pairing(write, int(rest[0]) if rest else None)
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
