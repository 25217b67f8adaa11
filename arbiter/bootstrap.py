"""The composition root: the only module that names adapters. Each part can also be passed in as an argument."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import structlog
from sqlalchemy import Engine

from arbiter.config import Limits, Settings
from arbiter.errors import OperatorError, Refusal
from arbiter.matches import time_control
from arbiter.matches.credit import CreditRules
from arbiter.matches.fields import RecordError
from arbiter.matches.policy import Policy
from arbiter.matches.record import read
from arbiter.rpc.game_service import GameServicer
from arbiter.rpc.match_service import MatchServicer
from arbiter.rpc.play_messages import PlayMessages
from arbiter.rpc.play_service import PlayServicer
from arbiter.rpc.play_stream import PlayStreams
from arbiter.rpc.player_service import PlayerServicer
from arbiter.rpc.rating_service import RatingServicer
from arbiter.rpc.server import RpcServer, Servicers
from arbiter.rpc.server_service import ServerServicer
from arbiter.rpc.tournament_service import TournamentServicer
from arbiter.rpc.unread import Unread
from arbiter.runtime.adjudicators import AdjudicatorProcess
from arbiter.runtime.build import is_compiled
from arbiter.runtime.clock import SystemClock
from arbiter.runtime.ids import SystemIds
from arbiter.runtime.keys import KeyRing, open_ring
from arbiter.runtime.pairing import PairingProcess
from arbiter.runtime.rating import RatingProcess
from arbiter.runtime.rules_pool import RulesPool
from arbiter.runtime.seals import RingSeals
from arbiter.runtime.sockets import close_soon
from arbiter.runtime.watermark import Watermark
from arbiter.service.gate.gate import Gate
from arbiter.service.matches.comment_keys import CommentKeys
from arbiter.service.matches.live import DRAINING
from arbiter.service.matches.live_match import MatchListener
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.matches.transcripts import Signer, Transcripts
from arbiter.service.observing.feed import Feed
from arbiter.service.play.acts import PlayActs
from arbiter.service.play.catch_up import CatchUp
from arbiter.service.play.challenges import Challenges
from arbiter.service.play.connections import Connections
from arbiter.service.play.delivery import Delivery
from arbiter.service.play.move_lists import MoveLists
from arbiter.service.play.sessions import FirstItems, Sessions
from arbiter.service.play.stalls import watch_for_stalls
from arbiter.service.players.accounts import Accounts, Caller, Scope
from arbiter.service.ports.directory import Directory
from arbiter.service.ports.environment import Clock, Ids
from arbiter.service.ports.journal import Journal, Seals, StoreDamaged, StoredRecord, StoreFailed, Subject
from arbiter.service.ports.rules import RulesWorker
from arbiter.service.ratings.ports import RatingWorker
from arbiter.service.ratings.ratings import Ratings
from arbiter.service.record import tournaments as tournament_log
from arbiter.service.tournaments.adjudicators import Adjudicators, InProcessAdjudicators
from arbiter.service.tournaments.calls import TournamentCalls
from arbiter.service.tournaments.capacity import Capacity
from arbiter.service.tournaments.log import Listener as TournamentListener
from arbiter.service.tournaments.ports import Dependencies, PairingWorker
from arbiter.service.tournaments.registry import TournamentRegistry
from arbiter.store import derived
from arbiter.store.database import named, opened, shown
from arbiter.store.directory import SqlDirectory
from arbiter.store.journal import SqlJournal
from arbiter.store.reader import Reader
from arbiter.store.records import head, keys_of_seals, seal_records
from arbiter.store.writer import Committed, Writer

if TYPE_CHECKING:
    from arbiter.web.server import WebServer

#: maximum tokens of a player; generous, because this operator can write in the database anyway
UNCOUNTED = 1_000_000_000
DRAIN_GRACE_S = 2.0  #: time for streams to finish
NO_JUDGES = InProcessAdjudicators({})  #: used where no plug-ins are installed
MARK_S = 1.0  #: interval between two writes of the watermark
LAST_RECORDS = 100  #: records whose instants are read at the start


class Store(NamedTuple):
    """The adapters for one database."""

    journal: Journal
    directory: Directory


class World(NamedTuple):
    """The external dependencies of the use cases. A test can replace each of them."""

    store: Store
    clock: Clock
    ids: Ids
    rules: RulesWorker
    turn_rules: RulesWorker
    signer: Signer
    pairing: PairingWorker
    rating: RatingWorker
    judges: Adjudicators = NO_JUDGES


class Arbiter(NamedTuple):
    """The use cases, wired together.

    `match_listeners`: callbacks for durable events of matches, called in this order.
    """

    matches: MatchRegistry
    match_listeners: list[MatchListener]
    feed: Feed
    accounts: Accounts
    sessions: Sessions
    acts: PlayActs
    delivery: Delivery
    challenges: Challenges
    transcripts: Transcripts
    tournaments: TournamentRegistry
    ratings: Ratings
    policy: Policy


class RunningServer(NamedTuple):
    """A server that accepts calls. `admin_token` is set only at the first start."""

    port: int
    page: str  #: the address of the page for browsers, '' if there is none
    matches: int
    admin_token: str | None
    arbiter: Arbiter


@asynccontextmanager
async def open_store(
    url: str, committed: Committed | None = None, alone: bool = False, ring: Path | None = None
) -> AsyncIterator[Store]:
    """Open a database and its adapters. `alone` locks out other servers. Raises OperatorError, StoreTooNew.

    For `committed` see `Writer`. `ring`: the file of the signing keys that seal the records; without it, records are
    neither sealed nor checked.
    """
    with opened(url, alone) as engine:
        keys = open_ring(ring, structlog.get_logger("arbiter.keys")) if ring is not None else None
        async with _adapters(engine, committed, RingSeals(keys) if keys is not None else None) as store:
            yield store


@asynccontextmanager
async def _adapters(engine: Engine, committed: Committed | None, seals: Seals | None) -> AsyncIterator[Store]:
    log = structlog.get_logger("arbiter.store")
    writer, reader = Writer(engine, log, committed), Reader(engine, log)
    try:
        yield Store(SqlJournal(engine, writer, reader, seals), SqlDirectory(writer, reader))
    finally:
        await asyncio.to_thread(writer.close)
        reader.close()


@asynccontextmanager
async def open_world(settings: Settings, committed: Committed | None = None, new: bool = False) -> AsyncIterator[World]:
    """Open the external dependencies of the use cases on this machine. For `committed` see `Writer`.

    `new` accepts a store that is empty, or older than the one that was served with these keys, or sealed by other keys.
    Without `new` such a store raises OperatorError.
    """
    limits = settings.limits
    async with AsyncExitStack() as stack:
        store, ring = await stack.enter_async_context(open_record(settings, committed, new))
        clock = await _clock(store.journal)
        # Live matches have a worker of their own, so that requests of strangers do not delay players.
        pools = (RulesPool(limits, settings.rules_workers), RulesPool(limits, 1, nice=0))
        for pool in pools:
            await pool.start()
            stack.push_async_callback(pool.close)
        pairing = PairingProcess(store.journal)
        stack.push_async_callback(pairing.close)
        rating = RatingProcess()
        stack.push_async_callback(rating.close)
        judges = AdjudicatorProcess()
        stack.push_async_callback(judges.close)
        yield World(store, clock, SystemIds(clock), *pools, ring, pairing, rating, judges)


@asynccontextmanager
async def open_record(
    settings: Settings, committed: Committed | None = None, new: bool = False
) -> AsyncIterator[tuple[Store, KeyRing]]:
    """Open a server's store with its signing keys, and keep its watermark up to date. For the rest see `open_world`."""
    path = settings.key_ring
    watermark = Watermark(path, shown(settings.store))
    with opened(settings.store, alone=True) as engine:
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
        async with _adapters(engine, committed, seals) as store:
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


