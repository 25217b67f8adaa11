"""The stored log of a tournament: canonical JSON, each event with the hash of the previous one, as for a match.

The journal contains the records of tournaments and of matches. Each record says which of the two it belongs to
(`Subject`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, NamedTuple

from arbiter.event_json.canonical import MalformedRecordError, NotCanonicalError, decode, digest, encode
from arbiter.matches.events import FIRST_PREVIOUS
from arbiter.service.ports.journal import Record, RecordDamaged, StoredRecord, Subject, TournamentSummary
from arbiter.tournaments import events as ev
from arbiter.tournaments.codec import read_event, write_event
from arbiter.tournaments.evolution import apply, replay
from arbiter.tournaments.folding import fold, old_games
from arbiter.tournaments.tournament import Tournament

ID_PREFIX = "t"  #: a tournament's id begins with it, for people; no code relies on it
MAKER = "tournament:"  #: the creator of a tournament's matches begins with it; no player's name has a colon


def maker(tournament_id: str) -> str:
    """Return the name that a tournament has as the creator of its matches."""
    return MAKER + tournament_id


class Chain:
    """The end of a tournament's log. revision: of the last record. digest: the hash of its bytes."""

    def __init__(self, tournament: str) -> None:
        self.tournament = tournament
        self.revision = 0
        self.digest = FIRST_PREVIOUS

    def seal(self, events: Iterable[ev.Event]) -> tuple[Record, ...]:
        """Return the records of the next events, and append them to the chain."""
        records: list[Record] = []
        for event in events:
            values = write_event(event)
            values |= {"tournament": self.tournament, "revision": self.revision + 1, "previous": self.digest}
            body = encode(values)
            self._step(body)
            records.append(Record(self.tournament, self.revision, body, Subject.TOURNAMENT))
        return tuple(records)

    def follow(self, bodies: Iterable[bytes]) -> list[ev.Event]:
        """Return the events of the next records, and append them to the chain. Raises MalformedRecordError."""
        events: list[ev.Event] = []
        for body in bodies:
            values = _values(body)
            place = (values.get("tournament"), values.get("revision"), values.get("previous"))
            if place != (self.tournament, self.revision + 1, self.digest):
                raise MalformedRecordError(f"record {self.revision + 1} does not follow the one before")
            events.append(read_event(values))
            self._step(body)
        return events

    def _step(self, body: bytes) -> None:
        self.revision += 1
        self.digest = digest(body)


def event_of(record: StoredRecord) -> ev.Event:
    """Return the event of a tournament's record. Raises RecordDamaged."""
    try:
        return read_event(_values(record.body))
    except MalformedRecordError as error:
        raise RecordDamaged(record.match_id, record.revision, str(error), "tournament") from None


class StoredLog(NamedTuple):
    """The events of a tournament, its state after them, and the end of its log.

    events: all of them, or the last ones if the log was read from a snapshot or in portions.
    """

    events: list[ev.Event]
    tournament: Tournament
    chain: Chain


class OldGamesNeeded(Exception):
    """The next records are about games that the tournament has dropped."""

    def __init__(self, games: frozenset[int]) -> None:
        super().__init__(f"old games are missing: {sorted(games)}")
        self.games = games


def read(tournament: str, records: Iterable[StoredRecord]) -> StoredLog:
    """Return the log of a tournament from all its records. Raises MalformedRecordError."""
    chain = Chain(tournament)
    events = chain.follow(record.body for record in records)
    try:
        return StoredLog(events, replay(events), chain)
    except (ValueError, LookupError, TypeError) as error:  # events that cannot follow each other
        raise MalformedRecordError(str(error)) from None


def load(tournament: str, records: Sequence[StoredRecord], *, folded: bool = False) -> StoredLog:
    """Return the log of a tournament from all its records, as `read` does. Raises RecordDamaged.

    folded: a ladder drops its old games.
    """
    try:
        log = read(tournament, records)
        if folded:
            fold(log.tournament, len(records))
        return log
    except MalformedRecordError as error:
        raise RecordDamaged(tournament, len(records), str(error), "tournament") from None


def follow(log: StoredLog, bodies: Iterable[bytes]) -> StoredLog | None:
    """Return a log with its next records, and only their events; a ladder drops old games. Its state is changed.

    None: one of these events is damaged, or does not follow. The given log can't be used any more then. Raises
    OldGamesNeeded, and then the log is as before.
    """
    tournament, chain = log.tournament, copy(log.chain)
    try:
        events = chain.follow(bodies)
        needed = old_games(tournament, events)
        for event in events if not needed else ():
            apply(tournament, event)
    except (ValueError, LookupError, TypeError):
        return None
    if needed:
        raise OldGamesNeeded(needed)
    fold(tournament, len(tournament.meetings))
    return StoredLog(events, tournament, chain)


def summary_of(tournament: Tournament) -> TournamentSummary:
    """Return the list entry of a tournament; the journal fills in the sequence numbers."""
    created = tournament.created
    return TournamentSummary(
        tournament_id=created.tournament,
        name=created.spec.name,
        format=created.spec.format.value,
        phase=tournament.phase.value,
        creator=created.creator,
        request_id=created.request,
        created_ms=created.at,
        started_ms=tournament.started_at or 0,
        ended_ms=tournament.end.at if tournament.end is not None else 0,
    )


def _values(body: bytes) -> dict[str, Any]:
    try:
        values = decode(body)
    except NotCanonicalError as error:
        raise MalformedRecordError(str(error)) from None
    if not isinstance(values, dict):
        raise MalformedRecordError("it is not an object")
    return values
