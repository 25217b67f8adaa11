"""The invariants of a run, judged from what was seen and from the journal alone.

Nothing here knows how the workload came about, and where a rule can be reckoned from the published policy it is
reckoned here a second time, not by the code that it judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from arbiter.testing.simulation.invariants import clocks, ends, replays, requests, streams
from arbiter.testing.simulation.invariants.case import Case, Violation

Check = Callable[[Case], Iterator[Violation]]

CHECKS: Final[tuple[Check, ...]] = (*requests.CHECKS, *streams.CHECKS, *clocks.CHECKS, *ends.CHECKS, *replays.CHECKS)


def violations(case: Case) -> list[Violation]:
    """Return everything that a run shows to be wrong."""
    return [violation for check in CHECKS for violation in check(case)]


__all__ = ["CHECKS", "Case", "Check", "Violation", "violations"]
