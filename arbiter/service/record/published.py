"""A durable event, as its listeners get it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arbiter.matches.events import Event
from arbiter.service.ports.journal import Record, StoredRecord
from arbiter.tournaments.events import Event as TournamentEvent


class Published:
    """A durable event of a match or a tournament. For a tournament, its id is both `match_id` and `label`.

    sequence: the sequence number of its record. decided_here: this server has decided it, and the store has accepted
    it just now; otherwise another server has, or it was read from the log. forms: an API keeps the serialized event
    here, made once for all readers.
    """

    __slots__ = ("body", "decided_here", "event", "forms", "label", "match_id", "revision", "sequence", "subject")

    def __init__(
        self,
        sequence: int,
        record: Record | StoredRecord,
        event: Event | TournamentEvent,
        label: str,
        decided_here: bool = False,
    ) -> None:
        self.sequence = sequence
        self.match_id = record.match_id
        self.revision = record.revision
        self.body = record.body
        self.subject = record.subject
        self.event = event
        self.label = label
        self.decided_here = decided_here
        self.forms: dict[Any, bytes] = {}


def published(
    records: Sequence[StoredRecord], events: Sequence[Event | TournamentEvent], label: str
) -> list[Published]:
    """Return events of other servers, or from the log, with their records, one for each, as listeners get them."""
    return [Published(record.sequence, record, event, label) for record, event in zip(records, events, strict=True)]
