"""The record of a match: the bytes of its events, each carrying the hash of the one before.

An event's bytes are the canonical JSON (RFC 8785) of an object with the event's own fields and

| field | |
| --- | --- |
| `at` | UTC epoch milliseconds |
| `kind` | see `arbiter.matches.events.Kind` |
| `match` | the match's id |
| `previous` | SHA-256 of the bytes of the event before, 64 lower-case hexadecimal digits; 64 zeros in the first |
| `revision` | 1, 2, 3, … |

A transcript (`arbiter.matches.transcript`) is the bytes of all events in order, one a line, and a signature.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from arbiter.event_json.canonical import (
    MalformedRecordError,
    NotCanonicalError,
    RecordError,
    decode,
    digest,
    encode,
    encode_plain,
    parsed,
)
from arbiter.event_json.fields import Fields
from arbiter.matches.codec import own_fields, read_event
from arbiter.matches.events import FIRST_PREVIOUS, Event


class BrokenChainError(RecordError):
    """Records that do not follow each other: one was changed, removed, duplicated or moved."""


class Chained(Protocol):
    """The end of a match's hash chain, to which the next event is appended."""

    @property
    def id(self) -> str:
        """The match's id."""

    @property
    def revision(self) -> int:
        """The revision of its last event."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes of its last event."""


@dataclass(init=False, slots=True, unsafe_hash=True)
class Sealed:
    """An event in its stored form: its revision and its bytes."""

    revision: int
    data: bytes

    def __init__(self, revision: int, data: bytes) -> None:
        self.revision = revision
        self.data = data


@dataclass(init=False, slots=True)
class ChainedEvent:
    """An event that was read: its position in the chain, the SHA-256 of its bytes, and the event."""

    match: str
    revision: int
    previous: str
    digest: str
    event: Event

    def __init__(self, match: str, revision: int, previous: str, digest: str, event: Event) -> None:
        self.match = match
        self.revision = revision
        self.previous = previous
        self.digest = digest
        self.event = event


@dataclass(init=False, slots=True)
class _Seal:
    """An event's bytes at one position of one chain; cached with the event, because `evolve` needs their hash again."""

    match: str
    revision: int
    previous: str
    data: bytes
    digest: str

    def __init__(self, match: str, revision: int, previous: str, data: bytes, digest: str) -> None:
        self.match = match
        self.revision = revision
        self.previous = previous
        self.data = data
        self.digest = digest


def seal(match: Chained, events: Iterable[Event]) -> list[Sealed]:
    """Return the stored form of the events that follow the last event of a match, in order."""
    revision, previous, sealed = match.revision, match.digest, []
    for event in events:
        revision += 1
        done = _seal(match.id, revision, previous, event)
        sealed.append(Sealed(revision, done.data))
        previous = done.digest
    return sealed


def seal_first(match_id: str, events: Iterable[Event]) -> list[Sealed]:
    """Return the stored form of the first events of a match."""
    return seal(_Unwritten(match_id, 0, FIRST_PREVIOUS), events)


def next_digest(match: Chained, event: Event) -> str:
    """Return the hash that an event's bytes would have as the next event of a match."""
    return _seal(match.id, match.revision + 1, match.digest, event).digest


def first_digest(match_id: str, event: Event) -> str:
    """Return the hash of the bytes of a match's first event."""
    return _seal(match_id, 1, FIRST_PREVIOUS, event).digest


def read(data: bytes) -> Event:
    """Return the event of a record's bytes; unknown fields are ignored, whatever is in them.

    Raises MalformedRecordError for bytes that are no record, or for an unknown kind.
    """
    return read_record(data).event


def read_record(data: bytes) -> ChainedEvent:
    """Return the event of a record's bytes with its position in the chain. Raises as `read` does."""
    try:
        fields = Fields(parsed(data), "record")
    except NotCanonicalError as error:
        raise MalformedRecordError(f"not a record: {error}") from None
    event = read_event(fields)
    match_id, revision, previous = fields.text("match"), fields.integer("revision"), fields.text("previous")
    own = digest(data)
    object.__setattr__(event, "_sealed", _Seal(match_id, revision, previous, data, own))
    return ChainedEvent(match_id, revision, previous, own, event)


def check_chain(records: Sequence[bytes]) -> list[Event]:
    """Return the events of a match's complete records, from the first one on.

    Raises MalformedRecordError or BrokenChainError for the first fault, naming its position (counted from 1): bytes
    that are no record or not canonical, another match, a wrong revision or hash, or time that runs backwards.
    """
    events: list[Event] = []
    previous, match_id, at = FIRST_PREVIOUS, "", 0
    for number, data in enumerate(records, 1):
        try:
            record = read_record(data)
        except MalformedRecordError as error:
            raise MalformedRecordError(f"record {number}: {error}") from None
        if not _is_canonical(data):
            raise MalformedRecordError(f"record {number}: the bytes are not in canonical form")
        if number > 1 and record.match != match_id:
            raise BrokenChainError(f"record {number}: of match {record.match}, the others are of {match_id}")
        if record.revision != number:
            raise BrokenChainError(f"record {number}: has revision {record.revision}")
        if record.previous != previous:
            raise BrokenChainError(f"record {number}: does not carry the hash of the record before")
        if record.event.at < at:
            raise BrokenChainError(f"record {number}: is earlier than the record before")
        previous, match_id, at = record.digest, record.match, record.event.at
        events.append(record.event)
    if not events:
        raise BrokenChainError("there are no records")
    return events


def _is_canonical(data: bytes) -> bool:
    """Return whether JSON bytes are in canonical form; this also detects repeated keys, and numbers in any field."""
    try:
        return encode(decode(data)) == data
    except NotCanonicalError:
        return False


class _Unwritten(NamedTuple):
    id: str
    revision: int
    digest: str


def _seal(match_id: str, revision: int, previous: str, event: Event) -> _Seal:
    done: _Seal | None = getattr(event, "_sealed", None)
    if done is not None and done.revision == revision and done.previous == previous and done.match == match_id:
        return done
    values = own_fields(event)
    values["match"] = match_id
    values["previous"] = previous
    values["revision"] = revision
    data = encode_plain(values)
    done = _Seal(match_id, revision, previous, data, digest(data))
    object.__setattr__(event, "_sealed", done)
    return done
