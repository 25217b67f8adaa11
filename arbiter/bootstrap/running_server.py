"""A running server: its APIs, its start, and how it drains."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

import structlog

from arbiter.bootstrap.retention import keep_tidy
from arbiter.bootstrap.traced_messages import TracedMessages
from arbiter.bootstrap.wiring import Arbiter, wire
from arbiter.bootstrap.world import World, open_world
from arbiter.config import Settings
from arbiter.errors import OperatorError, Refusal
from arbiter.ratings.counts import named
from arbiter.rpc.game_service import GameServicer
from arbiter.rpc.grpc_server import RpcServer, Servicers
from arbiter.rpc.local_channel import LocalChannel, LocalServices
from arbiter.rpc.local_sessions import LocalSession, LocalSessions
from arbiter.rpc.match_service import MatchServicer
from arbiter.rpc.play_messages import PlayMessages
from arbiter.rpc.play_sender import Messages
from arbiter.rpc.play_service import PlayServicer
from arbiter.rpc.play_stream import PlayStreams
from arbiter.rpc.player_service import PlayerServicer
from arbiter.rpc.rating_service import RatingServicer
from arbiter.rpc.server_service import ServerServicer
from arbiter.rpc.tournament_service import TournamentServicer
from arbiter.rpc.unread import Unread
from arbiter.runtime.address_lock import alone_at
from arbiter.runtime.build import is_compiled
from arbiter.runtime.certificates import ServedCertificate
from arbiter.runtime.sockets import close_soon
from arbiter.service.gate.gate import Gate
from arbiter.service.matches.live import DRAINING
from arbiter.service.play.stalls import watch_for_stalls
from arbiter.service.ports.journal import StoreDamaged, StoreFailed
from arbiter.service.ports.meter import NO_METER
from arbiter.store.database import may_be_shared

if TYPE_CHECKING:
    import arbiter_client as arb
    from arbiter_protos.v1.play_pb2 import ClientHello, PlayResponse

    from arbiter.agents.agents_on_page import AgentsOnPage
    from arbiter.web.http_server import WebServer

HERE = "localhost:1"  #: where clients in this process believe that the server is: no call goes there
DRAIN_GRACE_S = 2.0  #: time for streams to finish

ClientHere: TypeAlias = "Callable[[str, str], arb.Client]"
"""Makes a client whose calls and sessions stay in this process, for a token and the address that it calls from."""


class RunningServer(NamedTuple):
    """A server that accepts calls. `admin_token` is set only at the first start.

    port: that of gRPC, 0 if this server has the page alone. reading: done once all matches that continue are live.
    certificate: None without TLS. client_here: makes clients in this process.
    """

    port: int
    page: str  #: the address of the page for browsers, '' if there is none
    metrics: str  #: the address of the metrics, '' if there are none
    matches: int
    admin_token: str | None
    arbiter: Arbiter
    reading: asyncio.Task[None]
    certificate: ServedCertificate | None
    client_here: ClientHere


def gate_of(settings: Settings, world: World, arbiter: Arbiter) -> Gate:
    """Return the calls that the API adapters pass on to the use cases."""
    return Gate(settings, world.clock, world.rules, arbiter)


class ApiServers(NamedTuple):
    """The servers for gRPC and for browsers; None for what a server does not have. gate: their calls.

    agents: those on the address of the page. client_here: as of `RunningServer`.
    """

    rpc: RpcServer | None
    web: WebServer | None
    agents: AgentsOnPage | None
    gate: Gate
    client_here: ClientHere


def api_servers(
    settings: Settings, certificate: ServedCertificate | None, world: World, arbiter: Arbiter
) -> ApiServers:
    """Return the use cases' servers, bound to their addresses. Raises OperatorError."""
    gate, limits = gate_of(settings, world, arbiter), settings.limits
    messages: Messages = PlayMessages(arbiter.acts, arbiter.delivery, arbiter.sessions.acknowledge, world.clock)
    if world.traces is not None:
        messages = TracedMessages(messages, world.traces.moves)
    log, meter = structlog.get_logger("arbiter.rpc"), world.metrics or NO_METER
    unread = Unread(limits, close_soon, log)
    streams = PlayStreams(gate.play, arbiter.sessions, messages, world.clock, unread, limits)
    servicers = Servicers(
        ServerServicer(gate.server),
        GameServicer(gate.games, unread, limits),
        MatchServicer(gate.matches, unread, limits, meter),
        PlayServicer(streams),
        PlayerServicer(gate.players, gate.accounts),
        TournamentServicer(gate.tournaments, gate.series, gate.reports, gate.web_hooks, unread, limits),
        RatingServicer(gate.ratings, unread, limits),
    )
    rpc = None
    if not settings.has_page_alone:
        rpc = RpcServer(servicers, settings, certificate, gate, unread, log, meter)
    if world.metrics is not None:
        from arbiter.bootstrap.gauges import add_gauges

        add_gauges(world.metrics, world, certificate, arbiter, gate, unread)
    services = LocalServices.of(servicers, gate.turns.waiting, gate.turns.refusing, log, meter)
    local_sessions = LocalSessions(gate.play, arbiter.sessions, messages, world.clock, meter)
    client_here = partial(_client_here, services, local_sessions)
    if not settings.web:
        return ApiServers(rpc, None, None, gate, client_here)
    # Their libraries take a third of a second to load, which a server without a page saves.
    from arbiter.agents.agents_on_page import SHARED, AgentsOnPage
    from arbiter.rpc.connect import connect_application
    from arbiter.web.application import Calls
    from arbiter.web.http_server import WebServer

    agents = AgentsOnPage(client_here, settings.limits.json_bytes)
    calls = Calls(
        connect_application(servicers, settings.limits, log, meter, gate.turns),
        SHARED if may_be_shared(settings.store) else agents,
    )
    return ApiServers(rpc, WebServer(gate, settings, certificate, calls, meter), agents, gate, client_here)


