"""A database with its adapters, signing keys and watermark: opened for a server or a command, checked, and rebuilt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import structlog
from sqlalchemy import Engine

from arbiter.config import Settings
from arbiter.errors import OperatorError
from arbiter.keys.key_ring import KeyRing, open_ring
from arbiter.keys.seals import RingSeals
from arbiter.keys.watermark import Watermark
from arbiter.runtime.loop import switch_seldom
from arbiter.service.ports.directory import Directory
from arbiter.service.ports.environment import TimeSource
from arbiter.service.ports.journal import Journal, Seals, StoreDamaged, StoreFailed
from arbiter.service.ports.replicas import Replicas
from arbiter.service.ports.snapshots import NoSnapshots, Snapshots
from arbiter.store import derived
from arbiter.store.database import named, opened, shown, shown_engine
from arbiter.store.dialects import dialect_of
from arbiter.store.directory import SqlDirectory
from arbiter.store.journal import SqlJournal
from arbiter.store.looking import look
from arbiter.store.reader import Reader
from arbiter.store.records import head, keys_of_seals
from arbiter.store.replicas import SqlReplicas
from arbiter.store.ruling_table import last as last_ruling
from arbiter.store.sealing import seal_records
from arbiter.store.signing_keys import SharedKeys
from arbiter.store.snapshots import SqlSnapshots
from arbiter.store.timing import DatabaseTime
from arbiter.store.writer import Committed, Writer

MARK_S = 1.0  #: interval between two writes of the watermark


class Store(NamedTuple):
    """The adapters for one database. `queued_writes`: how many writes wait for the next transaction.

    replicas: where other servers may use the database at the same time; time: its clock, which all of them follow.
    commits_need_lock: whether a commit of moves takes the interpreter's lock before and after it.
    """

    journal: Journal
    directory: Directory
    queued_writes: Callable[[], int] = lambda: 0
    replicas: Replicas | None = None
    time: TimeSource | None = None
    commits_need_lock: bool = True
    snapshots: Snapshots = NoSnapshots()

    @property
    def shared(self) -> bool:
        """Whether other servers may use the database at the same time."""
        return self.replicas is not None


@asynccontextmanager
async def open_store(
    url: str,
    committed: Committed | None = None,
    alone: bool = False,
    ring: Path | None = None,
    shared: bool = False,
    unlocked: bool = True,
) -> AsyncIterator[Store]:
    """Open a database and its adapters. For `alone` and `shared` see `opened`. Raises OperatorError, StoreTooNew.

    For `committed` and `unlocked` see `Writer`. `ring`: the file of the signing keys that seal the records; without it,
    records are neither sealed nor checked.
    """
    with opened(url, alone, shared=shared) as engine:
        seals = RingSeals(open_ring(ring, structlog.get_logger("arbiter.keys"))) if ring is not None else None
        async with adapters(engine, committed, seals, shared, unlocked) as store:
            yield store


@asynccontextmanager
async def adapters(
    engine: Engine, committed: Committed | None, seals: Seals | None, shared: bool = False, unlocked: bool = True
) -> AsyncIterator[Store]:
    """Make the adapters for a database that is open; their threads end with the context."""
    log = structlog.get_logger("arbiter.store")
    writer, reader = Writer(engine, log, committed, unlocked=unlocked), Reader(engine, log)
    try:
        replicas, time = (SqlReplicas(engine, writer, reader), DatabaseTime(engine)) if shared else (None, None)
        journal = SqlJournal(engine, writer, reader, seals)
        directory = SqlDirectory(writer, reader, dialect_of(engine).claim)
        snapshots = SqlSnapshots(writer, reader, seals)
        yield Store(journal, directory, writer.queued, replicas, time, writer.needs_lock, snapshots)
    finally:
        await asyncio.to_thread(writer.close)
        reader.close()


@asynccontextmanager
async def open_record(
    settings: Settings, committed: Committed | None = None, new: bool = False, shared: bool = False
) -> AsyncIterator[tuple[Store, KeyRing]]:
    """Open a server's store with its signing keys, and keep its watermark up to date. For the rest see `open_world`."""
    path = settings.key_ring
    watermark = Watermark(path, shown(settings.store))
    with opened(settings.store, alone=not shared, shared=shared) as engine:
        if shared:
            with named(engine.url), dialect_of(engine).starting(engine):
                ring, seals = _checked_beside_others(engine, path, watermark, new)
        else:
            ring, seals = _checked(engine, path, watermark, new)
        async with adapters(engine, committed, seals, shared) as store:
            if not store.commits_need_lock:
                switch_seldom()
            marking = asyncio.create_task(_keep_marking(watermark, store.journal))
            try:
                yield store, ring
            finally:
                marking.cancel()
                with suppress(StoreFailed, OSError):
                    watermark.reached(*await _grown(store.journal, watermark.rulings), durably=True)


