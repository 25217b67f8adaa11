"""What all servicers share: who calls, from where, and messages that are read and written."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

import grpc

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.service.gate.admission import Call

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

AT_ONCE = 256  #: requests of one message of a stream, before others have their turn: it may hold a hundred thousand


class Unreadable(NamedTuple):
    """Stands for a message that is too large, or none at all."""

    refusal: Refusal


def call_of(context: Context) -> Call:
    """Return who calls: the secret of the token in the metadata, and the address of the peer."""
    return Call(_token(context), _address(context))


async def send(context: Context, message: Any, limits: Limits) -> None:
    """Send a part of an answer. Raises Refusal READER_TOO_SLOW if nothing of what was sent is read for long."""
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
    """Writes on a call, one message after the other.

    gRPC takes no status while a message is under way. So before a call ends, `settled` waits until what was begun has
    been read, or its client has left; nothing more is written then.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._idle = asyncio.Event()
        self._idle.set()
        self._ending = False

    async def write(self, message: Any) -> None:
        """Write a message; once the call ends, wait to be cancelled instead."""
        if self._ending:
            await asyncio.Event().wait()
        self._idle.clear()
        try:
            await self._context.write(message)
        finally:
            self._idle.set()

    async def settled(self) -> None:
        """Wait until no message is under way, and begin no other."""
        self._ending = True
        await self._idle.wait()


async def next_message(context: Context) -> Any:
    """Return the next message of a stream, or EOF. Raises Refusal for one that could not be read."""
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
    """Return where a call comes from: an IP address, and of anything else what kind it is, as 'unix:'."""
    kind, _, rest = unquote(context.peer()).partition(":")
    host = rest.rpartition(":")[0].strip("[]")
    return host if kind in ("ipv4", "ipv6") else f"{kind}:{host}"
