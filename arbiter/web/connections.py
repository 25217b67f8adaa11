"""Connections of browsers: each request has to arrive in time, and a stream of events is written without detours.

uvicorn waits for the rest of a request for as long as the connection is open, and connections are limited: some that
send a byte now and then would take them all.

What is told to a thousand browsers goes straight to their connections: through the layers of ASGI it would take ten
times as long. For that, the scope of a request has `Direct` as the extension `DIRECT`.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Final

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from arbiter.web.channels import Message

ARRIVING: Final = (h11.IDLE, h11.SEND_BODY)  #: states of a client whose request is not here yet, or not all of it
STATUS: Final = 408
MESSAGE: Final = b"The rest of this request did not arrive in time: send it again"
DIRECT: Final = "arbiter.direct"


class Direct:
    """Writes parts of an answer of no stated length whose header has been sent, beside ASGI."""

    def __init__(self, connection: Connection) -> None:
        self._transport = connection.transport
        self._flow = connection.flow
        self._in_chunks = connection.conn.their_http_version != b"1.0"  # as h11 frames such an answer

    @property
    def is_behind(self) -> bool:
        """Whether much that was written has not been sent yet."""
        return self._flow.write_paused

    async def drained(self) -> None:
        """Wait until what was written has been sent, but for a little."""
        await self._flow.drain()

    def write(self, told: Message) -> None:
        """Write a message; it is sent as soon as the network takes it."""
        if not self._transport.is_closing():
            self._transport.write(told.chunk if self._in_chunks else told.plain)


class Connection(H11Protocol):
    """A connection that is closed if a request does not arrive in time. Between requests keep-alive bounds the wait."""

    patience_s: ClassVar[float]

    _deadline: asyncio.TimerHandle | None = None

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._pages = self.app
        self.app = self._with_direct

    async def _with_direct(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {DIRECT: Direct(self)}
        await self._pages(scope, receive, send)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the class above
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request. Whatever its size, the time for the rest goes on."""
        super().data_received(data)
        if self.conn.their_state in ARRIVING and not self.transport.is_closing():
            self._wait()
        else:
            self._wait_no_more()

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.patience_s, self._late)

    def _wait_no_more(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        """Close the connection; say why, where a part of a request has come and nothing was answered."""
        if self.transport.is_closing():
            return
        waited_for = self.conn.their_state is h11.SEND_BODY  # by what answers it, which has its header
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
