"""Run a benchmark by its name: `python -m arbiter.bench games`, `… ratings`, `… strength --help`, `… clocks --help`."""

from __future__ import annotations

import sys

from arbiter.bench.clocks import bench_clocks, plan_of
from arbiter.bench.games import bench_games
from arbiter.bench.parts import BenchError
from arbiter.bench.ratings import bench_ratings
from arbiter.bench.strength import bench_strength, settings


def write(text: str) -> None:
    """Write text to standard output and flush it."""
    sys.stdout.write(text)
    sys.stdout.flush()


BENCHMARKS = ("games", "strength", "clocks", "ratings")


def main(arguments: list[str]) -> int:
    """Run the benchmark that the first argument names; `games` and `ratings` take no more of them.

    One that can't be carried out says why in one line, and leaves with 1.
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
