"""From stored records back to events and matches, where a disk may have changed what was written.

Rules and clocks are not replayed here: events carry the position, and what was acknowledged stands. That each record
carries the hash of the one before costs next to nothing to see, and tells damage from a record.
"""

from __future__ import annotations

from collections.abc import Sequence

from arbiter.matches import evolution
from arbiter.matches.events import FIRST_PREVIOUS, Event
from arbiter.matches.fields import RecordError
from arbiter.matches.match import Match
from arbiter.matches.record import read, read_record
from arbiter.service.ports import StoreDamaged, StoredRecord


def event_of(record: StoredRecord) -> Event:
    """Return the event of a stored record. Raises StoreDamaged."""
    try:
        return read(record.body)
    except RecordError as error:
        raise StoreDamaged(record.match_id, record.revision, str(error)) from None


def recall(records: Sequence[StoredRecord]) -> Match:
    """Return the match of its stored records, from the first one on. Raises StoreDamaged."""
    events: list[Event] = []
    previous = FIRST_PREVIOUS
    for number, stored in enumerate(records, 1):
        try:
            record = read_record(stored.body)
        except RecordError as error:
            raise StoreDamaged(stored.match_id, stored.revision, str(error)) from None
        if (record.match, record.revision, record.previous) != (stored.match_id, number, previous):
            raise StoreDamaged(stored.match_id, stored.revision, "it does not follow the one before")
        previous = record.digest
        events.append(record.event)
    try:
        return evolution.replay(events, trust=True)
    except RecordError as error:
        raise StoreDamaged(records[-1].match_id, records[-1].revision, str(error)) from None
