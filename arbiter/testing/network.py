"""A network with fault injection: a TCP proxy between a real client and a real server.

    async with Network(server_address) as network:
        channel = grpc.aio.insecure_channel(network.address)
        network.delay(50)            # milliseconds each way: 100 ms of round trip
        network.down.held = True     # stop reading from the server
        network.cut()                # reset every connection; new ones are accepted

Each direction has its own conditions, `up` from client to server and `down` back. They apply to every connection and
may be changed at any time. Data under way keeps the delay with which it was sent, and order is always kept.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple, Self

CHUNK_BYTES: Final = 65_536  #: maximum bytes of one read
RESET: Final = struct.pack("ii", 1, 0)  #: value for SO_LINGER: closing sends a reset
UNDER_WAY_BYTES: Final = 1_048_576  #: maximum bytes under way in one direction of a connection


class Direction:
    """The conditions of one direction.

    delay_ms: the delay of all data. jitter_ms: an additional random delay of at most this much, drawn for each piece;
    order is kept. bytes_a_second: bandwidth; None for no limit. held: the proxy stops reading from the sender, so the
    sender's buffers fill up; held data continues once this is False again. dropped: incoming data is discarded without
    a sign to either side, and the end of a connection is not passed on either.
    """

    def __init__(self, dice: random.Random) -> None:
        self.delay_ms: float = 0
        self.jitter_ms: float = 0
        self.bytes_a_second: float | None = None
        self.dropped = False
        self._dice = dice
        self._held = False
        self._open = asyncio.Event()
        self._open.set()

    @property
    def held(self) -> bool:
        """Whether the proxy has stopped reading from the sender."""
        return self._held

    @held.setter
    def held(self, held: bool) -> None:
        self._held = held
        if held:
            self._open.clear()
        else:
            self._open.set()

    async def opened(self) -> None:
        """Wait while this direction is held."""
        await self._open.wait()

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield the pieces in which data is sent: whole, or, if bandwidth is limited, 1/50 of a second's worth each."""
        most = len(data) if self.bytes_a_second is None else max(1, int(self.bytes_a_second / 50))
        for start in range(0, len(data), max(1, most)):
            yield data[start : start + most]

    def takes_s(self) -> float:
        """Return the delay of a piece that is sent now, without the time for its length, in seconds."""
        return (self.delay_ms + self._dice.uniform(0, self.jitter_ms)) / 1000


class _Piece(NamedTuple):
    """Bytes under way and the time at which they are due; no bytes for the end of the sender's data."""

    due: float
    data: bytes


