"""Connections of browsers: each request has to arrive in time, header and body together.

uvicorn waits for the rest of a request for as long as the connection is open, and connections are limited: some that
send a byte now and then would take them all.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

ARRIVING: Final = (h11.IDLE, h11.SEND_BODY)  #: states of a client whose request is not here yet, or not all of it
STATUS: Final = 408
MESSAGE: Final = b"The rest of this request did not arrive in time: send it again"


class Connection(H11Protocol):
    """A connection that is closed if a request does not arrive in time. Between requests keep-alive bounds the wait."""

    patience_s: ClassVar[float]

    _deadline: asyncio.TimerHandle | None = None

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
