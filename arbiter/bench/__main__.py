"""Run a benchmark of the rules or of ratings by its name: `python -m arbiter.bench games`, `… ratings`."""

from __future__ import annotations

import sys

from arbiter.bench.games import bench_games
from arbiter.bench.processes import BenchError
from arbiter.bench.ratings import bench_ratings

BENCHMARKS = ("games", "ratings")


def write(text: str) -> None:
    """Write text to standard output and flush it."""
    sys.stdout.write(text)
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Run the benchmark that the only argument names.

    One that cannot be run prints the reason in one line and exits with code 1.
    """
    name, *rest = arguments or [""]
    if name not in BENCHMARKS or rest:
        sys.stderr.write(f"usage: python -m arbiter.bench NAME, of: {', '.join(BENCHMARKS)}\n")
        return 2
    try:
        if name == "ratings":
            bench_ratings(write)
        else:
            bench_games(write)
    except BenchError as error:
        sys.stderr.write(f"arbiter: {' '.join(str(error).split())}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
