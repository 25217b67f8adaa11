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
from arbiter.runtime.keys import KeyRing, open_ring
from arbiter.runtime.seals import RingSeals
from arbiter.runtime.watermark import Watermark
from arbiter.service.ports.directory import Directory
from arbiter.service.ports.environment import TimeSource
from arbiter.service.ports.journal import Journal, Seals, StoreFailed
from arbiter.service.ports.replicas import Replicas
from arbiter.store import derived
from arbiter.store.database import kind_of, named, opened, shown
from arbiter.store.directory import SqlDirectory
from arbiter.store.journal import SqlJournal
from arbiter.store.looking import look
from arbiter.store.reader import Reader
from arbiter.store.records import head, keys_of_seals
from arbiter.store.replicas import SqlReplicas
from arbiter.store.sealing import seal_records
from arbiter.store.timing import DatabaseTime
from arbiter.store.writer import Committed, Writer

MARK_S = 1.0  #: interval between two writes of the watermark
LAST_RECORDS = 100  #: records whose instants are read at the start


class Store(NamedTuple):
    """The adapters for one database. `queued_writes`: how many writes wait for the next transaction.

    replicas: where other servers may use the database at the same time; time: its clock, which all of them follow. For
    now no server opens it so: its lock refuses them.
    """

    journal: Journal
    directory: Directory
    queued_writes: Callable[[], int] = lambda: 0
    replicas: Replicas | None = None
    time: TimeSource | None = None

    @property
    def shared(self) -> bool:
        """Whether other servers may use the database at the same time."""
        return self.replicas is not None


@asynccontextmanager
async def open_store(
    url: str, committed: Committed | None = None, alone: bool = False, ring: Path | None = None, shared: bool = False
) -> AsyncIterator[Store]:
    """Open a database and its adapters. `alone` locks out other servers. Raises OperatorError, StoreTooNew.

    For `committed` see `Writer`. `ring`: the file of the signing keys that seal the records; without it, records are
    neither sealed nor checked. `shared`: as one of several servers; only on a database that tells the time.
    """
    with opened(url, alone) as engine:
        keys = open_ring(ring, structlog.get_logger("arbiter.keys")) if ring is not None else None
        async with adapters(engine, committed, RingSeals(keys) if keys is not None else None, shared) as store:
            yield store


@asynccontextmanager
async def adapters(
    engine: Engine, committed: Committed | None, seals: Seals | None, shared: bool = False
) -> AsyncIterator[Store]:
    """Make the adapters for a database that is open; their threads end with the context."""
    log = structlog.get_logger("arbiter.store")
    writer, reader = Writer(engine, log, committed), Reader(engine, log)
    try:
        replicas = SqlReplicas(engine, writer, reader) if shared else None
        journal = SqlJournal(engine, writer, reader, seals)
        directory = SqlDirectory(writer, reader, kind_of(engine).CLAIM if shared else ())
        yield Store(journal, directory, writer.queued, replicas, DatabaseTime(engine) if shared else None)
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
    with opened(settings.store, alone=not shared) as engine:
        with named(engine.url), engine.connect() as connection:
            records = head(connection)
        are_new = not path.exists()
        if not new:
            watermark.check(records, are_new)
            _check_sealed_by(engine, path)
        ring = open_ring(path, structlog.get_logger("arbiter.keys"))
        if are_new and records:
            structlog.get_logger("arbiter").warning("keys_made_anew", ring=str(path.absolute()))
        seals = RingSeals(ring)
        _seal(engine, seals, watermark, new)
        watermark.reached(records, durably=True)
        async with adapters(engine, committed, seals, shared) as store:
            marking = asyncio.create_task(_keep_marking(watermark, store.journal))
            try:
                yield store, ring
            finally:
                marking.cancel()
                with suppress(StoreFailed, OSError):
                    watermark.reached(await store.journal.head(), durably=True)


def _check_sealed_by(engine: Engine, path: Path) -> None:
    """Raise OperatorError if the records that were written last are sealed by keys that are not in a ring."""
    with named(engine.url), engine.connect() as connection:
        by = keys_of_seals(connection, LAST_RECORDS)
    log = structlog.get_logger("arbiter.keys")
    known = {key.key_id for key in KeyRing(path, log).public_keys()} if path.exists() else set()
    if by and not by & known:
        raise OperatorError(
            f"the records of the store {shown(engine.url.render_as_string(hide_password=False))} are sealed by key "
            f"{min(by)}, which is not in {path}: put the right signing keys there. If they are lost, start once with "
            "--new: the records are then sealed as they stand, and signed by new keys"
        )


def _seal(engine: Engine, seals: RingSeals, watermark: Watermark, new: bool) -> None:
    """Seal the records of a store from before there were seals, or (`new`) of one whose keys were lost."""
    with named(engine.url), engine.connect() as connection:
        by = keys_of_seals(connection, LAST_RECORDS)
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
            watermark.reached(await journal.head())


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
