"""The network of the test kit, in front of an echo server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import pytest

from arbiter.testing.network import UNDER_WAY_BYTES, Network

Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Echo:
    """A server that returns all bytes; after the end of a client's bytes it sends goodbye and closes."""

    def __init__(self) -> None:
        self.heard = 0  #: bytes
        self.broken = 0  #: connections that were reset

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                self.heard += len(data)
                writer.write(data)
                await writer.drain()
            writer.write(b"goodbye")
            await writer.drain()
        except ConnectionError:
            self.broken += 1
        finally:
            writer.close()


@pytest.fixture
async def echo() -> AsyncIterator[tuple[Echo, Network]]:
    echo = Echo()
    server = await asyncio.start_server(echo.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with server, Network(f"{host}:{port}") as network:
        yield echo, network


class Clients:
    """Connects, and closes every connection at the end."""

    def __init__(self) -> None:
        self.writers: list[asyncio.StreamWriter] = []

    async def __call__(self, network: Network) -> Pair:
        host, _, port = network.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        self.writers.append(writer)
        return reader, writer


@pytest.fixture
async def connect() -> AsyncIterator[Clients]:
    clients = Clients()
    yield clients
    for writer in clients.writers:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def round_trip_s(pair: Pair, data: bytes = b"x") -> float:
    loop = asyncio.get_running_loop()
    began = loop.time()
    pair[1].write(data)
    assert await pair[0].readexactly(len(data)) == data
    return loop.time() - began


async def until(true: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if true():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it did not come about")


async def send_without_end(writer: asyncio.StreamWriter, sent: list[bytes]) -> None:
    while True:
        sent.append(b"x" * 1_000_000)
        writer.write(sent[-1])
        await writer.drain()


async def twice(pair: Pair) -> None:
    await round_trip_s(pair)  # the first bytes may still be sent, though nothing comes back
    await round_trip_s(pair)


async def test_bytes_go_through_unchanged_on_many_connections(echo: tuple[Echo, Network], connect: Clients) -> None:
    _, network = echo
    pairs = [await connect(network) for _ in range(5)]
    for n, (_, writer) in enumerate(pairs):
        writer.write(bytes([n]) * 300_000)
        writer.write_eof()
    for n, (reader, _) in enumerate(pairs):
        assert await reader.read(-1) == bytes([n]) * 300_000 + b"goodbye"
    await until(lambda: network.connections == 0)
    assert network.taken == 5


async def test_the_delay_is_the_sum_of_both_ways_and_may_change(echo: tuple[Echo, Network], connect: Clients) -> None:
    _, network = echo
    pair = await connect(network)
    await round_trip_s(pair)
    network.delay(20)
    assert await round_trip_s(pair) >= 0.040
    network.up.delay_ms = 0
    assert await round_trip_s(pair) >= 0.020
    network.delay(0, jitter_ms=5)
    sent = [bytes([n]) for n in range(100)]
    for piece in sent:
        pair[1].write(piece)
        await asyncio.sleep(0)
    assert await pair[0].readexactly(100) == b"".join(sent)  # nothing is reordered


async def test_bytes_on_their_way_keep_their_delay(
    echo: tuple[Echo, Network], connect: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    echoes, network = echo
    on_its_way, takes_s = asyncio.Event(), network.up.takes_s

    def noted() -> float:
        on_its_way.set()
        return takes_s()

    monkeypatch.setattr(network.up, "takes_s", noted)
    pair = await connect(network)
    network.up.delay_ms = 60
    loop = asyncio.get_running_loop()
    began = loop.time()
    pair[1].write(b"a")
    await on_its_way.wait()
    network.delay(0)
    pair[1].write(b"b")
    assert await pair[0].readexactly(2) == b"ab"
    assert loop.time() - began >= 0.06
    assert echoes.heard == 2


async def test_bandwidth(echo: tuple[Echo, Network], connect: Clients) -> None:
    _, network = echo
    network.down.bytes_a_second = 1_000_000
    reader, writer = await connect(network)
    assert await round_trip_s((reader, writer), b"x" * 100_000) >= 0.1
    network.down.bytes_a_second = 100_000
    writer.write(b"x" * 10_000)
    assert 0 < len(await reader.read(10_000)) < 10_000  # the bytes arrive slowly


async def test_unread_bytes_stop_the_sender_until_they_are_read(echo: tuple[Echo, Network], connect: Clients) -> None:
    echoes, network = echo
    reader, writer = await connect(network)
    network.up.held = True
    writer.transport.set_write_buffer_limits(high=0)
    sent: list[bytes] = []
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(send_without_end(writer, sent), 0.3)
    assert echoes.heard == 0
    network.up.held = False
    assert len(await reader.readexactly(1_000_000 * len(sent))) > UNDER_WAY_BYTES


async def test_cut(echo: tuple[Echo, Network], connect: Clients) -> None:
    echoes, network = echo
    pair = await connect(network)
    await round_trip_s(pair)
    network.cut()
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await twice(pair)
    await until(lambda: echoes.broken == 1)
    assert await round_trip_s(await connect(network)) > 0
    network.refusing = True
    refused = await connect(network)
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await round_trip_s(refused)


async def test_half_close(echo: tuple[Echo, Network], connect: Clients) -> None:
    echoes, network = echo
    reader, writer = await connect(network)
    await round_trip_s((reader, writer))
    network.half_close()
    assert await reader.readexactly(7) == b"goodbye"
    writer.write(b"and then")
    assert await reader.read(-1) == b""
    assert echoes.heard == 1


async def test_half_open(echo: tuple[Echo, Network], connect: Clients) -> None:
    echoes, network = echo
    gone, stays = await connect(network), await connect(network)
    await round_trip_s(gone)
    await round_trip_s(stays)
    with network.vanished():
        gone[1].close()  # the other side is not notified
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(round_trip_s(stays), 0.1)
        assert (echoes.heard, echoes.broken, network.connections) == (2, 0, 2)
    await until(lambda: (echoes.broken, network.connections) == (2, 0))
    assert await round_trip_s(await connect(network)) > 0


async def test_no_server(connect: Clients) -> None:
    async with Network("127.0.0.1:1") as network:
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await round_trip_s(await connect(network))
