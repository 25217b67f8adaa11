"""What all servicers share: the caller's identity, and reading and writing messages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar
from urllib.parse import unquote

import grpc

from arbiter.config import Limits
from arbiter.errors import Refusal
from arbiter.rpc.unread import Unread
from arbiter.rpc.writes import Writes
from arbiter.service.gate.admission import Call
from arbiter.wire.json_messages import JsonBytes

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

#: requests of one stream message to handle before yielding to other tasks: a message may hold a hundred thousand
AT_ONCE = 256

PORTION = 10  #: rows to translate before yielding to other tasks

T = TypeVar("T")
M = TypeVar("M")


class ContextPart(Protocol):
    """The part of gRPC's context (`grpc.aio.ServicerContext`) needed by a call that reads and writes messages."""

    def invocation_metadata(self) -> Iterable[tuple[str, str | bytes]] | None:
        """Return the metadata of the call."""

    def peer(self) -> str:
        """Return the client's address, as gRPC names it."""

    def add_done_callback(self, callback: Any, /) -> None:
        """Add a function to be called with the context at the end of the call."""

    async def send_initial_metadata(self, metadata: tuple[()], /) -> None:
        """Send the headers of the answer."""

    async def read(self) -> Any:
        """Return the client's next message, EOF after the last one."""

    async def write(self, message: Any, /) -> None:
        """Send a message."""


class PlainContext:
    """What is alike in the contexts of calls that gRPC does not carry: who calls, and what to do at the end.

    as_json: whether the client wants messages as JSON.
    """

    as_json = False

    def __init__(self, metadata: Iterable[tuple[str, str]], peer: str) -> None:
        self._metadata = tuple(metadata)
        self._peer = peer
        self._done: list[Callable[[Any], object]] = []

    def invocation_metadata(self) -> Sequence[tuple[str, str]]:
        """Return the metadata of the call."""
        return self._metadata

    def peer(self) -> str:
        """Return the client's address, as gRPC names it."""
        return self._peer

    def add_done_callback(self, callback: Callable[[Any], object], /) -> None:
        """Add a function to be called with the context at the end of the call."""
        self._done.append(callback)

    def end(self) -> None:
        """Call the functions for the end of the call."""
        for callback in self._done:
            callback(self)


class Unreadable(NamedTuple):
    """Takes the place of a message that is too large or cannot be parsed."""

    refusal: Refusal


def call_of(context: ContextPart) -> Call:
    """Return the caller: the secret of the token in the metadata, the address of the peer, and what a proxy says."""
    secret, forwarded = None, []
    for key, value in context.invocation_metadata() or ():
        if key == "authorization" and isinstance(value, str) and secret is None:
            kind, _, rest = value.partition(" ")
            secret = rest.strip() if kind.lower() == "bearer" else ""
        elif key == "x-forwarded-for" and isinstance(value, str):
            forwarded.append(value)
    return Call(secret or None, _address(context), forwarded=",".join(forwarded))


def as_json(context: ContextPart) -> bool:
    """Return whether the client wants messages as JSON."""
    return isinstance(context, PlainContext) and context.as_json


def encoded(content: bytes, context: ContextPart) -> bytes:
    """Return a message that is encoded already; the type says if it is JSON, as `as_json` has asked for."""
    return JsonBytes(content) if as_json(context) else content


class MessageWriter:
    """Writes messages on a call, one after the other, after its headers; see `arbiter.rpc.writes`."""

    def __init__(self, context: ContextPart, unread: Unread, limits: Limits, *, patient: bool = False) -> None:
        self._context = context
        self._writes = Writes(context, unread, limits, patient)
        self._begun = False

    async def begun(self) -> Writes:
        """Send the headers, if that was not done yet; return the writes that can follow."""
        if not self._begun:
            self._begun = True
            await _completed(self._context.send_initial_metadata(()))
        return self._writes

    async def write(self, message: Any) -> None:
        """Write a message. Raises Refusal READER_TOO_SLOW. If it is cancelled, gRPC still sends the message."""
        writes = await self.begun()
        written = asyncio.get_running_loop().create_future()
        writes.begin(message, partial(_tell, written))
        try:
            await written
        finally:
            writes.cancel()


def _tell(written: asyncio.Future[None], error: BaseException | None) -> None:
    if not written.done():
        if error is None:
            written.set_result(None)
        else:
            written.set_exception(error)


async def _completed(work: Awaitable[None]) -> None:
    """Wait until a task has ended, even if the caller is cancelled meanwhile; the cancellation is raised after that.

    gRPC records that it has sent the headers only if that call is not cancelled; otherwise it sends them with the
    status a second time, which fails. Headers do not wait for a reader (RFC 9113, section 5.2: flow control is for
    DATA).
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait((task,))
        if not task.cancelled():
            task.exception()  # the client has left
        raise


def let_end(reading: asyncio.Task[Any]) -> None:
    """Let a task that reads a call's messages end by itself, with the call.

    It must not be cancelled: gRPC writes the message that it reads into memory that belongs to the read (seen in grpcio
    1.85, `ReceiveMessageOperation`), and the cancellation would free that memory.
    """
    if not reading.done():
        _reading.add(reading)
    reading.add_done_callback(_has_ended)


_reading: set[asyncio.Task[Any]] = set()


def _has_ended(reading: asyncio.Task[Any]) -> None:
    _reading.discard(reading)
    if not reading.cancelled():
        reading.exception()  # of a call that is over


async def in_portions(rows: Iterable[M]) -> list[M]:
    """Return the rows of a long answer, each of which is made when it is taken; other tasks run between portions."""
    messages = []
    for number, message in enumerate(rows, 1):
        messages.append(message)
        if not number % PORTION:
            await asyncio.sleep(0)
    return messages


async def next_message(context: ContextPart) -> Any:
    """Return the next message of a stream, or EOF. Raises Refusal for a message that cannot be read."""
    return readable(await context.read())


def readable(message: Any) -> Any:
    """Return a message that was read from a call. Raises its Refusal if it could not be read."""
    if isinstance(message, Unreadable):
        raise message.refusal
    return message


def _address(context: ContextPart) -> str:
    """Return a peer's address: the IP address, or for other transports their kind, such as 'unix:'."""
    kind, _, rest = unquote(context.peer()).partition(":")
    host = rest.rpartition(":")[0].strip("[]")
    return host if kind in ("ipv4", "ipv6") else f"{kind}:{host}"
