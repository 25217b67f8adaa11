"""The record: its hash chain is complete, replaying it gives the same events, and every way to read it agrees."""

from __future__ import annotations

from collections.abc import Iterator

from arbiter.event_json.canonical import RecordError, digest
from arbiter.matches import evolution
from arbiter.matches.match import Match
from arbiter.matches.record import check_chain
from arbiter.matches.verification import Verification
from arbiter.testing.simulation.invariants.run_evidence import RunEvidence, Violation

STATE = ("phase", "revision", "digest", "text", "moves", "turn", "clocks", "banks", "since", "strikes", "result")
"""What two readings of a record have to agree on."""


def records_replay(case: RunEvidence) -> Iterator[Violation]:
    """Check that each match's record verifies, and that recovery reads from it what verification finds."""
    for match_id, entries in case.matches.items():
        bodies = [entry.body for entry in entries]
        try:
            events = check_chain(bodies)
            retracing = Verification()
            for event, body in zip(events, bodies, strict=True):
                retracing.step(event, digest(body))
            trusted = evolution.replay(check_chain(bodies), trust=True)
        except RecordError as error:
            yield Violation("Proof", f"{match_id} does not verify: {error}")
            continue
        found = retracing.match
        if found is None or retracing.due is not None:
            yield Violation("Proof", f"{match_id} is cut off where {retracing.due} was to follow")
        elif difference := _difference(trusted, found):
            yield Violation("Proof", f"{match_id}: {difference} is one thing on trust and another when verified")


def _difference(one: Match, other: Match) -> str:
    return next((name for name in STATE if getattr(one, name) != getattr(other, name)), "")


CHECKS = (records_replay,)
