"""Run a benchmark of the rules or of ratings by its name: `python -m arbiter.bench games`, `… ratings`.

In a checkout `python -m arbiter.bench choosing` prints the tables of deploy/CHOOSING.md: coverage of the intervals,
type I error, variety of arenas. That is a study (`tests/studies`), which the installed package does not contain.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from arbiter.bench.games import bench_games
from arbiter.bench.processes import BenchError
from arbiter.bench.ratings import bench_ratings

BENCHMARKS = ("games", "ratings")
STUDY = "choosing"


def write(text: str) -> None:
    """Write text to standard output and flush it."""
    sys.stdout.write(text)
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Run the benchmark that the only argument names, or a study.

    A benchmark that cannot be run prints the reason in one line and exits with code 1.
    """
    name, *rest = arguments or [""]
    if name == STUDY:
        return _study(arguments)
    if name not in BENCHMARKS or rest:
        sys.stderr.write(f"usage: python -m arbiter.bench NAME, of: {', '.join(BENCHMARKS)}, {STUDY}\n")
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


def _study(arguments: list[str]) -> int:
    """Run a study, if the current folder is a checkout."""
    if not Path("tests", "studies").is_dir():
        sys.stderr.write(f"arbiter: {STUDY} needs the folder tests/studies: run it in a checkout of the repository\n")
        return 2
    return int(import_module("tests.studies.__main__").main(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
