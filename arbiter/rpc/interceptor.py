"""The only interceptor: it turns refusals into status codes, and other errors into INTERNAL with a log entry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, TypeAlias

import grpc
from google.protobuf.message import DecodeError
from grpc.aio import AbortError
from grpc_reflection.v1alpha import reflection
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal, RulesAwaited, argument_invalid, failure_of
from arbiter.rpc.servicing import Unreadable, call_of
from arbiter.rpc.unread import Unread
from arbiter.service.gate.turns import Turns
from arbiter.service.ports.log import Logger
from arbiter.service.ports.meter import NO_METER, Meter
from arbiter.wire.refusal_messages import refusal_status

GONE_S = 1.0  #: time in which gRPC cancels a call after a failed write, if its client has left

ENDED_BY_US: Final = frozenset(
    {
        Reason.SESSION_SUPERSEDED,
        Reason.SESSION_SILENT,
        Reason.READER_TOO_SLOW,
        Reason.DRAINING,
        Reason.STORE_UNAVAILABLE,
    }
)
"""With these a stream ends that the server has accepted. All other refusals wait for their turn."""

PLAY: Final = frozenset(
    {
        "/arbiter.v1.PlayService/Play",
        *(
            f"/arbiter.v1.MatchService/{name}"
            for name in ("SubmitMove", "SubmitMoves", "OfferDraw", "AnswerDraw", "ClaimDraw", "Resign")
        ),
    }
)
"""The calls by which players play. They go on at once, unless they are refused; all others take turns."""

REFLECTION: Final = f"/{reflection.SERVICE_NAME}/ServerReflectionInfo"

FOR_ALL: Final = {"/grpc.health.v1.Health/Watch": "health", REFLECTION: "reflection"}
"""Streams for which nobody needs a token, and their kind. An address may hold as many of a kind as a player."""

CHARGED_STREAMS: Final = frozenset({"/arbiter.v1.GameService/LegalMoves"})
"""Streams whose time counts as calls. The others, of events and files, have limits of their own."""

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class _NotThere(Exception):
    """A call is for a method that this server does not have."""


async def _not_there(_request: Any, _context: Any) -> None:
    raise _NotThere


class RefusalInterceptor(grpc.aio.ServerInterceptor):
    """Wraps every handler, so that servicers simply raise, and all but play takes its turns."""

    def __init__(
        self,
        limits: Limits,
        unread: Unread,
        turns: Turns,
        log: Logger,
        meter: Meter = NO_METER,
    ) -> None:
        self._limits = limits
        self._unread = unread
        self._turns = turns
        self._log = log
        self._meter = meter

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Return a call's handler, wrapped."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None:
            call = _Call(_not_there, str(method), self._unread, self._turns, self._log, self._meter)
            return grpc.stream_stream_rpc_method_handler(call.stream)
        for kind in ("unary_unary", "stream_unary", "unary_stream", "stream_stream"):
            behaviour = getattr(handler, kind)
            if behaviour is not None:
                # Handlers of streams write on their context, and return when all is written.
                if method == REFLECTION:
                    behaviour = _writing(behaviour)
                call = _Call(behaviour, str(method), self._unread, self._turns, self._log, self._meter)
                make = getattr(grpc, f"{kind}_rpc_method_handler")
                deserialize = self._bounded(handler.request_deserializer, streamed=kind.startswith("stream"))
                serialize = _unless_bytes(handler.response_serializer)
                if kind.endswith("_stream"):
                    wrapped: Handler = make(call.stream, deserialize, serialize)
                else:
                    wrapped = make(call.unary, deserialize, call.counting(serialize))
                return wrapped
        return handler

    def _bounded(self, deserialize: Any, streamed: bool) -> Callable[[bytes], Any]:
        """Return a deserializer with `Unreadable` for bad messages; see `arbiter.rpc.servicing.next_message`."""
        most_bytes, most_items = self._limits.message_bytes, self._limits.message_items

        def read(data: bytes) -> Any:
            if len(data) > most_bytes:
                return _too_large(len(data), "bytes", most_bytes)
            try:
                message = deserialize(data)
            except DecodeError:
                return Unreadable(
                    argument_invalid(f"{len(data)} bytes", "the request", "a message of this call's type")
                )
            # A message's items are handled without a pause while others wait. An item takes at least two bytes.
            if streamed and len(data) > most_items:
                for field, value in message.ListFields():
                    if field.is_repeated and len(value) > most_items:
                        return _too_large(len(value), field.name, most_items)
            return message

        return read


class _Call:
    """One call: its handler, wrapped."""

    def __init__(
        self,
        behaviour: Callable[..., Awaitable[Any]],
        method: str,
        unread: Unread,
        turns: Turns,
        log: Logger,
        meter: Meter,
    ) -> None:
        self._behaviour = behaviour
        self._method = method
        self._unread = unread
        self._turns = turns
        self._log = log
        self._meter = meter
        self._context: Any = None

    async def unary(self, request: Any, context: Any) -> Any:
        """Return the answer."""
        self._context = context
        if self._method in PLAY:
            return await self._answered(request, context)
        return await self._turns.in_turn(call_of(context), self._answered(request, context), charged=True)

    async def _answered(self, request: Any, context: Any) -> Any:
        try:
            async with self._turns.waiting():
                return await self._answer(request, context)
        except Exception as error:
            await self._end(error, context)

    async def _answer(self, request: Any, context: Any) -> Any:
        if isinstance(request, Unreadable):
            raise request.refusal
        if self._method in FOR_ALL:
            with self._turns.for_all(call_of(context), FOR_ALL[self._method]):
                return await self._behaviour(request, context)
        return await self._behaviour(request, context)

    def counting(self, serialize: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
        """Return a serializer of the answer, which notes that it is about to be sent."""

        def counted(message: Any) -> bytes:
            answer = serialize(message)
            self._unread.end_began(self._context, len(answer))
            return answer

        return counted

    async def stream(self, request: Any, context: Any) -> None:
        """Write a stream of answers to its end."""
        if self._method in PLAY:
            await self._written(request, context)
        else:
            charged = self._method in CHARGED_STREAMS
            await self._turns.in_turn(call_of(context), self._written(request, context), charged=charged)

    async def _written(self, request: Any, context: Any) -> None:
        try:
            await self._answer(request, context)
        except Exception as error:
            await self._end(error, context)
        self._unread.end_began(context)

    async def _end(self, error: Exception, context: Any) -> None:
        if isinstance(error, AbortError):
            raise error
        if isinstance(error, RulesAwaited):
            error = error.refusal()
        if isinstance(error, grpc.aio.InternalError):  # a write failed; if the client has left, gRPC cancels
            await asyncio.sleep(GONE_S)  # this call during the sleep
        if isinstance(error, _NotThere) or (isinstance(error, Refusal) and error.reason not in ENDED_BY_US):
            error.__traceback__ = None  # what the call has used is free while it waits
            await self._turns.in_turn(call_of(context), self._refuse(error, context))
        else:
            await self._tell(error, context)

    async def _refuse(self, refusal: Exception, context: Any) -> None:
        """End a call with a refusal when its caller may hear of it."""
        await self._turns.refusing(call_of(context))
        await self._tell(refusal, context)

    async def _tell(self, error: Exception, context: Any) -> None:
        """End a call with a refusal or a failure."""
        self._unread.end_began(context)
        try:
            if isinstance(error, Refusal):
                self._meter.refused(error)
                await context.abort_with_status(refusal_status(error))
            if isinstance(error, _NotThere):
                await context.abort(grpc.StatusCode.UNIMPLEMENTED, "this server has no such method")
            self._log.error("call_failed", method=self._method, exc_info=error)
            await context.abort(grpc.StatusCode.INTERNAL, failure_of(error))
        except grpc.aio.InternalError:  # the status can't be sent, since the client has left: gRPC learns of it
            await asyncio.sleep(GONE_S)  # during the sleep
            raise


def _writing(behaviour: Callable[[Any, Any], AsyncIterator[Any]]) -> Callable[[Any, Any], Awaitable[None]]:
    """Return a handler that writes what a handler of the library yields. A message that is none asks for nothing."""

    async def write_all(requests: AsyncIterator[Any], context: Any) -> None:
        async def asked() -> AsyncIterator[Any]:
            async for request in requests:
                yield ServerReflectionRequest() if isinstance(request, Unreadable) else request

        async for answer in behaviour(asked(), context):
            await context.write(answer)

    return write_all


def _too_large(size: int, unit: str, most: int) -> Unreadable:
    message = f"a message of {size} {unit} is too large: at most {most} are taken"
    return Unreadable(Refusal(Reason.MESSAGE_TOO_LARGE, message, what=size, limit=most))


def _unless_bytes(serialize: Any) -> Callable[[Any], bytes]:
    """Return a serializer that passes bytes through: a handler that sends to many clients serializes once."""
    return lambda message: message if isinstance(message, bytes) else serialize(message)
