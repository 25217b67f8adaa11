"""Data that clients have not read yet: messages and ends of calls that wait in gRPC for flow control.

gRPC holds a message, and the status behind it, until the client reads (RFC 9113, section 5.2). Its asyncio server has
no way to reset a call, so it would keep the data of a client that never reads without end. There are two limits: a time
after which a client that has not read the end of a call loses its connection, and a total of bytes that may wait.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from functools import partial
from typing import Any

from arbiter.config import Limits
from arbiter.service.ports.log import Logger


def _let_go(context: Any) -> None:
    """Break the circles in which gRPC holds a call that is over.

    The state of a call holds its callbacks, each of which holds the call's context, and that the state. It also holds
    the error that has ended the call, whose traceback holds all frames, and these the context. Without this, only the
    garbage collector would free what a call has used: twenty objects, and of a refused one fifty. gRPC has no names for
    these parts (seen in grpcio 1.85: `RPCState.callbacks`, `RPCState.abort_exception`).
    """
    for state in gc.get_referents(context):
        for held in gc.get_referents(state):
            if isinstance(held, BaseException):
                held.__traceback__ = held.__context__ = None
            elif isinstance(held, list) and all(isinstance(each, partial) for each in held):
                held.clear()


class _Connection:
    """The unread data of one connection. `closing`: it is being closed, which will free its bytes."""

    __slots__ = ("closing", "size", "waiting")

    def __init__(self) -> None:
        self.size = self.waiting = 0
        self.closing = False


class Pending:
    """A unit of unread data: its size in bytes, and `overdue`, which is called if it waits too long.

    since: the instant of the event loop since which it waits, if that has a limit.
    """

    __slots__ = ("overdue", "peer", "since", "size")

    def __init__(self, peer: str, size: int, overdue: Callable[[], object] | None) -> None:
        self.peer = peer
        self.size = size
        self.since = 0.0
        self.overdue = overdue


class Unread:
    """The unread data of all connections. `close` closes the connection of a peer, given as gRPC names it."""

    def __init__(self, limits: Limits, close: Callable[[str], object], log: Logger) -> None:
        self._patience_s = limits.silence_ms / 1000
        self._most = limits.unread_bytes
        self._close = close
        self._log = log
        self._connections: dict[str, _Connection] = {}
        self._in_time: dict[Pending, None] = {}  # data with a time limit, in the order of the limits
        self._alarm: asyncio.TimerHandle | None = None
        self.size = 0  #: unread bytes, except those of connections that are being closed

    def __len__(self) -> int:
        return sum(connection.waiting for connection in self._connections.values())

    def began(self, peer: str, size: int, overdue: Callable[[], object] | None) -> Pending:
        """Count data that waits from now on. `overdue`: called if it still waits after `silence_ms`."""
        pending = Pending(peer, size, overdue)
        connection = self._connections.get(peer)
        if connection is None:
            connection = self._connections[peer] = _Connection()
        connection.waiting += 1
        connection.size += size
        if not connection.closing:
            self.size += size
            if self.size > self._most:
                self._make_room()
        if overdue is not None:
            loop = asyncio.get_running_loop()
            pending.since = loop.time()
            self._in_time[pending] = None
            if self._alarm is None:
                self._alarm = loop.call_at(pending.since + self._patience_s, self._look)
        return pending

    def ended(self, pending: Pending) -> None:
        """Count data as read or dropped."""
        connection = self._connections[pending.peer]
        connection.waiting -= 1
        connection.size -= pending.size
        if not connection.closing:
            self.size -= pending.size
        if not connection.waiting:
            del self._connections[pending.peer]
        if pending.overdue is not None:
            self._in_time.pop(pending, None)

    def end_began(self, context: Any, size: int = 0) -> None:
        """Count the end of a call: its client has to read it within `silence_ms`, or loses its connection."""
        peer: str = context.peer()
        pending = self.began(peer, size, lambda: self.close(peer, "the end of a call was not read"))

        def over(context: Any) -> None:
            self.ended(pending)
            asyncio.get_running_loop().call_soon(_let_go, context)  # after gRPC's own last step, and other callbacks

        context.add_done_callback(over)

    def close(self, peer: str, why: str) -> None:
        """Close a connection, and log it."""
        connection = self._connections.get(peer)
        if connection is not None and not connection.closing:
            connection.closing = True
            self.size -= connection.size
            self._log.warning("connection_closed", peer=peer, why=why, unread_bytes=connection.size)
            self._close(peer)

    def _make_room(self) -> None:
        """Close the connection with the most unread bytes."""
        peer = max(
            (peer for peer, connection in self._connections.items() if not connection.closing),
            key=lambda peer: self._connections[peer].size,
        )
        self.close(peer, f"more than {self._most} bytes wait to be read, most of them on this connection")

    def _look(self) -> None:
        self._alarm = None
        loop = asyncio.get_running_loop()
        while self._in_time:
            first = next(iter(self._in_time))
            due = first.since + self._patience_s
            if due > loop.time():
                self._alarm = loop.call_at(due, self._look)
                return
            del self._in_time[first]
            assert first.overdue is not None
            first.overdue()
