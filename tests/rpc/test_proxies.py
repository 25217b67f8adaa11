"""A server behind proxies counts the addresses of its clients, and streams pass through real ones (deploy/proxies)."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import match_pb2, match_pb2_grpc, play_pb2, player_pb2, player_pb2_grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from arbiter.config import load
from arbiter.errors import OperatorError, Reason
from arbiter.runtime.loopback import free_port
from arbiter.service.gate.addresses import Proxies
from arbiter.testing.network import Network
from arbiter.testing.served import served
from tests.certificates import Identity
from tests.clients.toolchains import require
from tests.processes import LOOK_S, WAIT_S
from tests.rpc.calls import Stubs, refused

FOLDER = Path(__file__).parents[2] / "deploy" / "proxies"
PATIENCE_S = 5  #: how long the proxies of the tests wait for a message; their examples wait for an hour
NEWS_MS = 250  #: between two messages of the server on a silent stream
MOST_CALLS = 12  #: of one address at once, in the tests; in the examples 500
MESSAGES, BODY, LENGTH = 80, 16_383, b"\xff\x7f"  #: of a stream: more than nginx takes unless it is told to


# -- whom a server believes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peer", "forwarded", "sender"),
    [
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("198.51.100.9", "198.51.100.1", "198.51.100.9"),  # no proxy: whoever it is says what it likes
        ("10.0.0.1", "198.51.100.1, 203.0.113.7", "203.0.113.7"),  # a client that names another address
        ("10.0.0.1", "198.51.100.1, 10.9.9.9", "198.51.100.1"),  # two proxies
        ("10.0.0.1", "10.0.0.2, 10.9.9.9", "10.0.0.2"),
        ("10.0.0.1", "198.51.100.1, unknown", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1:4711", "198.51.100.1"),
        ("2001:db8::1", "[2001:db8:9::1]:4711", "2001:db8:9::1"),
        ("::ffff:10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"),
        ("unix:", "198.51.100.1", "unix:"),
    ],
)
def test_the_last_address_that_is_no_proxy_counts(peer: str, forwarded: str, sender: str) -> None:
    assert Proxies(("10.0.0.0/8", "2001:db8::1")).sender(peer, forwarded) == sender


def test_everybody_may_be_trusted() -> None:
    assert Proxies(("*",)).sender("198.51.100.9", "192.0.2.1, 198.51.100.1") == "192.0.2.1"


@pytest.mark.parametrize("name", ["listen_proxies", "web_proxies"])
@pytest.mark.parametrize("wrong", ["", "proxy.example.org", "10.0.0.0/33", "10.0.0.1:80"])
def test_a_proxy_is_an_address_or_a_network(name: str, wrong: str) -> None:
    with pytest.raises(OperatorError, match=rf"{name}\.0: .* no address and no network: write it as"):
        load(None, **{name: (wrong,)})


@pytest.mark.parametrize(("proxies", "trusted"), [((), False), (("192.0.2.1",), False), (("127.0.0.0/8",), True)])
async def test_only_trusted_proxies_may_name_the_address_of_a_call(proxies: tuple[str, ...], trusted: bool) -> None:
    async with served(listen_proxies=proxies, limits={"registrations_a_minute": 1}) as server:
        register = Stubs(server).players.RegisterPlayer
        for number in range(3):
            address = [("x-forwarded-for", f"203.0.113.1, 198.51.100.{number}")]
            call = register(player_pb2.RegisterPlayerRequest(name=f"bot-{number}"), metadata=address)
            if trusted or not number:
                await call
            else:
                await refused(call, Reason.RATE_LIMITED)


# -- real proxies ------------------------------------------------------------------------------------------------------


@contextmanager
def nginx(folder: Path, port: int, changed: Mapping[str, str]) -> Iterator[None]:
    """Run nginx with our example, in which some texts are changed."""
    (folder / "arbiter.conf").write_text(_changed("nginx.conf", changed))
    around = (
        "daemon off; pid nginx.pid; error_log nginx.log; events { worker_connections 256; } "
        "http { access_log off; client_body_temp_path body; include arbiter.conf; }"
    )
    (folder / "nginx.conf").write_text(around)
    with _running(port, "nginx", "-p", f"{folder}/", "-c", "nginx.conf", "-e", "nginx.log"):
        yield


@contextmanager
def haproxy(folder: Path, port: int, changed: Mapping[str, str]) -> Iterator[None]:
    """Run HAProxy with our example, in which some texts are changed."""
    (folder / "haproxy.cfg").write_text(_changed("haproxy.cfg", changed))
    with _running(port, "haproxy", "-db", "-f", str(folder / "haproxy.cfg")):
        yield


def _changed(name: str, changed: Mapping[str, str]) -> str:
    text = (FOLDER / name).read_text()
    for ours, here in changed.items():
        assert ours in text, f"{ours} is not in {name}"
        text = text.replace(ours, here)
    return text


@contextmanager
def _running(port: int, *command: str) -> Iterator[None]:
    process = subprocess.Popen(command)
    try:
        while not _accepts(port):
            assert process.poll() is None, "it has ended"
        yield
    finally:
        process.terminate()
        process.wait(WAIT_S)


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), WAIT_S).close()
    except OSError:
        time.sleep(LOOK_S)
        return False
    return True


@pytest.mark.long
@pytest.mark.toolchain
@pytest.mark.parametrize("name", ["nginx", "haproxy"])
async def test_behind_a_real_proxy_clients_have_addresses_and_streams_of_their_own(tmp_path: Path, name: str) -> None:
    require(name, why="a server is tried behind it")
    own, port, server_port = Identity(tmp_path, "server"), free_port(), free_port()
    own.certificate_file.write_bytes(own.certificate + own.key)
    changed = {"127.0.0.1:7400;": f"127.0.0.1:{server_port};", "443": f"127.0.0.1:{port}", "1h;": f"{PATIENCE_S}s;"}
    if name == "haproxy":
        changed = {
            "127.0.0.1:7400 ": f"127.0.0.1:{server_port} ",
            ":443": f"127.0.0.1:{port}",
            "1h\n": f"{PATIENCE_S}s\n",
        }
    changed |= {"/etc/arbiter": str(tmp_path), " 500": f" {MOST_CALLS}"}
    limits = {"registrations_a_minute": 1, "ping_ms": NEWS_MS, "bookmark_ms": NEWS_MS, "silence_ms": 1_000 * WAIT_S}
    listen, proxies = f"127.0.0.1:{server_port}", ("127.0.0.1",)
    with (nginx if name == "nginx" else haproxy)(tmp_path, port, changed):
        async with Network(f"127.0.0.1:{port}", source="127.0.0.3") as network, channel(network, own) as through:
            await is_unavailable(health_pb2_grpc.HealthStub(through))
        async with served(listen=listen, listen_proxies=proxies, limits=limits) as server:
            for source in ("127.0.0.3", "127.0.0.4"):
                async with Network(f"127.0.0.1:{port}", source=source) as network, channel(network, own) as through:
                    await registers_once(through, source)
                    if source == "127.0.0.4":
                        await streams_go_on(through, await Stubs(server).enter())
                    else:
                        await has_no_more_than_its_calls(through)


def channel(network: Network, own: Identity) -> grpc.aio.Channel:
    """Return a channel that comes to a proxy by a network."""
    return grpc.aio.secure_channel(network.address, grpc.ssl_channel_credentials(own.certificate))


async def registers_once(through: grpc.aio.Channel, source: str) -> None:
    """Register as often as one address may, and once more, which is refused, whatever the client says of itself."""
    stub: Any = player_pb2_grpc.PlayerServiceStub(through)
    name = f"bot-{source.rpartition('.')[2]}"
    await stub.RegisterPlayer(player_pb2.RegisterPlayerRequest(name=name), wait_for_ready=True, timeout=WAIT_S)
    for forged in (None, "198.51.100.1"):
        metadata = [("x-forwarded-for", forged)] if forged else None
        again = player_pb2.RegisterPlayerRequest(name=f"{name}-again")
        await refused(stub.RegisterPlayer(again, metadata=metadata), Reason.RATE_LIMITED)


async def has_no_more_than_its_calls(through: grpc.aio.Channel) -> None:
    """Hold as many streams as one address may, and then one more."""
    health: Any = health_pb2_grpc.HealthStub(through)
    asked = health_pb2.HealthCheckRequest()
    held = [health.Watch(asked) for _ in range(MOST_CALLS)]
    for call in held:
        assert await call.read() is not grpc.aio.EOF
    await is_unavailable(health)
    for call in held:
        call.cancel()


async def is_unavailable(health: Any) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await health.Watch(health_pb2.HealthCheckRequest()).read()
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE, refused.value
    assert "away, or too many calls" in str(refused.value.details()), "the proxy has said so"


async def streams_go_on(through: grpc.aio.Channel, stubs: Stubs) -> None:
    """Hold streams that say little for longer than a proxy's patience; then send much on one of them."""
    match = await stubs.match()
    matches: Any = match_pb2_grpc.MatchServiceStub(through)
    watched = match_pb2.ObserveRequest(match=match_pb2.ObserveMatch(match_id=match.match_id))
    observed = matches.Observe(watched, metadata=stubs.bob)
    play: Any = through.stream_stream("/arbiter.v1.PlayService/Play", bytes, play_pb2.PlayResponse.FromString)
    played = play(metadata=stubs.alice)
    hello = play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0"))
    await played.write(play_pb2.PlayRequest(acts=[hello]).SerializeToString())
    loop = asyncio.get_running_loop()
    until = loop.time() + PATIENCE_S + 2
    while loop.time() < until:
        assert await observed.read() is not grpc.aio.EOF
        assert await played.read() is not grpc.aio.EOF
    for _ in range(MESSAGES):
        await played.write(b"\xc2\x3e" + LENGTH + bytes(BODY))  # field 1000, which the server does not know
    resign = play_pb2.PlayAct(request_id="last", match_id=match.match_id, resign=play_pb2.ResignAct())
    await played.write(play_pb2.PlayRequest(acts=[resign]).SerializeToString())
    async with asyncio.timeout(WAIT_S):
        while not any(item.HasField("ended") for item in (await played.read()).items):
            pass
    observed.cancel()
    played.cancel()