async def _clock(journal: Journal) -> SystemClock:
    """Return the server's clock. It never goes behind the instants in the event log, whatever the system clock does.

    Instants roughly grow along the journal, so the last LAST_RECORDS records have the latest one. A damaged record is
    ignored here; others report it.
    """
    last = 0
    with suppress(StoreFailed):
        for stored in await _last_records(journal):
            with suppress(RecordError, StoreFailed):
                of_tournament = stored.subject is Subject.TOURNAMENT
                last = max(last, (tournament_log.event_of(stored) if of_tournament else read(stored.body)).at)
    clock = SystemClock(last)
    if clock.behind_ms:
        structlog.get_logger("arbiter").warning("clock_behind_record", behind_ms=clock.behind_ms)
    return clock


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


def wire(settings: Settings, world: World) -> Arbiter:
    """Wire up the use cases. Raises OperatorError for settings with which no match could be created."""
    limits = settings.limits
    try:
        policy = _policy(settings)
    except Refusal as refusal:
        raise OperatorError(f"the configuration is wrong: {refusal.message}") from None
    journal, directory = world.store
    clock, pairing, judges, log = world.clock, world.pairing, world.judges, structlog.get_logger
    # Listeners are called in this order. The lists are filled below, once all parts exist.
    match_listeners: list[MatchListener] = []
    tournament_listeners: list[TournamentListener] = []
    first_items: list[FirstItems] = []

    connections = Connections()
    secret = CommentKeys(world.signer).of
    matches = MatchRegistry(
        journal, clock, world.ids, limits, secret, connections, match_listeners, log("arbiter.matches")
    )
    feed = Feed(journal, limits, matches)
    accounts = Accounts(directory, world.ids, clock, settings.registration, limits)
    catch_up = CatchUp(matches, directory)
    move_lists = MoveLists(world.turn_rules, limits, settings.credit.hand_over_most_ms, log("arbiter.sessions"))
    delivery = Delivery(connections, matches.live, catch_up, move_lists, clock)
    acts = PlayActs(matches, delivery, clock, limits)
    sessions = Sessions(connections, matches, accounts, directory, catch_up, delivery, first_items, clock, limits)
    challenges = Challenges(directory, accounts, matches, sessions, world.ids, clock, limits, policy)
    capacity = Capacity(sessions, limits.tournament_games)
    ratings = Ratings(journal, clock, world.rating, settings.ratings.anchors, log("arbiter.ratings"))
    dependencies = Dependencies(
        journal, matches, feed, clock, capacity, pairing, ratings, policy, judges, log("arbiter.tournaments")
    )
    tournaments = TournamentRegistry(dependencies, world.ids, limits, tournament_listeners)
    calls = TournamentCalls(connections, tournaments, clock)

    match_listeners += [feed.match_changed, delivery.match_changed, tournaments.match_changed]
    tournament_listeners += [calls.tournament_changed]
    first_items += [calls.first_items]
    accounts.on_shut_out(sessions.shut_out)

    return Arbiter(
        matches=matches,
        match_listeners=match_listeners,
        feed=feed,
        accounts=accounts,
        sessions=sessions,
        acts=acts,
        delivery=delivery,
        challenges=challenges,
        transcripts=Transcripts(matches, world.signer),
        tournaments=tournaments,
        ratings=ratings,
        policy=policy,
    )


