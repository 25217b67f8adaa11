"""`arbiter simulate`: plays many matches with faults in virtual time, and checks every guarantee."""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import Annotated, Final

from cyclopts import Parameter, validators
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from arbiter.cli.failure import FAILED
from arbiter.cli.table_options import AnyTableOptions
from arbiter.cli.terminal import console, counted, for_people, remark, table
from arbiter.event_json.canonical import digest
from arbiter.testing.simulation.summary import MATCHES, RunSummary, simulate

SEEDS: Final = 25  #: number of runs, unless a seed or a number is given
MOST_REPLICAS: Final = 16  #: in one run
MOST_MATCHES: Final = 2_000  #: maximum in one run, which is held in memory


def run(
    *,
    seed: Annotated[int | None, Parameter(validator=validators.Number(gte=0))] = None,
    seeds: Annotated[int | None, Parameter(validator=validators.Number(gte=1))] = None,
    matches: Annotated[int, Parameter(validator=validators.Number(gte=1, lte=MOST_MATCHES))] = MATCHES,
    replicas: Annotated[int, Parameter(validator=validators.Number(gte=1, lte=MOST_REPLICAS))] = 1,
    minutes: Annotated[float | None, Parameter(validator=validators.Number(gt=0))] = None,
    output: AnyTableOptions | None = None,
) -> int:
    """Play many matches with faults in virtual time, and check all observations against the arbiter's guarantees.

    Players, observers, network, disk and clock are simulated in this process, and all of it depends only on the seed:
    the same seed leaves the same journal, byte for byte. Messages are lost, duplicated, delayed and reordered,
    connections are cut, the server crashes, appends fail or succeed without saying so, the disk stands still for
    seconds, clocks jump. Every eighth seed has no faults.

    With several servers (`--replicas`), these share a store, as `arbiter serve` does that is started several times on
    one PostgreSQL database. Their clocks are wrong, players and observers move between them, and both players of a
    match act at the same instant on different servers. One server at a time is killed between any two steps, stopped
    and continued, or cut off from the store; what others have stored reaches it late. Sometimes the log is locked, so
    that none of them can use it for seconds. In half of the seeds they also have a bus, which loses, doubles and delays
    messages, and is sometimes away.

    If a seed breaks a guarantee, it is printed with the command that repeats it, and the exit code is 1.

    :param seed: The (first) seed. [default: 1]
    :param seeds: How many seeds to run, from the first one on. [default: 1 if a seed is given, else 25]
    :param matches: Number of matches in each run.
    :param replicas: Number of servers in each run.
    :param minutes: Start no further run after this time.
    """
    first = 1 if seed is None else seed
    count = seeds if seeds is not None else SEEDS if seed is None else 1
    began = time.monotonic()
    ends = began + minutes * 60 if minutes is not None else math.inf
    outcomes = _outcomes(range(first, first + count), matches, replicas, ends, output)
    _report(outcomes, time.monotonic() - began, output)
    broken = [outcome for outcome in outcomes if outcome.violations]
    for outcome in broken:
        remark(str(outcome), output)
    if not broken:
        remark(f"Every promise was kept, in {counted(len(outcomes), 'run')}.", output)
    return FAILED if broken else 0


def _outcomes(
    seeds: range, matches: int, replicas: int, ends: float, output: AnyTableOptions | None
) -> list[RunSummary]:
    """Run seeds: always the first one, then more until the time limit (by the monotonic clock)."""
    columns = (TextColumn("seeds"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(), transient=True, disable=not for_people(output)) as progress:
        outcomes: list[RunSummary] = []
        for seed in progress.track(seeds):
            outcomes.append(simulate(seed, matches, replicas=replicas))
            if time.monotonic() >= ends:
                break
        return outcomes


def _report(outcomes: list[RunSummary], took_s: float, output: AnyTableOptions | None) -> None:
    """Print the results, as rows of a name and a number."""
    matches = sum(sum(outcome.ends.values()) for outcome in outcomes)
    faults: Counter[str] = sum((outcome.faults for outcome in outcomes), Counter())
    ends: Counter[str] = sum((outcome.ends for outcome in outcomes), Counter())
    rows = [
        ("matches", f"{matches}"),
        ("moves", f"{sum(outcome.moves for outcome in outcomes)}"),
        ("events", f"{sum(outcome.events for outcome in outcomes)}"),
        ("answers", f"{sum(outcome.answers for outcome in outcomes)}"),
        ("virtual minutes", f"{sum(outcome.virtual_ms for outcome in outcomes) / 60_000:.0f}"),
        ("seconds", f"{took_s:.1f}"),
        ("matches a minute", f"{matches / took_s * 60:.0f}"),
        *((f"fault: {fault}", f"{faults[fault]}") for fault in sorted(faults)),
        *((f"end: {reason}", f"{ends[reason]}") for reason in sorted(ends)),
        ("journals, SHA-256", _joined(outcomes)),
    ]
    table(("what", "how many"), rows, "", output)


def _joined(outcomes: list[RunSummary]) -> str:
    """Return one digest for the journals of all runs; for a single run it is that of its journal."""
    if len(outcomes) == 1:
        return outcomes[0].digest
    return digest("".join(outcome.digest for outcome in outcomes).encode())
