"""The external dependencies of the use cases, as they are on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import structlog

from arbiter.bootstrap.bus import open_bus
from arbiter.bootstrap.store import Store, open_record
from arbiter.bootstrap.tracing import tracing
from arbiter.config import Settings
from arbiter.errors import OperatorError
from arbiter.event_json.canonical import RecordError
from arbiter.matches.record import read
from arbiter.runtime.ids import SystemIds
from arbiter.runtime.system_clock import FollowingClock, SystemClock
from arbiter.service.matches.transcripts import Signer
from arbiter.service.ports.bus import Bus
from arbiter.service.ports.environment import Clock, Ids
from arbiter.service.ports.journal import Journal, StoreDamaged, StoredRecord, StoreFailed, Subject
from arbiter.service.ports.meter import NO_METER
from arbiter.service.ports.rules import EncodingRules, RulesWorker
from arbiter.service.ratings.rating_ports import RatingWorker
from arbiter.service.record import tournament_log
from arbiter.service.tournaments.adjudicators import Adjudicators, InProcessAdjudicators
from arbiter.service.tournaments.tournament_ports import PairingWorker
from arbiter.store.records import LAST_RECORDS
from arbiter.store.writer import Committed
from arbiter.wire.encoding_pool import EncodingPool
from arbiter.workers.adjudicator_worker import AdjudicatorProcess
from arbiter.workers.pairing import PairingProcess
from arbiter.workers.plugin_games import plugins_apart
from arbiter.workers.rating_worker import RatingProcess
from arbiter.workers.rules_pool import RulesPool
from arbiter.workers.syzygy import table_folder

if TYPE_CHECKING:
    from arbiter.observability.metrics import Metrics
    from arbiter.observability.traces import Traces

MOST_AHEAD_MS: Final = 60_000  #: by how much the event log may be ahead of the database's clock at a start
NO_JUDGES = InProcessAdjudicators({})  #: used where no plug-ins are installed


class World(NamedTuple):
    """The external dependencies of the use cases. A test can replace each of them."""

    store: Store
    clock: Clock
    ids: Ids
    rules: EncodingRules
    turn_rules: RulesWorker
    signer: Signer
    pairing: PairingWorker
    rating: RatingWorker
    judges: Adjudicators = NO_JUDGES
    metrics: Metrics | None = None
    following: FollowingClock | None = None  #: the clock, if it has to be kept level with the store's
    traces: Traces | None = None
    bus: Bus | None = None  #: between the servers that share the store


@asynccontextmanager
async def open_world(
    settings: Settings, committed: Committed | None = None, new: bool = False, shared: bool = False
) -> AsyncIterator[World]:
    """Open the external dependencies of the use cases on this machine. For `committed` see `Writer`.

    `new` accepts a store that is empty, or older than the one that was served with these keys, or sealed by other keys.
    Without `new` such a store raises OperatorError. `shared`: as one of several servers; see `may_be_shared`.
    """
    limits = settings.limits
    async with AsyncExitStack() as stack:
        # Live matches have a worker of their own, so that requests of strangers do not delay players. Workers begin
        # first, because they take longer to start than the rest.
        pools = (EncodingPool(limits, settings.rules_workers), RulesPool(limits, 1, nice=0))
        for pool in pools:
            stack.push_async_callback(pool.close)
            pool.begin()
        await stack.enter_async_context(plugins_apart(limits, structlog.get_logger("arbiter.plugins")))
        metrics = _metrics() if settings.metrics else None
        store, ring = await stack.enter_async_context(open_record(settings, _both(committed, metrics), new, shared))
        bus = await stack.enter_async_context(open_bus(settings, ring)) if settings.bus else None
        following = await _following(store) if store.time is not None else None
        clock = following or await _clock(store.journal)
        traces = stack.enter_context(tracing(settings, clock.now_ns)) if settings.traces else None
        pairing = PairingProcess(store.journal, metrics or NO_METER, settings.books, store.snapshots)
        stack.push_async_callback(pairing.close)
        rating = RatingProcess(metrics or NO_METER)
        stack.push_async_callback(rating.close)
        judges = AdjudicatorProcess(tables=table_folder(settings.syzygy).path if settings.syzygy else None)
        stack.push_async_callback(judges.close)
        if settings.syzygy:
            judges.begin()  # else fast games would go on for dozens of moves before the first verdict
        yield World(
            store, clock, SystemIds(clock), *pools, ring, pairing, rating, judges, metrics, following, traces, bus
        )


def _metrics() -> Metrics:
    from arbiter.observability.metrics import Metrics  # its library is loaded only where somebody measures

    return Metrics()


def _both(committed: Committed | None, metrics: Metrics | None) -> Committed | None:
    """Return the listener for commits."""
    if metrics is None or committed is None:
        return metrics.committed if metrics is not None else committed

    def both(writes: int, seconds: float) -> None:
        metrics.committed(writes, seconds)
        committed(writes, seconds)

    return both


async def _clock(journal: Journal) -> SystemClock:
    """Return the server's clock. It never goes behind the instants in the event log, whatever the system clock does."""
    clock = SystemClock(await _last_instant(journal))
    if clock.behind_ms:
        structlog.get_logger("arbiter").warning("clock_behind_record", behind_ms=clock.behind_ms)
    return clock


async def _following(store: Store) -> FollowingClock:
    """Return the clock of a server that shares its store: the database's time is that of all servers.

    If the event log is a little ahead of it, this waits: else turns would begin in the future, and cost nothing until
    then. Raises OperatorError if it is far ahead.
    """
    assert store.time is not None
    try:
        clock = FollowingClock(await store.time.readings())
    except StoreFailed as failure:
        raise OperatorError(f"the store can't be used: {failure.why}; see deploy/STORE.md") from None
    ahead_ms = await _last_instant(store.journal) - clock.now_ms()
    if ahead_ms > MOST_AHEAD_MS:
        raise OperatorError(
            f"the last event in the store is {ahead_ms / 1_000:.0f} seconds ahead of the database's clock: set that "
            "clock right; if it is right, start again when this time has passed"
        )
    if ahead_ms > 0:
        structlog.get_logger("arbiter").warning("clock_behind_record", behind_ms=ahead_ms)
        await asyncio.sleep(ahead_ms / 1_000)
    return clock


async def _last_instant(journal: Journal) -> int:
    """Return the latest instant in the event log.

    Instants roughly grow along the journal, so the last LAST_RECORDS records have it. A damaged record is ignored here;
    others report it.
    """
    last = 0
    with suppress(StoreFailed):
        for stored in await _last_records(journal):
            with suppress(RecordError, StoreFailed):
                of_tournament = stored.subject is Subject.TOURNAMENT
                last = max(last, (tournament_log.event_of(stored) if of_tournament else read(stored.body)).at)
    return last


async def _last_records(journal: Journal) -> list[StoredRecord]:
    """Return the last LAST_RECORDS records, without those that are damaged. Raises StoreFailed."""
    first = max(0, await journal.head() - LAST_RECORDS)
    try:
        return await journal.read_all(first, LAST_RECORDS)
    except StoreDamaged:
        found: list[StoredRecord] = []
        for place in range(first, first + LAST_RECORDS):
            with suppress(StoreDamaged):
                found += await journal.read_all(place, 1)
        return found