def _policy(settings: Settings) -> Policy:
    matches = settings.matches
    time_control.parse(matches.time_control)
    return Policy(
        illegal_moves=matches.illegal_moves,
        kept_refusals=matches.kept_refusals,
        no_show_ms=matches.no_show_ms,
        abandon_ms=matches.abandon_ms,
        move_cap_ms=matches.move_cap_ms,
        resume_ms=matches.resume_ms,
        credit=CreditRules(**settings.credit.model_dump()),
    )


def gate_of(settings: Settings, world: World, arbiter: Arbiter) -> Gate:
    """Return the calls that the API adapters pass on to the use cases."""
    return Gate(
        settings=settings,
        policy=arbiter.policy,
        clock=world.clock,
        rules=world.rules,
        accounts=arbiter.accounts,
        matches=arbiter.matches,
        feed=arbiter.feed,
        sessions=arbiter.sessions,
        challenges=arbiter.challenges,
        transcripts=arbiter.transcripts,
        tournaments=arbiter.tournaments,
        ratings=arbiter.ratings,
        log=structlog.get_logger("arbiter.tournaments"),
    )


class Doors(NamedTuple):
    """The servers of the use cases: gRPC, and the page if there is to be one."""

    rpc: RpcServer
    web: WebServer | None


def doors(settings: Settings, world: World, arbiter: Arbiter) -> Doors:
    """Return the use cases' servers, bound to their addresses. Raises OperatorError."""
    gate, limits = gate_of(settings, world, arbiter), settings.limits
    messages = PlayMessages(arbiter.acts, arbiter.delivery, arbiter.sessions.acknowledge, world.clock)
    log = structlog.get_logger("arbiter.rpc")
    unread = Unread(limits, close_soon, log)
    servicers = Servicers(
        ServerServicer(gate.server),
        GameServicer(gate.games, unread, limits),
        MatchServicer(gate.matches, unread, limits),
        PlayServicer(PlayStreams(gate.play, arbiter.sessions, messages, world.clock, unread, limits)),
        PlayerServicer(gate.players),
        TournamentServicer(gate.tournaments),
        RatingServicer(gate.ratings),
    )
    rpc = RpcServer(servicers, settings, gate, unread, log)
    return Doors(rpc, _web(gate, settings) if settings.web else None)


