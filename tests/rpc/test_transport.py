"""Below the services: health, reflection, addresses, TLS, large messages, and how a server stops."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import game_pb2, match_pb2, play_pb2, server_pb2, server_pb2_grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from arbiter.bootstrap.running_server import serving
from arbiter.bootstrap.store import Store, open_record
from arbiter.bootstrap.world import World, open_world
from arbiter.config import Limits, Settings, load
from arbiter.errors import OperatorError, Reason
from arbiter.rpc.grpc_server import SERVICES, RpcServer
from arbiter.rpc.health import LIVENESS, Health
from arbiter.runtime.loopback import free_port
from arbiter.service.cut_off import CutOff
from arbiter.service.gate.readiness import Readiness
from arbiter.service.ports.journal import Append, StoreFailed
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, PlainRules
from arbiter.testing.served import Served, memory_world, served
from arbiter.workers.pool import WorkerPool
from tests.certificates import Identity
from tests.rpc.calls import Stubs, refused
from tests.rpc.methods import METHODS

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVICE_UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
INFO = server_pb2.GetServerInfoRequest()
HELLO = play_pb2.ClientHello(protocol_version="1.0")


class HeldJournal(MemoryJournal):
    """A journal that is durable only once its gate is open, if it has one."""

    def __init__(self) -> None:
        super().__init__()
        self.gate: asyncio.Event | None = None

    def append(self, append: Append) -> asyncio.Future[int]:
        """Store records, and report it when the gate opens."""
        stored, gate = super().append(append), self.gate
        if gate is None:
            return stored

        async def later() -> int:
            await gate.wait()
            return await stored

        return asyncio.ensure_future(later())


async def test_health_and_reflection_list_every_service() -> None:
    async with served() as server:
        health: Any = health_pb2_grpc.HealthStub(server.channel)
        for service in ("", *SERVICES):
            assert (await health.Check(health_pb2.HealthCheckRequest(service=service))).status == SERVING
        channel: Any = server.channel
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        asked = [reflection_pb2.ServerReflectionRequest(list_services="")]
        (listed,) = [answer async for answer in stub.ServerReflectionInfo(iter(asked))]
        names = {service.name for service in listed.list_services_response.service}
    assert set(SERVICES) == {method.containing_service.full_name for method in METHODS.values()}
    assert names >= set(SERVICES)


async def health_of(server: Served, *services: str) -> set[int]:
    """Return what the server says of the health of these services."""
    health: Any = health_pb2_grpc.HealthStub(server.channel)
    return {(await health.Check(health_pb2.HealthCheckRequest(service=service))).status for service in services}


async def test_a_server_that_is_cut_off_from_its_store_is_not_for_clients_until_it_is_back() -> None:
    """Kubernetes leads no client to it then, and does not kill it."""
    async with served() as server:
        health: Any = health_pb2_grpc.HealthStub(server.channel)
        watch = health.Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == SERVING
        cut_off = server.running.arbiter.cut_off
        cut_off.begin(StoreFailed("for a test"))
        assert (await watch.read()).status == NOT_SERVING
        assert await health_of(server, "", *SERVICES) == {NOT_SERVING}
        assert await health_of(server, LIVENESS) == {SERVING}
        cut_off.end()
        assert (await watch.read()).status == SERVING
        assert await health_of(server, "", *SERVICES) == {SERVING}
        watch.cancel()


async def test_the_health_of_a_service_that_is_not_there() -> None:
    async with served() as server:
        health: Any = health_pb2_grpc.HealthStub(server.channel)
        unknown = health_pb2.HealthCheckRequest(service="ludo")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await health.Check(unknown)
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        watch = health.Watch(unknown)
        assert (await watch.read()).status == SERVICE_UNKNOWN
        watch.cancel()


async def test_who_asks_for_the_health_and_does_not_read_delays_nobody() -> None:
    class Reader:
        """The end of a call whose messages are read, or not even the first one."""

        def __init__(self, reads: bool) -> None:
            self.got: asyncio.Queue[int] = asyncio.Queue()
            self._reads = reads

        async def write(self, answer: health_pb2.HealthCheckResponse) -> None:
            self.got.put_nowait(answer.status)
            if not self._reads:
                await asyncio.Event().wait()

    told: list[Callable[[StoreFailed | None], None]] = []
    cut_off = CutOff(told)
    readiness = Readiness(cut_off)
    told.append(readiness.cut_off_changed)
    health, readers = Health(SERVICES, readiness), [Reader(False), Reader(True)]
    asked: Any = health_pb2.HealthCheckRequest()
    calls = [asyncio.create_task(health.Watch(asked, reader)) for reader in readers]  # type: ignore[arg-type]
    assert [await reader.got.get() for reader in readers] == [SERVING, SERVING]
    readiness.turn_away()
    assert await readers[1].got.get() == NOT_SERVING
    cut_off.begin(StoreFailed("for a test"))
    cut_off.end()
    assert (await health.Check(asked, None)).status == NOT_SERVING, "it drains"  # type: ignore[arg-type]
    assert all(reader.got.empty() for reader in readers)
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)


async def test_a_stopping_server_reports_it_before_it_waits_for_its_store() -> None:
    journal = HeldJournal()

    @asynccontextmanager
    async def world(settings: Settings) -> AsyncIterator[World]:
        async with memory_world(settings) as plain:
            yield plain._replace(store=Store(journal, plain.store.directory))

    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(served(world))
        stubs = await Stubs(server).enter()
        match = await stubs.match()
        async with grpc.aio.insecure_channel(server.address) as channel:
            server.channel = channel  # the client of the server is closed before it drains
            stubs, alice = Stubs(server), stubs.alice
            health: Any = health_pb2_grpc.HealthStub(channel)
            watch = health.Watch(health_pb2.HealthCheckRequest())
            assert (await watch.read()).status == SERVING
            journal.gate = asyncio.Event()
            leaving = asyncio.create_task(stack.aclose())
            assert (await watch.read()).status == NOT_SERVING
            assert await health_of(server, LIVENESS) == {SERVING}
            request = match_pb2.SubmitMoveRequest(request_id="a", match_id=match.match_id, ply=0, move="e5")
            await refused(stubs.matches.SubmitMove(request, metadata=alice), Reason.DRAINING, retry_after_ms="1000")
            assert not leaving.done()
            journal.gate.set()
            watch.cancel()
            await leaving


async def test_rules_are_ready_before_players_of_unfinished_matches_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their clocks run from the hello on: the first question about rules must not pay for the start of a process."""
    store, rules, warm = Store(MemoryJournal(), MemoryDirectory()), PlainRules(), []
    start = RpcServer.start

    def is_warm() -> bool:
        return rules.is_warm

    async def noting(self: RpcServer) -> None:
        warm.append(is_warm())
        await start(self)

    monkeypatch.setattr(RpcServer, "start", noting)

    @asynccontextmanager
    async def world(settings: Settings) -> AsyncIterator[World]:
        async with memory_world(settings) as plain:
            yield plain._replace(store=store, rules=rules)

    async with served(world) as server:
        stubs = await Stubs(server).enter()
        await stubs.match()
    async with served(world):
        assert warm == [False, True]


