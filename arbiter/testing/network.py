"""A network that misbehaves on request: a TCP proxy to stand between a real client and a real server.

    async with Network(server_address) as network:
        channel = grpc.aio.insecure_channel(network.address)
        network.delay(50)            # milliseconds each way: 100 ms of round trip
        network.down.held = True     # nothing more is read from the server
        network.cut()                # every connection is reset; new ones are taken

Each way has its own conditions, `up` from client to server and `down` back; they hold for every connection and may be
changed at any time. What is under way keeps the delay that it set out with, and nothing ever overtakes.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final, NamedTuple, Self

CHUNK_BYTES: Final = 65_536  #: the most read at once
RESET: Final = struct.pack("ii", 1, 0)  #: for SO_LINGER: closing resets
UNDER_WAY_BYTES: Final = 1_048_576  #: the most that is under way in one direction of a connection


class Way:
    """The conditions of one direction.

    delay_ms: how long everything takes. jitter_ms: up to so much more, drawn anew for each piece; order is kept.
    bytes_a_second: bandwidth; None for no limit. held: nothing more is read from the sender, whose buffers fill up;
    what was held goes on once this is False again. dropped: what comes is thrown away, nobody is told, and the ends of
    connections are not passed on either.
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
        """Whether nothing more is read from the sender."""
        return self._held

    @held.setter
    def held(self, held: bool) -> None:
        self._held = held
        if held:
            self._open.clear()
        else:
            self._open.set()

    async def opened(self) -> None:
        """Wait while this way is held."""
        await self._open.wait()

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield data as it sets out: whole, or where bandwidth is limited by a fiftieth of a second's worth."""
        most = len(data) if self.bytes_a_second is None else max(1, int(self.bytes_a_second / 50))
        for start in range(0, len(data), max(1, most)):
            yield data[start : start + most]

    def takes_s(self) -> float:
        """Return how long a piece that sets out now takes, but for its length, in seconds."""
        return (self.delay_ms + self._dice.uniform(0, self.jitter_ms)) / 1000


class _Piece(NamedTuple):
    """Bytes under way, and when they are due; none for the end of what the sender says."""

    due: float
    data: bytes


class _Pump:
    """One direction of one connection: takes what one side says, and hands it to the other when it is due."""

    def __init__(self, way: Way, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        self._way = way
        self._source = source
        self._sink = sink
        self._under_way: deque[_Piece] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()
        self._last_due = 0.0
        self._said_all = False

    async def run(self) -> None:
        """Pump until the sender has said all and it has arrived. Raises OSError if the connection breaks."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._take())
            tasks.create_task(self._hand_on())

    def half_close(self) -> None:
        """Tell the receiver, after what is under way, that the sender says nothing more; drop what it says still."""
        self._send(b"")

    async def _take(self) -> None:
        while True:
            await self._way.opened()
            data = await self._source.read(CHUNK_BYTES)
            await self._way.opened()  # held while it was read: it waits as well
            if not data:
                if self._way.dropped:
                    await asyncio.Event().wait()  # nobody is told of the end either, until the connection is cut
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
    """One client's connection, and ours to the server on its behalf."""

    def __init__(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        up: Way,
        down: Way,
    ) -> None:
        self._writers = (client[1], server[1])
        self._broken = asyncio.Event()
        self.up = _Pump(up, client[0], server[1])
        self.down = _Pump(down, server[0], client[1])
        for writer in self._writers:
            writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def run(self) -> None:
        """Pump both ways until both are over; a connection that breaks on one side breaks on the other."""
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
        """Break the connection off on both sides, without a goodbye."""
        self._broken.set()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection at once with a reset, dropping what is still to be sent: the other side sees an error."""
    with suppress(OSError):  # it is closed already
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()


class Network:
    """A TCP proxy before one server; an asynchronous context manager, inside which `address` takes connections.

    target: HOST:PORT of the server. seed: of the jitter.
    """

    def __init__(self, target: str, seed: int = 0) -> None:
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        dice = random.Random(seed)
        self.up = Way(dice)
        self.down = Way(dice)
        self.address = ""  #: HOST:PORT to connect to
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

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.refusing = True
        while self._tasks:
            self.cut()
            await asyncio.wait(self._tasks, timeout=0.1)  # one that was just being made is cut the next time

    @property
    def connections(self) -> int:
        """How many connections there are now."""
        return len(self._connections)

    def delay(self, each_way_ms: float, jitter_ms: float = 0) -> None:
        """Let everything that sets out from now on take so long, in either direction."""
        for way in (self.up, self.down):
            way.delay_ms, way.jitter_ms = each_way_ms, jitter_ms

    @contextmanager
    def vanished(self) -> Iterator[None]:
        """Drop everything both ways while the context lasts: each side takes the other to be there (half-open).

        At its end the connections of that time are cut: a stream of bytes with a hole in it is of no use.
        """
        self.up.dropped = self.down.dropped = True
        try:
            yield
        finally:
            self.cut()
            self.up.dropped = self.down.dropped = False

    def cut(self) -> None:
        """Reset every connection, on both sides. New ones are taken, unless `refusing`."""
        for connection in self._connections:
            connection.reset()

    def half_close(self) -> None:
        """Tell the server on every connection that the client says nothing more; the way down stays open."""
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
            server = await asyncio.open_connection(self._host, self._port)
        except OSError:  # or there is no server: the client sees its connection reset
            _reset(writer)
            return
        connection = _Connection((reader, writer), server, self.up, self.down)
        self._connections.add(connection)
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)
