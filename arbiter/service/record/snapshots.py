"""Snapshots of tournaments: how one is made, whether it fits the log, and the log that is read on from it.

A snapshot fits if this code made it, and the log has the record after which it stands. The version of the code is the
hash of the modules of `arbiter.tournaments`, which hold all that a state consists of and all that events do to it. What
does not fit is no error: the whole log is read.
"""

from __future__ import annotations

import io
import pickle
import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import arbiter.tournaments
from arbiter.event_json.canonical import digest
from arbiter.service.ports.journal import Journal, StoredRecord, Subject
from arbiter.service.ports.snapshots import Snapshot, Snapshots
from arbiter.service.record.tournament_log import Chain, StoredLog
from arbiter.tournaments.folding import fold, needs_whole
from arbiter.tournaments.tournament import Tournament

_CONTAINERS: Final = {(kind.__module__, kind.__qualname__) for kind in (int, list, dict, set, frozenset)} | {
    ("collections", "defaultdict"),
    ("collections", "Counter"),
}
_UNREADABLE: Final = (
    *(pickle.UnpicklingError, zlib.error, EOFError, ImportError),
    *(ValueError, LookupError, TypeError, AttributeError),
)


@cache
def code_version() -> str:
    """Return the version of the code that makes and reads states, in hexadecimal digits."""
    [folder] = arbiter.tournaments.__path__
    modules = sorted(Path(folder).rglob("*.py"))
    return sha256(b"".join(sha256(module.read_bytes()).digest() for module in modules)).hexdigest()


def take_snapshot(tournament: Tournament, chain: Chain) -> Snapshot:
    """Return the snapshot of a state; chain: the end of the log that leads to it."""
    state = zlib.compress(pickle.dumps(tournament, pickle.HIGHEST_PROTOCOL), 1)
    return Snapshot(tournament.id, chain.revision, chain.digest, code_version(), state)


async def snapshot_and_rest(
    journal: Journal, snapshots: Snapshots, tournament: str
) -> tuple[Snapshot | None, list[StoredRecord]]:
    """Return the snapshot of a tournament and the records from its event on, or None and all records.

    Raises StoreFailed, RecordDamaged.
    """
    snapshot = await snapshots.newest(tournament)
    if snapshot is not None:
        records = await journal.read(tournament, snapshot.revision - 1, subject=Subject.TOURNAMENT)
        if fits(snapshot, records):
            return snapshot, records
    return None, await journal.read(tournament, subject=Subject.TOURNAMENT)


def fits(snapshot: Snapshot, records: Sequence[StoredRecord]) -> bool:
    """Return whether this code made a snapshot, and the first of some records is that of its event."""
    return snapshot.code == code_version() and bool(records) and digest(records[0].body) == snapshot.digest


def go_on_from(snapshot: Snapshot, bodies: Sequence[bytes]) -> StoredLog | None:
    """Return the log of a tournament from a snapshot and the records from its event on; a ladder drops old games.

    The log has only the events after the snapshot. None: the snapshot can't be read, or an event after it is about an
    old game, or damaged.
    """
    chain = Chain(snapshot.tournament)
    chain.revision, chain.digest = snapshot.revision, snapshot.digest
    try:
        tournament = _state(snapshot.state)
        events = chain.follow(bodies[1:])
        if tournament.old and needs_whole(events):
            return None
        for event in events:
            tournament.apply(event)
    except _UNREADABLE:
        return None
    fold(tournament, len(tournament.meetings))
    return StoredLog(events, tournament, chain)


def _state(data: bytes) -> Tournament:
    found = _Reader(io.BytesIO(zlib.decompress(data))).load()
    if not isinstance(found, Tournament):
        raise pickle.UnpicklingError(f"a {type(found).__name__} is no tournament")
    return found


class _Reader(pickle.Unpickler):
    """Reads a state. The seal of a snapshot is checked before; still, nothing but classes of tournaments is called."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _CONTAINERS and not module.startswith(f"{arbiter.tournaments.__name__}."):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a tournament")
        found = super().find_class(module, name)
        if not isinstance(found, type) or found.__module__ != module:
            raise pickle.UnpicklingError(f"{module}.{name} is no class")
        return found


def difference(one: Tournament, other: Tournament) -> str:
    """Return a field in which two states of a tournament differ, '' if they are equal.

    Old games are dropped from both first, as far as they may be. An empty value of a field by keys is as none.
    """
    for tournament in (one, other):
        tournament.old.looked_at = 0
        fold(tournament, len(tournament.meetings))
        tournament.old.looked_at = 0
    return next((name for name, value in vars(one).items() if _held(value) != _held(vars(other)[name])), "")


def _held(value: object) -> object:
    if isinstance(value, dict):
        return {key: held for key, held in value.items() if held or not isinstance(held, Iterable)}
    return value
