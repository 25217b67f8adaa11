"""Connections of browsers: their number, a time limit for requests and answers, direct writes of event streams.

uvicorn waits without a limit for the rest of a request, and for a client that does not read its answer. The number of
connections is limited (`arbiter.web.accepting`), so clients that send one byte from time to time, or read none, would
occupy them all.

Events for a thousand browsers are written directly to their connections: through the layers of ASGI it would take ten
times as long. The scope of a request has a `Direct` for that, as the extension `DIRECT`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, Final

import h11
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from arbiter.web.channels import Message as Sent

ARRIVING: Final = (h11.IDLE, h11.SEND_BODY)  #: states of a client whose request has not arrived completely
STATUS: Final = 408
MESSAGE: Final = b"The rest of this request did not arrive in time: send it again"
DIRECT: Final = "arbiter.direct"


class Direct:
    """Writes to a response without ASGI. The response has no content length, and its header has been sent."""

    def __init__(self, connection: BrowserConnection) -> None:
        self._transport = connection.transport
        self._flow = connection.flow
        self._in_chunks = connection.conn.their_http_version != b"1.0"  # h11 makes chunks in the same case

    @property
    def is_behind(self) -> bool:
        return self._flow.write_paused

    async def drained(self) -> None:
        """Wait until most of the written bytes have been sent."""
        await self._flow.drain()

    def write(self, message: Sent) -> None:
        if not self._transport.is_closing():
            self._transport.write(message.chunk if self._in_chunks else message.plain)

    def abort(self) -> None:
        """Close the connection at once, in the middle of a response: its reader learns that it is not complete."""
        self._transport.abort()


async def disconnected(receive: Receive) -> None:
    """Wait until the browser has disconnected, or its response is complete."""
    while (await receive())["type"] != "http.disconnect":
        pass


class BrowserConnection(H11Protocol):
    """A connection that is closed if a request is too slow, or an answer is not read for as long.

    Between requests, keep-alive limits the wait. closed: is called at its end.
    """

    patience_s: ClassVar[float]

    closed: Callable[[], object] | None = None
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._pages = self.app
        self.app = self._answered

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {DIRECT: Direct(self)}
        cycle = self.cycle

        async def send_if_open(message: Message) -> None:
            await self.flow.drain()
            cycle.disconnected = cycle.disconnected or self._is_closed()  # then nothing is sent
            await send(message)

        try:
            await self._pages(scope, receive, send_if_open)
        except asyncio.CancelledError:  # the server stops, and this answer would last longer
            cycle.disconnected = True
            self.transport.abort()

    def _is_closed(self) -> bool:
        """Return whether the connection is closed. uvicorn may not know it yet, or may never hear of it."""
        if self.transport.is_closing():
            return True
        try:
            self.transport.write(b"")
        except RuntimeError:  # from uvloop
            return True
        return False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the class above
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the wait."""
        self._wait_no_more()
        self._read_on()
        if self.closed is not None:
            self.closed()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start to wait for a client that does not read."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self.patience_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Write on, since the client has read."""
        self._read_on()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request. The time limit stays the same: it is that of the whole request."""
        super().data_received(data)
        if self.conn.their_state in ARRIVING and not self.transport.is_closing():
            self._wait()
        else:
            self._wait_no_more()

    def _read_on(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.patience_s, self._late)

    def _wait_no_more(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        """Close the connection. Answer 408 first if a part of a request has arrived and no answer has begun."""
        if self.transport.is_closing():
            return
        waited_for = self.conn.their_state is h11.SEND_BODY  # the application has the header, and waits for the body
        if (waited_for or self.conn.trailing_data[0]) and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            length = str(len(MESSAGE)).encode()
            headers = [
                (b"content-type", b"text/plain; charset=utf-8"),
                (b"content-length", length),
                (b"connection", b"close"),
            ]
            for event in (
                h11.Response(status_code=STATUS, headers=headers, reason=b"Request Timeout"),
                h11.Data(data=MESSAGE),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        if waited_for:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()
