"""Connections to the page are accepted one by one, as a step in the background, within the page's part of the time.

A connection beyond the limits gets no more than that: no transport, no handshake, and nothing is read of it. It is held
for a while before it is closed, so that a client that opens it again and again waits.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable
from typing import Final

from arbiter.config import Limits
from arbiter.service.background import Background
from arbiter.service.gate.addresses import Proxies, counted_as
from arbiter.service.token_bucket import SECOND_MS, TokenBuckets
from arbiter.web.visits import BURST_S, PageTime

HELD_S: Final = 2.0  #: how long a connection beyond the limits is held
FULL_S: Final = 1.0  #: until the system is asked again after it had no room for one more connection
FULL: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
HANDSHAKE_S: Final = 0.002  #: of a processor, which a handshake of TLS counts for


class OpenConnections:
    """Counts the open connections, in all and of each address. `proxies`: of these each may have any number.

    held: connections beyond the limits; there are no more of them than of the others.
    """

    def __init__(self, limits: Limits, proxies: Proxies) -> None:
        self.held: dict[socket.socket, asyncio.TimerHandle] = {}
        self._most = limits.page_connections
        self._most_of_address = limits.page_connections_of_address
        self._proxies = proxies
        self._count = 0
        self._of: dict[str, int] = {}
        requests = BURST_S * limits.page_requests_a_second
        self._new = TokenBuckets(requests, BURST_S * SECOND_MS, "connections from one address")

    def open(self, host: str, now_ms: int) -> str | None:
        """Count one more connection and return the address under which it is counted; None if it may not stay."""
        address = counted_as(host)
        own = self._of.get(address, 0)
        if self._count >= self._most:
            return None
        if host not in self._proxies and (own >= self._most_of_address or self._new.take(address, now_ms)):
            return None
        self._count += 1
        self._of[address] = own + 1
        return address

    def hold(self, connection: socket.socket) -> None:
        """Hold a connection beyond the limits for a while, or close it if there are too many of them."""
        if len(self.held) < self._most:
            self.held[connection] = asyncio.get_running_loop().call_later(HELD_S, self._let_go, connection)
        else:
            connection.close()

    def close(self, address: str) -> None:
        """Count one connection of an address less."""
        self._count -= 1
        self._of[address] -= 1
        if not self._of[address]:
            del self._of[address]

    def close_held(self) -> None:
        """Close the connections that are held."""
        for connection in list(self.held):
            self._let_go(connection)

    def _let_go(self, connection: socket.socket) -> None:
        self.held.pop(connection).cancel()
        connection.close()


class Accepting:
    """Accepts connections. make: returns the protocol of a connection that counts for an address."""

    def __init__(
        self,
        listening: socket.socket,
        tls: ssl.SSLContext | None,
        connections: OpenConnections,
        make: Callable[[str], asyncio.Protocol],
        time: PageTime,
        background: Background,
    ) -> None:
        self._listening = listening
        self._tls = tls
        self._connections = connections
        self._make = make
        self._time = time
        self._background = background
        self._beginning: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Accept connections without end."""
        try:
            await self._background.run(self._accept(), "connections", self._time.charge, self._time.turn)
        finally:
            self._connections.close_held()
            for task in self._beginning:
                task.cancel()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, place = await loop.sock_accept(self._listening)
            except OSError as error:
                await asyncio.sleep(FULL_S if error.errno in FULL else 0)  # otherwise it has gone already
                continue
            host = place[0] if isinstance(place, tuple) else ""
            address = self._connections.open(host, int(loop.time() * SECOND_MS))
            if address is None:
                self._connections.hold(connection)
            else:
                task = asyncio.create_task(self._begin(connection, address))
                self._beginning.add(task)
                task.add_done_callback(self._beginning.discard)
            await asyncio.sleep(0)

    async def _begin(self, connection: socket.socket, address: str) -> None:
        """Have the protocol serve a connection, after a handshake if there is TLS."""
        loop = asyncio.get_running_loop()
        if self._tls is not None:
            self._time.charge(HANDSHAKE_S)
        try:
            await loop.connect_accepted_socket(lambda: self._make(address), connection, ssl=self._tls)
        except (OSError, TimeoutError):  # the handshake has failed: the protocol has not heard of the connection
            self._connections.close(address)