def _checked(engine: Engine, path: Path, watermark: Watermark, new: bool) -> tuple[KeyRing, RingSeals]:
    """Check that a store and a file of signing keys belong together; return the keys. Raises OperatorError."""
    size = _size(engine)
    are_new = not path.exists()
    if not new:
        watermark.check(*size, are_new)
        _check_sealed_by(engine, path)
    ring = _open_ring(path, size.records)
    seals = RingSeals(ring)
    _seal(engine, seals, watermark, new)
    watermark.reached(*size, durably=True)
    return ring, seals


def _checked_beside_others(engine: Engine, path: Path, watermark: Watermark, new: bool) -> tuple[KeyRing, RingSeals]:
    """Do the same for one of several servers: the others have to have the same keys. No other server starts meanwhile.

    Whoever starts first makes the keys and seals what has no seal; where several machines are used, the others get a
    copy of its file.
    """
    shared_keys = SharedKeys(engine)
    known = shared_keys.known()
    if new and dialect_of(engine).holders(engine) > 1:
        raise OperatorError(
            f"other servers serve the store {shown_engine(engine)}, so what it holds can't be accepted as a new "
            "beginning: stop them first, or start without --new"
        )
    if new:
        shared_keys.forget()
        known = set()
    if not new:
        lacking = known - _key_ids(path)
        if lacking:
            raise OperatorError(
                f"the servers of the store {shown_engine(engine)} use signing key {min(lacking)}, which is not in "
                f"{path}: copy their file, and its .mark, there. If the keys are lost, start once with --new: the "
                "records are then sealed as they stand, and signed by new keys"
            )
        size = _size(engine)
        try:
            watermark.check(*size, keys_are_new=bool(known) or not path.exists())
        except OperatorError:  # servers that run may have written both meanwhile
            watermark.check(*_size(engine), keys_are_new=bool(known) or not path.exists())
        _check_sealed_by(engine, path)
    ring = _open_ring(path, _size(engine).records)
    seals = RingSeals(ring, shared_keys.agree)
    try:
        shared_keys.agree(seals.key_ids)
    except StoreFailed as failure:  # a key was added this moment
        raise OperatorError(f"the store {shown_engine(engine)} can't be served: {failure.why}") from None
    if not known:
        _seal(engine, seals, watermark, new)
    watermark.reached(*_size(engine), durably=True)
    return ring, seals


class _Size(NamedTuple):
    """How much a store holds: the numbers of its last record, and of its last ruling on ratings."""

    records: int
    rulings: int


def _size(engine: Engine) -> _Size:
    with named(engine.url), engine.connect() as connection:
        return _Size(head(connection), last_ruling(connection))


async def _grown(journal: Journal, rulings: int) -> _Size:
    """Return how much the store of a server holds now; rulings: how many it is known to hold. Raises StoreFailed."""
    with suppress(StoreDamaged):  # a damaged ruling is found where it is read
        rulings += len(await journal.rulings(rulings))
    return _Size(await journal.head(), rulings)


