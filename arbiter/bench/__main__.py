"""Run a benchmark by its name: `python -m arbiter.bench games`."""

from __future__ import annotations

import sys

from arbiter.bench.games import bench_games


def write(text: str) -> None:
    """Write a part of the report at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


BENCHMARKS = {"games": bench_games}


def main(arguments: list[str]) -> int:
    """Run the benchmark that the one argument names."""
    if len(arguments) != 1 or arguments[0] not in BENCHMARKS:
        sys.stderr.write(f"usage: python -m arbiter.bench NAME, of: {', '.join(BENCHMARKS)}\n")
        return 2
    BENCHMARKS[arguments[0]](write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