def _client_here(services: LocalServices, sessions: LocalSessions, token: str, address: str) -> arb.Client:
    import arbiter_client as arb

    @asynccontextmanager
    async def session(hello: ClientHello, take: Callable[[PlayResponse], None]) -> AsyncIterator[LocalSession]:
        try:
            async with sessions.session(token, hello, take) as here:
                yield here
        except Refusal as refusal:
            reason = arb.Reason(refusal.reason.value)
            raise arb.ArbiterError(reason, refusal.message, refusal.reason.code, refusal.facts) from None

    client = arb.Client(HERE, token=token, tls=arb.NO_TLS)
    client.connection.channel = LocalChannel(services, address)  # type: ignore[assignment]  # the part that it uses
    client.connection.direct = session
    return client


@asynccontextmanager
async def serving(
    settings: Settings, world: Callable[[Settings], object] | None = None, new: bool = False
) -> AsyncIterator[RunningServer]:
    """Run a server during the context. At its end the server drains: clocks stop, and everything becomes durable.

    If several servers may share the store, this one shares it. `world` replaces `open_world`. For `new` see
    `open_world`. Raises OperatorError, StoreTooNew.
    """
    log = structlog.get_logger("arbiter")
    async with AsyncExitStack() as stack:
        if world is None:
            world = partial(open_world, new=new, shared=_is_shared(settings))
        opened_world: World = await stack.enter_async_context(world(settings))  # type: ignore[arg-type]
        arbiter = wire(settings, opened_world)
        certificate = ServedCertificate.of(settings)
        if not settings.supervised:  # else its parent has done so
            stack.enter_context(alone_at(settings.listen, "listen"))
            stack.enter_context(alone_at(settings.web, "web"))
        apis = api_servers(settings, certificate, opened_world, arbiter)
        sharing = [asyncio.create_task(duty) for duty in arbiter.life.first_duties()]
        stack.callback(_cancel, sharing)
        admin_token, matches = await started(arbiter)
        if matches:  # their clocks run as soon as their players are back
            await asyncio.gather(opened_world.rules.warm(), opened_world.turn_rules.warm())
        port = await _accept(apis)
        page = metrics = ""
        if apis.web is not None:
            page = f"{apis.web.scheme}://{settings.web.rpartition(':')[0]}:{apis.web.port}/"
            page = f"{settings.web_url.rstrip('/')}/" if settings.web_url else page
        if opened_world.metrics is not None:
            from arbiter.observability.metrics import shown

            metrics_port = stack.enter_context(shown(opened_world.metrics, settings, certificate))
            metrics = f"{_scheme(settings)}://{settings.metrics.rpartition(':')[0]}:{metrics_port}/metrics"
        reading = asyncio.create_task(arbiter.matches.revive_rest())
        meter, stalls_log = opened_world.metrics or NO_METER, structlog.get_logger("arbiter.stalls")
        stall_detector = asyncio.create_task(
            watch_for_stalls(arbiter.stalls, arbiter.sessions, arbiter.matches, settings.limits, stalls_log, meter)
        )
        completing = asyncio.create_task(arbiter.challenges.complete_always())
        duties = (*arbiter.life.duties(), arbiter.deliveries.run(), *_upkeep(settings, opened_world, certificate))
        sharing += [asyncio.create_task(duty) for duty in duties]
        for player in await unknown_anchors(arbiter):
            log.warning(
                "anchor_unknown", anchor=player, help="no effect until a player of that name plays a rated game"
            )
        log.info("serving", port=port, matches=matches, modules="compiled" if is_compiled() else "interpreted")
        try:
            here = (reading, certificate, apis.client_here)
            yield RunningServer(port, page, metrics, matches, admin_token, arbiter, *here)
        finally:
            log.info("draining")
            _cancel((stall_detector, completing, reading))
            drained = await _drain(arbiter, apis)
            _cancel(sharing)
            await asyncio.gather(reading, *sharing, return_exceptions=True)
            if drained:  # else the others stop the clocks, as of a server that is gone
                with suppress(StoreFailed):  # then they notice it
                    await arbiter.life.leave()
            log.info("stopped")