def _open_ring(path: Path, records: int) -> KeyRing:
    """Open a file of signing keys; it is made if there is none. Raises OperatorError."""
    are_new = not path.exists()
    ring = open_ring(path, structlog.get_logger("arbiter.keys"))
    if are_new and records:
        structlog.get_logger("arbiter").warning("keys_made_anew", ring=str(path.absolute()))
    return ring


def _key_ids(path: Path) -> set[str]:
    """Return the ids of the keys in a file, none if there is no file. Raises OperatorError."""
    log = structlog.get_logger("arbiter.keys")
    return {key.key_id for key in KeyRing(path, log).public_keys()} if path.exists() else set()


def _check_sealed_by(engine: Engine, path: Path) -> None:
    """Raise OperatorError if the records that were written last are sealed by keys that are not in a ring."""
    with named(engine.url), engine.connect() as connection:
        by = keys_of_seals(connection)
    if by and not by & _key_ids(path):
        raise OperatorError(
            f"the records of the store {shown(engine.url.render_as_string(hide_password=False))} are sealed by key "
            f"{min(by)}, which is not in {path}: put the right signing keys there. If they are lost, start once with "
            "--new: the records are then sealed as they stand, and signed by new keys"
        )


def _seal(engine: Engine, seals: RingSeals, watermark: Watermark, new: bool) -> None:
    """Seal the records of a store from before there were seals, or (`new`) of one whose keys were lost."""
    with named(engine.url), engine.connect() as connection:
        by = keys_of_seals(connection)
    foreign = new and bool(by) and not by & seals.key_ids
    if foreign or not watermark.sealed:
        with named(engine.url):
            sealed = seal_records(engine, seals, everything=foreign)
        if sealed:
            structlog.get_logger("arbiter").warning("records_sealed", records=sealed, again=foreign)


async def _keep_marking(watermark: Watermark, journal: Journal) -> None:
    """Write the watermark every second; if a write fails, a later one is tried."""
    while True:
        await asyncio.sleep(MARK_S)
        with suppress(StoreFailed, OSError):
            watermark.reached(*await _grown(journal, watermark.rulings))


def check_store(store_url: str, progress: derived.Progress, ring: Path | None = None) -> derived.Found:
    """Compare all derived data of a store with its log, and the log with its seals. Raises OperatorError, StoreTooNew.

    For `ring` see `seals_of`; the watermark beside it says how many records there have to be.
    """
    with opened(store_url, existing=True) as engine:
        seals = seals_of(store_url, ring)
        watermark = Watermark(ring, shown(store_url)) if ring is not None and seals is not None else None
        check_size = partial(watermark.check, keys_are_new=False) if watermark is not None else None
        return derived.check(engine, progress, seals, check_size)


def migrate_store(store_url: str, check: bool) -> tuple[str, str]:
    """Bring the tables of a store up to date, unless it is only to be checked; return the versions before and of now.

    Raises OperatorError, also if a server uses the store, StoreTooNew.
    """
    state = look(store_url)
    if state.version == state.newest or (check and state.version):
        return state.version, state.newest
    with opened(store_url, existing=True):
        return state.version, state.newest


def rebuild_store(store_url: str, progress: derived.Progress, ring: Path | None = None) -> derived.Found:
    """Recompute all derived data of a store from its log, while no server holds it. For `ring` see `seals_of`.

    Raises OperatorError, StoreTooNew.
    """
    with opened(store_url, alone=True, existing=True) as engine:
        return derived.rebuild(engine, progress, seals_of(store_url, ring))


def seals_of(store_url: str, ring: Path | None) -> RingSeals | None:
    """Return the seals of a store by a file of signing keys.

    Return None without a file, or if no server has sealed the store yet: then seals can't be checked. Raises
    OperatorError.
    """
    if ring is None or not ring.exists() or not Watermark(ring, shown(store_url)).sealed:
        return None
    return RingSeals(KeyRing(ring, structlog.get_logger("arbiter.keys")))


def shown_store(store_url: str) -> str:
    """Return a store's URL without its password, for display. Raises OperatorError."""
    return shown(store_url)
