"""Stalls: if a server alone on its store stands still, nobody is charged for that time, or loses by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from arbiter.config import Limits
from arbiter.testing.simulation.invariants.run_evidence import RecordedEvent, RunEvidence, Violation
from arbiter.testing.simulation.observations import Stall

STALL: Final = "A stall is charged to nobody"
NOTICED_MS: Final = 30  #: a stall that is longer than it must be to count by this is noticed
BY_TIME: Final = ("time", "absence")  #: causes of an end


def stalls_are_charged_to_nobody(case: RunEvidence) -> Iterator[Violation]:
    """Check that each match is interrupted after a stall, before a move is charged or an end comes by the time."""
    if case.has_jumps:
        return
    most_ms = case.plan.limits.get("stall_ms", Limits().stall_ms)
    for stood in case.history.stalls:
        if stood.ended_at - stood.began_at >= most_ms + NOTICED_MS:
            for match_id, entries in case.matches.items():
                event = _charged(entries, stood)
                if event is not None:
                    yield Violation(STALL, f"{match_id}: {stood} is charged in {event}")


def _charged(entries: list[RecordedEvent], stood: Stall) -> dict[str, Any] | None:
    """Return the event that charges a player of a match for a stall, or None."""
    if entries[0].event["at"] > stood.began_at:
        return None
    for entry in entries:
        event = entry.event
        if event["at"] < stood.ended_at:
            continue
        if entry.kind == "interrupted":
            return None
        if entry.kind == "moved" or (entry.kind == "ended" and event["cause"] in BY_TIME):
            return event
    return None


CHECKS = (stalls_are_charged_to_nobody,)