def _is_shared(settings: Settings) -> bool:
    """Return whether several servers may use the store. Raises OperatorError if not, and a setting is for several."""
    if may_be_shared(settings.store):
        return True
    if settings.has_page_alone:
        raise OperatorError(
            "a server without `listen` has the page of other servers: name the PostgreSQL that they share in `store`"
        )
    if settings.bus:
        raise OperatorError(
            "a bus is for servers that share a PostgreSQL, and this store is for one server alone: leave out --bus, or "
            "`bus` in the configuration"
        )
    return False


def _upkeep(
    settings: Settings, world: World, certificate: ServedCertificate | None
) -> Iterator[Coroutine[Any, Any, NoReturn]]:
    """Yield what a server does for as long as it runs: it removes what is old, and takes new certificates."""
    yield keep_tidy(settings, world.store, world.clock, structlog.get_logger("arbiter.retention"))
    if certificate is not None:
        yield certificate.watch(structlog.get_logger("arbiter.certificate"))


async def _accept(apis: ApiServers) -> int:
    """Accept calls; return the port of gRPC, 0 if there is none. Raises OperatorError."""
    if apis.rpc is not None:
        await apis.rpc.start()
    if apis.web is not None:
        await apis.web.start()
    return apis.rpc.port if apis.rpc is not None else 0


async def _drain(arbiter: Arbiter, apis: ApiServers) -> bool:
    """Stop all clocks and end all streams, then the APIs; return whether every event of a match is durable."""
    apis.gate.readiness.turn_away()
    await arbiter.tournaments.stop()
    drained = await arbiter.matches.drain(await arbiter.life.is_last())
    arbiter.sessions.end_all(DRAINING)
    apis.gate.streams.end_all(DRAINING)
    if apis.agents is not None:
        await apis.agents.close()
    if apis.web is not None:
        await apis.web.stop()
    if apis.rpc is not None:
        await apis.rpc.stop(DRAIN_GRACE_S)
    return drained


def _cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()


def _scheme(settings: Settings) -> str:
    return "https" if settings.tls_certificate else "http"


async def unknown_anchors(arbiter: Arbiter) -> list[str]:
    """Return the anchors of the settings whose players are not registered."""
    found = []
    for anchor in arbiter.ratings.anchors:
        try:
            await arbiter.accounts.player(named(anchor)[0])
        except Refusal:
            found.append(anchor)
    return found


async def started(arbiter: Arbiter) -> tuple[str | None, int]:
    """Return the admin token if this is the first start, and the number of matches that continue.

    On a store that several servers share, they are live now; otherwise they become live when they are asked for. Raises
    OperatorError.
    """
    try:
        await arbiter.life.enter()
        await arbiter.accounts.profiles.begin()
        admin_token = await arbiter.accounts.first_admin()
        matches = await arbiter.life.begin()
        await arbiter.tournaments.start()
    except StoreDamaged as damage:
        raise OperatorError(
            f"{damage.why}: `arbiter store check` names all that is damaged; put a copy of the store in its place"
        ) from None
    except StoreFailed as failure:
        raise OperatorError(f"the store can't be used: {failure.why}; see deploy/STORE.md") from None
    return admin_token, matches