def _web(gate: Gate, settings: Settings) -> WebServer:
    # Its libraries take a fifth of a second to load, which a server without a page saves.
    from arbiter.web.server import WebServer

    return WebServer(gate, settings)


@asynccontextmanager
async def serving(
    settings: Settings, world: Callable[[Settings], object] | None = None, new: bool = False
) -> AsyncIterator[RunningServer]:
    """Run a server during the context. At its end the server drains: clocks stop, and everything becomes durable.

    `world` replaces `open_world`. For `new` see `open_world`. Raises OperatorError, StoreTooNew.
    """
    log = structlog.get_logger("arbiter")
    async with AsyncExitStack() as stack:
        opened_world: World = await stack.enter_async_context((world or partial(open_world, new=new))(settings))  # type: ignore[arg-type]
        arbiter = wire(settings, opened_world)
        server, web = doors(settings, opened_world, arbiter)
        admin_token, matches = await started(arbiter)
        await server.start()
        page = ""
        if web is not None:
            await web.start()
            page = f"{web.scheme}://{settings.web.rpartition(':')[0]}:{web.port}/"
        stall_detector = asyncio.create_task(
            watch_for_stalls(arbiter.sessions, arbiter.matches, settings.limits, structlog.get_logger("arbiter.stalls"))
        )
        log.info("serving", port=server.port, matches=matches, modules="compiled" if is_compiled() else "interpreted")
        try:
            yield RunningServer(server.port, page, matches, admin_token, arbiter)
        finally:
            log.info("draining")
            stall_detector.cancel()
            await server.turn_away()
            await arbiter.tournaments.stop()
            await arbiter.matches.drain()
            arbiter.sessions.end_all(DRAINING)
            server.end_streams(DRAINING)
            if web is not None:
                await web.stop()
            await server.stop(DRAIN_GRACE_S)
            log.info("stopped")


async def started(arbiter: Arbiter) -> tuple[str | None, int]:
    """Return the admin token if this is the first start, and the number of resumed matches. Raises OperatorError."""
    try:
        admin_token, matches = await arbiter.accounts.first_admin(), await arbiter.matches.start()
        await arbiter.tournaments.start()
    except StoreDamaged as damage:
        raise OperatorError(
            f"{damage.why}: `arbiter store check` names all that is damaged; put a copy of the store in its place"
        ) from None
    except StoreFailed as failure:
        raise OperatorError(f"the store can't be used: {failure.why}; see the runbook") from None
    return admin_token, matches


async def create_token(store_url: str, player: str, scopes: Sequence[str], note: str) -> str:
    """Create a token directly in a database, for operators who can write there. Return its secret.

    Raises OperatorError, StoreTooNew, and Refusal for a name or note that is not allowed.
    """
    return (await create_tokens(store_url, {player: scopes}, note))[player]


async def create_tokens(store_url: str, scopes: Mapping[str, Sequence[str]], note: str) -> dict[str, str]:
    """Create a token with scopes for each of some players, as `create_token` does. Return the secrets by player."""
    async with open_store(store_url) as store:
        clock = SystemClock()
        accounts = Accounts(store.directory, SystemIds(clock), clock, "closed", Limits(tokens_of_player=UNCOUNTED))
        operator = Caller("", "", frozenset({Scope.ADMIN.value}))
        secrets = {}
        for player, names in scopes.items():
            _, secrets[player] = await accounts.create_token(operator, player, [Scope(name) for name in names], note)
        return secrets


def check_store(store_url: str, progress: derived.Progress, ring: Path | None = None) -> derived.Found:
    """Compare all derived data of a store with its log, and the log with its seals. Raises OperatorError, StoreTooNew.

    For `ring` see `seals_of`; the watermark beside it says how many records there have to be.
    """
    with opened(store_url, existing=True) as engine:
        seals = seals_of(store_url, ring)
        watermark = Watermark(ring, shown(store_url)) if ring is not None and seals is not None else None
        check_size = partial(watermark.check, keys_are_new=False) if watermark is not None else None
        return derived.check(engine, progress, seals, check_size)


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
