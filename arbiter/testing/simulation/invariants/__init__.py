"""The invariants of a run, judged only from the observations and the journal.

Nothing here knows how the workload was made. If a rule can be computed from the published policy, it is computed here
a second time, and not by the code under test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from arbiter.testing.simulation.invariants import (
    challenges,
    clocks,
    corrections,
    ends,
    replays,
    requests,
    servers,
    stalls,
    streams,
    tournaments,
    waits,
)
from arbiter.testing.simulation.invariants.run_evidence import RunEvidence, Violation

Check = Callable[[RunEvidence], Iterator[Violation]]

CHECKS: Final[tuple[Check, ...]] = (
    *requests.CHECKS,
    *streams.CHECKS,
    *clocks.CHECKS,
    *waits.CHECKS,
    *servers.CHECKS,
    *stalls.CHECKS,
    *tournaments.CHECKS,
    *corrections.CHECKS,
    *challenges.CHECKS,
    *ends.CHECKS,
    *replays.CHECKS,
)


def violations(case: RunEvidence) -> list[Violation]:
    """Return all violations that a run shows."""
    return [violation for check in CHECKS for violation in check(case)]


__all__ = ["CHECKS", "Check", "RunEvidence", "Violation", "violations"]
