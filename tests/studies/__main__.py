"""Run a study by its name: `python -m tests.studies pairing`, `… stopping --help`, `… capacity cluster.json`.

A study is a simulation or a model behind a page of `deploy/`. It needs this repository, and is no part of the package.
"""

from __future__ import annotations

import sys

from arbiter.bench.__main__ import write
from arbiter.bench.processes import BenchError
from tests.studies import capacity_page
from tests.studies.arenas import ARENAS, bench_arenas
from tests.studies.choosing import bench_choosing
from tests.studies.coverage import RECORDS, bench_coverage
from tests.studies.pairing import bench_pairing
from tests.studies.stopping import bench_stopping
from tests.studies.stopping import plan_of as stopping_plan
from tests.studies.stopping_pictures import write_pictures
from tests.studies.strength import bench_strength, settings

COUNTS = {"coverage": "RECORDS", "pairing": "FIELDS", "arenas": "ARENAS", "choosing": "MOST"}
"""What the one argument of some studies counts; without it, they take as many as their modules say."""
STUDIES = ("strength", "stopping", "capacity", *COUNTS)


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
    """Run the study that the first argument names.

    `coverage` takes the number of records of each condition, `arenas` of arenas of each kind, `pairing` the most fields
    of each, `choosing`, which prints all tables of deploy/CHOOSING.md, the most of any of them. A study that cannot be
    run prints the reason in one line and exits with code 1.
    """
    name, *rest = arguments or [""]
    if name not in STUDIES:
        sys.stderr.write(f"usage: python -m tests.studies NAME, of: {', '.join(STUDIES)}\n")
        return 2
    try:
        match name:
            case "strength":
                bench_strength(write, settings(rest))
            case "capacity":
                capacity_page.answer(write, rest)
            case "stopping":
                plan = stopping_plan(rest)
                bench_stopping(write, plan.trials)
                if plan.svg is not None:
                    write_pictures(plan.svg, plan.trials)
            case _:
                if any(not each.isdecimal() or int(each) < 1 for each in rest[:1]) or len(rest) > 1:
                    sys.stderr.write(f"usage: python -m tests.studies {name} [{COUNTS[name]}], a number from 1\n")
                    return 2
                _counted(name, int(rest[0]) if rest else None)
    except BenchError as error:
        sys.stderr.write(f"arbiter: {' '.join(str(error).split())}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
