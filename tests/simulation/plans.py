"""What tests ask of a plan: the promises that a run of it breaks, and the plan as it was before there was a fault."""

from __future__ import annotations

from dataclasses import replace

from arbiter.testing.simulation.invariants import RunEvidence, violations
from arbiter.testing.simulation.plan import Fault, Plan
from arbiter.testing.simulation.run import play_out


def promises_broken(plan: Plan) -> set[str]:
    """Return the promises that a run breaks."""
    return {violation.promise for violation in violations(RunEvidence(play_out(plan)))}


LATER = (Fault.LOCKED, Fault.SERVER_STALL)  #: faults that came after seeds that are remembered
SHORT_MS = 20_000  #: of virtual time


def short(plan: Plan) -> Plan:
    """Return what begins in the first seconds of a plan: to run that costs a third."""
    return replace(
        plan,
        faulty_ms=SHORT_MS,
        players=tuple(replace(each, comes_ms=min(each.comes_ms, SHORT_MS)) for each in plan.players),
        matches=tuple(each for each in plan.matches if each.after_ms < SHORT_MS),
        tournaments=tuple(each for each in plan.tournaments if each.after_ms < SHORT_MS),
        challenges=tuple(each for each in plan.challenges if each.after_ms < SHORT_MS),
    )


def without_corrections(plan: Plan) -> Plan:
    """Return what a seed stood for before tournaments were corrected: the errors that it found are found there."""
    faults = {**plan.faults}
    faults.pop(Fault.CORRECTING, None)
    return replace(plan, tournaments=tuple(cup for cup in plan.tournaments if not cup.corrections), faults=faults)


def without_later_faults(plan: Plan) -> Plan:
    """Return what a seed stood for before there were some of the faults, and corrections."""
    plan = without_corrections(plan)
    return replace(plan, faults={fault: rate for fault, rate in plan.faults.items() if fault not in LATER})
