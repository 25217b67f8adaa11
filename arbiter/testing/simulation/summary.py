"""The outcome of a seed: the run, and the violations that it shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from arbiter.bootstrap import wire
from arbiter.testing.simulation.invariants import RunEvidence, Violation, violations
from arbiter.testing.simulation.plan import draw
from arbiter.testing.simulation.run import play_out
from arbiter.testing.simulation.server import Wiring

MATCHES = 40  #: number of matches in a run, unless another one is given


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in numbers. `ends`: matches by the reason of their end; `digest`: the SHA-256 of the journal."""

    seed: int
    matches: int
    moves: int
    events: int
    answers: int
    virtual_ms: int
    faults: Counter[str]
    ends: Counter[str]
    digest: str
    violations: tuple[Violation, ...]

    @property
    def again(self) -> str:
        """The command that repeats this run."""
        return f"arbiter simulate --seed {self.seed} --matches {self.matches}"

    def __str__(self) -> str:
        head = f"seed {self.seed} breaks {len(self.violations)} promises; again: {self.again}"
        return "\n".join([head, *(f"  {violation}" for violation in self.violations[:5])])


def simulate(seed: int, matches: int = MATCHES, wiring: Wiring = wire) -> RunSummary:
    """Run a seed and return the outcome. `wiring` may build a different arbiter, as in `arbiter.bootstrap.wire`."""
    evidence = play_out(draw(seed, matches), wiring)
    case = RunEvidence(evidence)
    ends = Counter(entries[-1].event.get("reason", "unfinished") for entries in case.matches.values())
    return RunSummary(
        seed=seed,
        matches=matches,
        moves=evidence.moves,
        events=len(evidence.records),
        answers=len(evidence.history.given),
        virtual_ms=evidence.virtual_ms,
        faults=evidence.history.faults,
        ends=ends,
        digest=evidence.digest,
        violations=tuple(violations(case)),
    )
