"""Snapshots of tournaments: how one is made, whether it fits the log, and the log that is read on from it.

A snapshot fits if this code made it, and the log has the record after which it stands. The version of the code is the
hash of the modules that decide what a state consists of: all of `arbiter.tournaments`, and those that read the JSON of
events. What does not fit is no error: the whole log is read.
"""

from __future__ import annotations

import io
import pickle
import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import arbiter.tournaments
from arbiter.event_json.canonical import digest
from arbiter.service.ports.journal import Journal, StoredRecord, Subject
from arbiter.service.ports.snapshots import Snapshot, Snapshots
from arbiter.service.record.tournament_log import Chain, StoredLog, follow
from arbiter.tournaments.folding import fold
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
    [folder] = map(Path, arbiter.tournaments.__path__)
    beside = folder.parent
    modules = sorted([*folder.rglob("*.py"), *(beside / "event_json").rglob("*.py"), beside / "options.py"])
    return sha256(b"".join(sha256(module.read_bytes()).digest() for module in modules)).hexdigest()


def take_snapshot(tournament: Tournament, chain: Chain) -> Snapshot:
    """Return the snapshot of a state; chain: the end of the log that leads to it."""
    state = zlib.compress(pickle.dumps(tournament, pickle.HIGHEST_PROTOCOL), 1)
    return Snapshot(tournament.id, chain.revision, chain.digest, code_version(), state)


class Beginning(NamedTuple):
    """Where to begin with a tournament: with a snapshot and the records from its event on, or with all records.

    why: what is wrong with the snapshot where there is none to begin with, as a clause.
    """

    snapshot: Snapshot | None
    records: list[StoredRecord]
    why: str = ""


async def snapshot_and_rest(
    journal: Journal, snapshots: Snapshots, tournament: str, most: int | None = None
) -> Beginning:
    """Return the snapshot of a tournament and the records from its event on, or None and all records.

    most: at most this many records. Raises StoreFailed, RecordDamaged.
    """
    snapshot, why = await snapshots.newest(tournament), "there is none that was sealed here"
    if snapshot is not None:
        records = await journal.read(tournament, snapshot.revision - 1, most, Subject.TOURNAMENT)
        why = unfit(snapshot, records)
        if not why:
            return Beginning(snapshot, records)
    return Beginning(None, await journal.read(tournament, most=most, subject=Subject.TOURNAMENT), why)


def unfit(snapshot: Snapshot, records: Sequence[StoredRecord]) -> str:
    """Return why not to begin with a snapshot and the records from its event on, as a clause; '' if they fit."""
    if snapshot.code != code_version():
        return "another version of the arbiter has written it"
    if not records or digest(records[0].body) != snapshot.digest:
        return "it is not of this log"
    return ""


def go_on_from(snapshot: Snapshot, bodies: Sequence[bytes]) -> StoredLog | None:
    """Return the log of a tournament from a snapshot and the records from its event on; a ladder drops old games.

    The log has only the events after the snapshot. None: the snapshot can't be read, or an event after it is damaged.
    Raises OldGamesNeeded.
    """
    chain = Chain(snapshot.tournament)
    chain.revision, chain.digest = snapshot.revision, snapshot.digest
    try:
        return follow(StoredLog([], _state(snapshot.state), chain), bodies[1:])
    except _UNREADABLE:
        return None


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