class _Pump:
    """One direction of one connection: reads from one side and writes to the other side when the data is due."""

    def __init__(self, way: Direction, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        self._way = way
        self._source = source
        self._sink = sink
        self._under_way: deque[_Piece] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()
        self._last_due = 0.0
        self._said_all = False

    async def run(self) -> None:
        """Copy data until the sender has ended and everything has arrived. Raises OSError if the connection breaks."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._take())
            tasks.create_task(self._hand_on())

    def half_close(self) -> None:
        """Tell the receiver, after all data under way, that the sender has ended; discard whatever comes later."""
        self._send(b"")

    async def _take(self) -> None:
        while True:
            await self._way.opened()
            data = await self._source.read(CHUNK_BYTES)
            await self._way.opened()  # held during the read: this piece waits as well
            if not data:
                if self._way.dropped:
                    await asyncio.Event().wait()  # the end is not passed on either, until the connection is cut
                self._send(b"")
                return
            if not self._way.dropped:
                for piece in self._way.pieces(data):
                    self._send(piece)
            while self._bytes > UNDER_WAY_BYTES:
                await self._change()

    def _send(self, data: bytes) -> None:
        if self._said_all:
            return
        self._said_all = not data
        due = max(self._last_due, asyncio.get_running_loop().time() + self._way.takes_s())
        if self._way.bytes_a_second is not None:
            due += len(data) / self._way.bytes_a_second
        self._last_due = due
        self._bytes += len(data)
        self._under_way.append(_Piece(due, data))
        self._changed.set()

    async def _hand_on(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while not self._under_way:
                await self._change()
            due, data = self._under_way[0]
            if (wait_s := due - loop.time()) > 0:
                await asyncio.sleep(wait_s)
            self._under_way.popleft()
            self._bytes -= len(data)
            self._changed.set()
            if self._way.dropped:
                continue
            if not data:
                self._sink.write_eof()
                return
            self._sink.write(data)
            await self._sink.drain()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()


class _Connection:
    """One client's connection, and the proxy's connection to the server for it."""

    def __init__(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        up: Direction,
        down: Direction,
    ) -> None:
        self._writers = (client[1], server[1])
        self._broken = asyncio.Event()
        self.up = _Pump(up, client[0], server[1])
        self.down = _Pump(down, server[0], client[1])
        for writer in self._writers:
            writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def run(self) -> None:
        """Copy data both ways until both have ended. If one side's connection breaks, reset the other one too."""
        try:
            async with asyncio.TaskGroup() as tasks:
                breaker = tasks.create_task(self._break())
                pumps = (tasks.create_task(self.up.run()), tasks.create_task(self.down.run()))
                await asyncio.wait(pumps)
                breaker.cancel()
        except* OSError:
            for writer in self._writers:
                _reset(writer)
        finally:
            for writer in self._writers:
                writer.close()

    async def _break(self) -> None:
        await self._broken.wait()
        raise ConnectionResetError

    def reset(self) -> None:
        """Reset the connection on both sides."""
        self._broken.set()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection with a reset and discard unsent data, so that the other side sees an error."""
    with suppress(OSError):  # already closed
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()


class Network:
    """A TCP proxy in front of one server; an asynchronous context manager, inside which `address` accepts connections.

    target: HOST:PORT of the server. seed: seed of the jitter. source: the address from which its connections come.
    """

    def __init__(self, target: str, seed: int = 0, source: str | None = None) -> None:
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self._source = (source, 0) if source is not None else None
        dice = random.Random(seed)
        self.up = Direction(dice)
        self.down = Direction(dice)
        self.address = ""  #: HOST:PORT to which clients connect
        self.refusing = False  #: whether new connections are reset at once
        self.taken = 0  #: connections so far
        self._connections: set[_Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        self.address = f"{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.refusing = True
        while self._tasks:
            self.cut()
            await asyncio.wait(self._tasks, timeout=0.1)  # a connection that was just being opened is cut the next time

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._connections)

    def delay(self, each_way_ms: float, jitter_ms: float = 0) -> None:
        """Delay all data that is sent from now on by this many milliseconds, in both directions."""
        for way in (self.up, self.down):
            way.delay_ms, way.jitter_ms = each_way_ms, jitter_ms

    @contextmanager
    def vanished(self) -> Iterator[None]:
        """Discard all data both ways inside the context: each side believes that the other is still there (half-open).

        At the end, the connections of that time are reset, because a byte stream with missing bytes is useless.
        """
        self.up.dropped = self.down.dropped = True
        try:
            yield
        finally:
            self.cut()
            self.up.dropped = self.down.dropped = False

    def cut(self) -> None:
        """Reset every connection, on both sides. New ones are accepted, unless `refusing` is set."""
        for connection in self._connections:
            connection.reset()

    def half_close(self) -> None:
        """Tell the server on every connection that the client sends nothing more; the other direction stays open."""
        for connection in self._connections:
            connection.up.half_close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.taken += 1
        try:
            if self.refusing:
                raise ConnectionResetError
            server = await asyncio.open_connection(self._host, self._port, local_addr=self._source)
        except OSError:  # or there is no server: the client sees a connection reset
            _reset(writer)
            return
        connection = _Connection((reader, writer), server, self.up, self.down)
        self._connections.add(connection)
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)
