"""All studies of deploy/CHOOSING.md and RESULTS.md, as tables in the form that they have there, by one command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tests.studies.arenas import ARENAS, bench_arenas
from tests.studies.coverage import bench_coverage
from tests.studies.pairing import bench_pairing
from tests.studies.stopping import DIFFERENCES, TRIALS, bench_stopping

RECORDS: Final = 100  #: of each condition of the coverage


def bench_choosing(
    write: Callable[[str], object], most: int | None = None, differences: Sequence[float] = DIFFERENCES
) -> None:
    """Write the tables, each with a heading: a ladder's pairs, arenas, stopping rules, coverage.

    most: how many fields, arenas, trials and records of each kind are drawn at most. differences: of the stopping
    rules, in Elo.
    """

    def at_most(usual: int) -> int:
        return min(usual, most or usual)

    write("## Pairs of a ladder\n\n")
    bench_pairing(write, most)
    write("\n## Arenas\n\n")
    bench_arenas(write, at_most(ARENAS))
    write("\n## Stopping rules, with the rates of wrong decisions (type I errors: better, though equal)\n\n")
    bench_stopping(write, at_most(TRIALS), differences)
    write("\n## Coverage of the intervals of ratings\n\n")
    bench_coverage(write, at_most(RECORDS))
