"""Finds flaky clauses: `python -m tests.clients.flaky LANGUAGE TIMES [CLAUSE…]` plays clauses many times.

Plays each clause (by default all) TIMES times with the bot of a client that is already built, in random order, beside
`--load` processes that only use the processor. Clauses that did not pass are printed as the tests print them.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from arbiter.conformance.catalogue import chosen
from arbiter.conformance.kit import ClauseResult, ClauseVerdict, Kit
from tests.clients.table import SCALE, description, everything

BUSY = (sys.executable, "-c", "while True: pass")


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep processors busy while the context lasts."""
    running = [subprocess.Popen(BUSY) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def main() -> int:
    """Play, and print how often each clause failed. Returns the exit status: 1 if any clause did not pass."""
    parser = argparse.ArgumentParser(prog="python -m tests.clients.flaky", description=__doc__)
    parser.add_argument("language")
    parser.add_argument("times", type=int)
    parser.add_argument("clauses", nargs="*")
    parser.add_argument("--load", type=int, default=3)
    parser.add_argument("--scale", type=float, default=SCALE)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    language = everything()[asked.language]
    clauses = [replace(one, id=f"{one.id} {n}") for one in chosen(asked.clauses) for n in range(asked.times)]
    random.Random(asked.seed).shuffle(clauses)
    failed: Counter[str] = Counter()

    def progress(outcome: ClauseResult) -> None:
        if outcome.verdict in (ClauseVerdict.FAILED, ClauseVerdict.NOT_JUDGED):
            failed[outcome.clause.id.partition(" ")[0]] += 1
            print(description(outcome), flush=True)

    with load(asked.load):
        outcomes = asyncio.run(Kit(language.command, asked.scale, folder=language.folder).run(clauses, progress))
    print(
        f"{len(outcomes)} played, the longest took {max(one.seconds for one in outcomes):.1f} s, failed: {dict(failed)}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
