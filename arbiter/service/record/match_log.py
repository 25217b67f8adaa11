"""From stored records to events and matches. A disk may have changed the records.

Rules and clocks are not replayed here: events contain the position, and an acknowledged move stays valid. Each record
contains the hash of the previous one. Checking it costs little and detects damage.
"""

from __future__ import annotations

from collections.abc import Iterable

from arbiter.errors import RulesAwaited, RulesFailed
from arbiter.event_json.canonical import RecordError, UnknownKindError
from arbiter.matches import evolution
from arbiter.matches.events import FIRST_PREVIOUS, Created, Ended, Event
from arbiter.matches.match import Match
from arbiter.matches.record import read, read_record
from arbiter.service.ports.journal import (
    MatchEnd,
    MatchSummary,
    RecordDamaged,
    RecordTooNew,
    RecordUnreadable,
    RulesLate,
    RulesMissing,
    StoredRecord,
)


def event_of(record: StoredRecord) -> Event:
    """Return the event of a stored record. Raises RecordDamaged, RecordTooNew."""
    try:
        return read(record.body)
    except RecordError as error:
        raise _unreadable(record, error) from None


class Loading:
    """A match that is built from its stored records one by one: from the first record on, or from a known state on."""

    def __init__(self, known: Match | None = None) -> None:
        self._previous = FIRST_PREVIOUS if known is None else known.digest
        self._match = known

    def add(self, stored: StoredRecord) -> Event:
        """Add the next record; return its event. Raises RecordDamaged, RecordTooNew, RulesLate, RulesMissing."""
        try:
            record = read_record(stored.body)
        except RecordError as error:
            raise _unreadable(stored, error, self._match) from None
        revision = self._match.revision + 1 if self._match is not None else 1
        if record.revision != revision or record.previous != self._previous or record.match != stored.match_id:
            raise RecordDamaged(stored.match_id, stored.revision, "it does not follow the one before")
        self._previous = record.digest
        try:
            if self._match is None:
                self._match = evolution.replay([record.event], trust=True)
            else:
                self._match = evolution.evolve(self._match, record.event, trust=True)
        except RecordError as error:
            raise RecordDamaged(stored.match_id, stored.revision, str(error)) from None
        except RulesAwaited as awaited:
            raise RulesLate(str(awaited)) from None
        except RulesFailed as failure:
            raise RulesMissing(stored.match_id, failure.game, (), str(failure)) from None
        return record.event

    @property
    def match(self) -> Match:
        """The match after the records added so far; at least one must have been added."""
        assert self._match is not None
        return self._match


def load_match(records: Iterable[StoredRecord]) -> Match:
    """Return a match from its stored records, beginning with the first one. Raises RecordDamaged, RecordTooNew."""
    loading = Loading()
    for stored in records:
        loading.add(stored)
    return loading.match


def _unreadable(record: StoredRecord, error: RecordError, before: Match | None = None) -> RecordUnreadable:
    if isinstance(error, UnknownKindError):
        players = before.holders if before is not None else ()
        return RecordTooNew(record.match_id, record.revision, str(error), players)
    return RecordDamaged(record.match_id, record.revision, str(error))


def summary_of(created: Created) -> MatchSummary:
    """Return the list entry of a match from its first event."""
    return MatchSummary(
        match_id=created.match,
        game=created.game,
        player_1=created.players[0],
        player_2=created.players[1],
        time_control=created.time,
        rated=created.rated,
        label=created.label,
        creator=created.creator,
        request_id=created.request,
        created_ms=created.at,
    )


def end_of_record(match: Match) -> Ended:
    """Return the last event of an ended match whose whole record was read. Raises RecordDamaged if it is missing."""
    if match.result is None:
        raise RecordDamaged(match.created.match, match.revision + 1, "its end is missing")
    return match.result


def end_of(match: Match) -> MatchEnd:
    """Return the end in the list entry of a match, which must have ended."""
    ended = match.result
    assert isinstance(ended, Ended)
    return MatchEnd(
        result=ended.result.value,
        winner=ended.winner,
        reason=ended.reason,
        cause=ended.cause.value,
        party=ended.party.value,
        seat=ended.seat or 0,
        note=ended.note,
        ended_ms=ended.at,
        position=match.text,
        ply=match.ply,
        version_1=match.versions[0],
        version_2=match.versions[1],
    )
