"""The outcome of a seed: the run, and the violations that it shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from arbiter.bootstrap.wiring import wire
from arbiter.testing.simulation.invariants import RunEvidence, Violation, violations
from arbiter.testing.simulation.plan import draw
from arbiter.testing.simulation.run import play_out
from arbiter.testing.simulation.simulated_server import Wiring

MATCHES = 40  #: number of matches in a run, unless another one is given


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in numbers. `ends`: matches by the reason of their end; `digest`: the SHA-256 of the journal."""

    seed: int
    matches: int
    replicas: int
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
        several = f" --replicas {self.replicas}" if self.replicas > 1 else ""
        return f"arbiter simulate --seed {self.seed} --matches {self.matches}{several}"

    def __str__(self) -> str:
        head = f"seed {self.seed} breaks {len(self.violations)} promises; again: {self.again}"
        return "\n".join([head, *(f"  {violation}" for violation in self.violations[:5])])


def simulate(seed: int, matches: int = MATCHES, wiring: Wiring = wire, replicas: int = 1) -> RunSummary:
    """Run a seed and return the outcome.

    `replicas`: how many servers share the store. `wiring` may build a different arbiter, as in
    `arbiter.bootstrap.wiring.wire`.
    """
    evidence = play_out(draw(seed, matches, replicas), wiring)
    case = RunEvidence(evidence)
    ends = Counter(entries[-1].event.get("reason", "unfinished") for entries in case.matches.values())
    return RunSummary(
        seed=seed,
        matches=matches,
        replicas=replicas,
        moves=evidence.moves,
        events=len(evidence.records),
        answers=len(evidence.history.given),
        virtual_ms=evidence.virtual_ms,
        faults=evidence.history.faults,
        ends=ends,
        digest=evidence.digest,
        violations=tuple(violations(case)),
    )
