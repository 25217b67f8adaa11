"""A minimal HTTP/2 client for one gRPC stream, which costs a fraction of the processor time of the gRPC library.

The driver of a benchmark shares the machine with the server: with the gRPC library on both sides, the clients would
take half of the time. This is not a general client: it has one stream per connection, it sends headers but does not
read them, and it assumes that its data fits into the server's flow-control windows
(RFC 9113; https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, cast

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
ACK = END_STREAM = 1
END_HEADERS = 4
INITIAL_WINDOW_SIZE = 4
HEAD: Final = 9  #: bytes before a frame's content
PREFIX: Final = 5  #: bytes before a message: whether it is compressed, and its length
WINDOW: Final = 2**31 - 1
CANCEL: Final = 8  #: the reason of a reset call
STREAM: Final = 1


class RawCall(asyncio.Protocol):
    """A call with streams in both directions, on its own connection.

    message: callback for each message received. ended: callback for the end of the messages. window: bytes that the
    server may send before `grant` allows it more; by default as many as it likes.

    trailers: whether the server has ended the call with a status. lost: set once the connection is gone.
    """

    def __init__(
        self,
        method: str,
        metadata: Sequence[tuple[str, str]],
        message: Callable[[bytes], None],
        ended: Callable[[], None],
        window: int = WINDOW,
    ) -> None:
        self._headers = _headers(method, metadata)
        self._message = message
        self._ended = ended
        self._transport: asyncio.Transport | None = None
        self._frames = bytearray()
        self._messages = bytearray()
        self._unacknowledged = 0
        self._window = window
        self.trailers = False
        self.lost = asyncio.Event()

    async def connect(self, address: str) -> None:
        """Connect, and send the headers."""
        host, _, port = address.rpartition(":")
        await asyncio.get_running_loop().create_connection(lambda: self, host, int(port))

    def send(self, message: bytes, last: bool = False) -> None:
        """Send a message; after the one marked as last, nothing more is sent."""
        assert self._transport is not None
        size = len(message)
        head = _head(PREFIX + size, DATA, END_STREAM if last else 0, STREAM)
        self._transport.write(b"".join((head, b"\0", size.to_bytes(4, "big"), message)))

    def half_close(self) -> None:
        """Send nothing more, and go on reading."""
        assert self._transport is not None
        self._transport.write(_head(0, DATA, END_STREAM, STREAM))

    def reset(self) -> None:
        """Cancel the call; the connection stays."""
        assert self._transport is not None
        self._transport.write(_frame(RST_STREAM, 0, STREAM, CANCEL.to_bytes(4, "big")))

    def grant(self, more: int) -> None:
        """Let the server send this many bytes more."""
        assert self._transport is not None
        self._transport.write(_frame(WINDOW_UPDATE, 0, STREAM, more.to_bytes(4, "big")))

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()

    # -- callbacks of the event loop --------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Announce the maximum flow-control windows, and begin the call."""
        self._transport = transport = cast("asyncio.Transport", transport)  # uvloop's transport is no subclass
        setting = INITIAL_WINDOW_SIZE.to_bytes(2, "big") + self._window.to_bytes(4, "big")
        transport.write(
            PREFACE
            + _frame(SETTINGS, 0, 0, setting)
            + _frame(WINDOW_UPDATE, 0, 0, (WINDOW - 65_535).to_bytes(4, "big"))
            + _frame(HEADERS, END_HEADERS, STREAM, self._headers)
        )

    def data_received(self, data: bytes) -> None:
        """Process the frames that are complete."""
        frames = self._frames
        frames += data
        start = 0
        while len(frames) >= start + HEAD:
            end = start + HEAD + int.from_bytes(frames[start : start + 3], "big")
            if len(frames) < end:
                break
            self._frame(frames[start + 3], frames[start + 4], frames[start + HEAD : end])
            start = end
        del frames[:start]

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the end of the messages."""
        self.lost.set()
        self._ended()

    # -- frames ----------------------------------------------------------------------------------------------------

    def _frame(self, kind: int, flags: int, content: bytearray) -> None:
        assert self._transport is not None
        if kind == DATA:
            self._data(content)
        elif kind in (SETTINGS, PING) and not flags & ACK:
            self._transport.write(_frame(kind, ACK, 0, bytes(content) if kind == PING else b""))
        elif kind in (RST_STREAM, GOAWAY) or (kind == HEADERS and flags & END_STREAM):
            self.trailers = self.trailers or kind == HEADERS
            self._transport.close()

    def _data(self, content: bytearray) -> None:
        messages = self._messages
        messages += content
        while len(messages) >= PREFIX:
            end = PREFIX + int.from_bytes(messages[1:PREFIX], "big")
            if len(messages) < end:
                break
            message = bytes(messages[PREFIX:end])
            del messages[:end]
            self._message(message)
        self._unacknowledged += len(content)
        if self._window == WINDOW and self._unacknowledged > WINDOW // 2:
            more = self._unacknowledged.to_bytes(4, "big")
            assert self._transport is not None
            self._transport.write(_frame(WINDOW_UPDATE, 0, 0, more) + _frame(WINDOW_UPDATE, 0, STREAM, more))
            self._unacknowledged = 0


def _head(size: int, kind: int, flags: int, stream: int) -> bytes:
    return size.to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big")


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return _head(len(content), kind, flags, stream) + content


def _headers(method: str, metadata: Sequence[tuple[str, str]]) -> bytes:
    """Return header fields as literals that are neither indexed nor compressed (RFC 7541, section 6.2.2)."""
    fields = (
        (":method", "POST"),
        (":scheme", "http"),
        (":path", method),
        (":authority", "bench"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        *metadata,
    )
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in fields)


def _text(text: str) -> bytes:
    data = text.encode()
    assert len(data) < 127, "longer lengths take more bytes"
    return bytes((len(data),)) + data
