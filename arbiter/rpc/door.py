"""What all servicers share: the caller's identity, and reading and writing messages."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

import grpc

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.service.gate.admission import Call

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

#: requests of one stream message to handle before yielding to other tasks: a message may hold a hundred thousand
AT_ONCE = 256


class Unreadable(NamedTuple):
    """Takes the place of a message that is too large or cannot be parsed."""

    refusal: Refusal


def call_of(context: Context) -> Call:
    """Return the caller: the secret of the token in the metadata, and the address of the peer."""
    return Call(_token(context), _address(context))


async def send(context: Context, message: Any, limits: Limits) -> None:
    """Send a part of an answer. Raises Refusal READER_TOO_SLOW if the client reads nothing of it for too long."""
    try:
        async with asyncio.timeout(limits.silence_ms / 1000):
            await context.write(message)
    except TimeoutError:
        raise Refusal(
            Reason.READER_TOO_SLOW,
            f"nothing of this answer was read for {limits.silence_ms} ms: ask again, and read it",
            resume_from="",
        ) from None


class Writer:
    """Writes messages on a call, one after the other.

    gRPC cannot send a status while a write is pending. So before a call ends, `settled` waits until the pending write
    has been read, or the client has left. After that nothing more is written.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._idle = asyncio.Event()
        self._idle.set()
        self._ending = False

    async def write(self, message: Any) -> None:
        """Write a message. If the call is ending, wait to be cancelled instead."""
        if self._ending:
            await asyncio.Event().wait()
        self._idle.clear()
        try:
            await self._context.write(message)
        finally:
            self._idle.set()

    async def settled(self) -> None:
        """Wait until no write is pending, and start no other."""
        self._ending = True
        await self._idle.wait()


async def next_message(context: Context) -> Any:
    """Return the next message of a stream, or EOF. Raises Refusal for a message that cannot be read."""
    message = await context.read()
    if isinstance(message, Unreadable):
        raise message.refusal
    return message


def _token(context: Context) -> str | None:
    for key, value in context.invocation_metadata() or ():
        if key == "authorization" and isinstance(value, str):
            kind, _, secret = value.partition(" ")
            return secret.strip() if kind.lower() == "bearer" else None
    return None


def _address(context: Context) -> str:
    """Return a peer's address: the IP address, or for other transports their kind, such as 'unix:'."""
    kind, _, rest = unquote(context.peer()).partition(":")
    host = rest.rpartition(":")[0].strip("[]")
    return host if kind in ("ipv4", "ipv6") else f"{kind}:{host}"
