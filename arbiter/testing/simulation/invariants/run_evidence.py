"""The evidence of a run, arranged for the checks."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from arbiter.service.ports.journal import StoredRecord, Subject
from arbiter.testing.simulation.observations import Request
from arbiter.testing.simulation.plan import Fault
from arbiter.testing.simulation.run import Evidence

ANSWERS = ("moved", "refused", "rejected", "draw_offered", "draw_declined")
"""Kinds of events that answer a request of the player of their `seat`."""


class Violation(NamedTuple):
    """A broken guarantee, and how it was broken."""

    promise: str
    what: str

    def __str__(self) -> str:
        return f"{self.promise}: {self.what}"


class RecordedEvent(NamedTuple):
    """A record: its position in the journal, its bytes, and its event as plain JSON."""

    sequence: int
    revision: int
    body: bytes
    event: dict[str, Any]

    @property
    def kind(self) -> str:
        """The kind of the event."""
        kind: str = self.event["kind"]
        return kind


JUMPING: Final = {Fault.LEAP, Fault.CRASH, Fault.DRAIN}  #: with these faults, the clock of a server alone jumps


class RunEvidence:
    """A run's evidence. `matches`, `tournaments`: the records of each, in order.

    `asked`: the request behind each request id.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.plan = evidence.plan
        #: whether instants of the record can't be compared with virtual time, or with each other
        self.has_jumps = self.plan.replicas == 1 and bool(JUMPING & self.plan.faults.keys())
        self.history = evidence.history
        self.records = evidence.records
        self.matches: dict[str, list[RecordedEvent]] = {}
        self.tournaments: dict[str, list[StoredRecord]] = {}
        self._entries: dict[str, list[RecordedEvent]] = {}  # of matches and tournaments
        for record in evidence.records:
            entry = RecordedEvent(record.sequence, record.revision, record.body, json.loads(record.body))
            entries = self._entries.setdefault(record.match_id, [])
            entries.append(entry)
            if record.subject is Subject.MATCH:
                self.matches[record.match_id] = entries
            else:
                self.tournaments.setdefault(record.match_id, []).append(record)
        self.asked: dict[tuple[str, str, str], list[Request]] = {}
        for asked in self.history.asked:
            key = asked.player, asked.ask.match_id, asked.ask.request
            known = self.asked.setdefault(key, [])
            if asked.ask not in known:
                known.append(asked.ask)

    def entry(self, match_id: str, revision: int) -> RecordedEvent | None:
        """Return the record of a match or tournament at a revision, or None."""
        entries = self._entries.get(match_id, [])
        return entries[revision - 1] if 0 < revision <= len(entries) else None

    def player(self, match_id: str, seat: int) -> str:
        """Return the player of a seat."""
        name: str = self.matches[match_id][0].event["players"][seat - 1]
        return name