@pytest.mark.long
async def test_workers_begin_before_the_store_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take longer to start, and the first player may ask for legal moves while its clock runs."""
    begun: list[str] = []
    begin = WorkerPool.begin

    def noting_workers(pool: WorkerPool) -> None:
        begun.append(type(pool).__name__)
        begin(pool)

    def noting_store(*arguments: Any) -> Any:
        begun.append("store")
        return open_record(*arguments)

    monkeypatch.setattr(WorkerPool, "begin", noting_workers)
    monkeypatch.setattr("arbiter.bootstrap.world.open_record", noting_store)
    async with open_world(load(None, store=f"sqlite:///{tmp_path}/a.db", keys=str(tmp_path / "keys"))):
        assert begun == ["EncodingPool", "RulesPool", "store"]


# -- addresses ---------------------------------------------------------------------------------------------------------


async def test_a_port_in_use() -> None:
    async with served() as server:
        with pytest.raises(OperatorError, match="another arbiter on this machine has this address"):
            async with served(listen=server.address):
                pass
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(OperatorError) as caught:
            async with served(listen=address):
                pass
    assert str(caught.value) == f"can't listen on {address}: the port is taken, or the address is not this machine's"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"listen": "0.0.0.0:7400"}, "without TLS would send tokens in the clear"),
        ({"listen": "[::]:7400"}, "without TLS would send tokens in the clear"),
        ({"listen": "192.0.2.1:7400"}, "without TLS would send tokens in the clear"),
        ({"listen": "arbiter.example:7400"}, "without TLS would send tokens in the clear"),
        ({"listen": "nowhere"}, "is no address to listen on"),
        ({"listen": "127.0.0.1:99999"}, "is no address to listen on"),
        ({"tls_certificate": Path("here.pem")}, "both a certificate and its key"),
        ({"tls_certificate": Path("no.pem"), "tls_key": Path("no.key")}, "can't read no."),
        ({"tls_client_authority": Path("ca.pem")}, "both a certificate and its key"),
    ],
)
async def test_wrong_addresses_and_files(given: dict[str, Any], words: str) -> None:
    with pytest.raises(OperatorError, match=words) as caught:
        async with serving(load(None, **{"listen": f"127.0.0.1:{free_port()}"} | given), memory_world):
            pass
    assert "\n" not in str(caught.value)


async def test_insecure_allows_any_address_and_loopback_needs_no_option() -> None:
    for host, given in (("0.0.0.0", {"insecure": True}), ("127.0.0.1", {}), ("127.0.0.2", {}), ("localhost", {})):
        async with served(listen=f"{host}:{free_port()}", **given) as server:
            assert (await Stubs(server).server.GetServerInfo(INFO)).software == "arbiter"


async def test_tls_allows_any_address(tmp_path: Path) -> None:
    own, port = Identity(tmp_path, "arbiter"), free_port()
    async with served(listen=f"0.0.0.0:{port}", tls_certificate=own.certificate_file, tls_key=own.key_file):
        answer = await info(f"127.0.0.1:{port}", grpc.ssl_channel_credentials(own.certificate))
    assert answer.software == "arbiter"


# -- TLS ---------------------------------------------------------------------------------------------------------------


async def info(address: str, credentials: grpc.ChannelCredentials) -> server_pb2.GetServerInfoResponse:
    """Ask a server that uses TLS for its information."""
    async with grpc.aio.secure_channel(address, credentials) as channel:
        stub: Any = server_pb2_grpc.ServerServiceStub(channel)
        answer: server_pb2.GetServerInfoResponse = await stub.GetServerInfo(INFO)
        return answer


async def test_tls_serves(tmp_path: Path) -> None:
    own = Identity(tmp_path, "arbiter")
    async with served(tls_certificate=own.certificate_file, tls_key=own.key_file) as server:
        answer = await info(server.address, grpc.ssl_channel_credentials(own.certificate))
    assert answer.software == "arbiter"


async def test_mutual_tls_refuses_a_client_without_a_certificate(tmp_path: Path) -> None:
    own, bot = Identity(tmp_path, "arbiter"), Identity(tmp_path, "bot")
    given = {"tls_certificate": own.certificate_file, "tls_key": own.key_file}
    async with served(tls_client_authority=bot.certificate_file, **given) as server:
        shown = grpc.ssl_channel_credentials(own.certificate, bot.key, bot.certificate)
        assert (await info(server.address, shown)).software == "arbiter"
        stranger = Identity(tmp_path, "stranger")
        forged = grpc.ssl_channel_credentials(own.certificate, stranger.key, stranger.certificate)
        for credentials in (grpc.ssl_channel_credentials(own.certificate), forged):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await info(server.address, credentials)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_wrong_certificate_and_one_of_another_key(tmp_path: Path) -> None:
    own, other = Identity(tmp_path, "arbiter"), Identity(tmp_path, "other")
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("no certificate")
    for certificate, authority in (
        (other.certificate_file, None),
        (rubbish, None),
        (own.certificate_file, rubbish),
    ):
        with pytest.raises(OperatorError, match=r"\.pem"):
            async with served(tls_certificate=certificate, tls_key=own.key_file, tls_client_authority=authority):
                pass


# -- messages ----------------------------------------------------------------------------------------------------------


async def test_a_message_over_the_limit_is_refused_and_the_server_goes_on() -> None:
    async with served(limits=Limits(message_bytes=2_048)) as server:
        stubs = Stubs(server)
        large = game_pb2.GetGameRequest(game="x" * 3_000)
        await refused(stubs.games.GetGame(large), Reason.MESSAGE_TOO_LARGE, limit="2048", what=str(large.ByteSize()))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stubs.games.GetGame(game_pb2.GetGameRequest(game="x" * 100_000))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (await stubs.server.GetServerInfo(INFO)).limits["message_bytes"] == 2_048


async def test_malformed_requests_and_an_unknown_field() -> None:
    async with served() as server:
        ask: Any = server.channel.unary_unary("/arbiter.v1.GameService/GetGame")
        await refused(ask(b"\xff\xff"), Reason.ARGUMENT_INVALID, where="the request")
        future = game_pb2.GetGameRequest(game="pods").SerializeToString() + b"\xc2\x3e\x03abc"  # field 1000: "abc"
        assert game_pb2.GetGameResponse.FromString(await ask(future)).game == "pods"
