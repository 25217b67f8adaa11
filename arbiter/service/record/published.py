"""A durable event, as its listeners get it."""

from __future__ import annotations

from typing import Any

from arbiter.matches.events import Event
from arbiter.service.ports.journal import StoredRecord
from arbiter.tournaments.events import Event as TournamentEvent


class Published:
    """A durable event of a match or a tournament. For a tournament, its id is both `match_id` and `label`.

    forms: an API keeps the serialized event here, made once for all readers.
    """

    __slots__ = ("body", "event", "forms", "label", "match_id", "revision", "sequence", "subject")

    def __init__(self, record: StoredRecord, event: Event | TournamentEvent, label: str) -> None:
        self.sequence = record.sequence
        self.match_id = record.match_id
        self.revision = record.revision
        self.body = record.body
        self.subject = record.subject
        self.event = event
        self.label = label
        self.forms: dict[Any, bytes] = {}
