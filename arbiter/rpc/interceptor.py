"""The only interceptor: it turns refusals into status codes, and other errors into INTERNAL with a log entry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from inspect import isasyncgenfunction
from typing import Any, TypeAlias

import grpc
from google.protobuf.message import DecodeError
from grpc.aio import AbortError

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal, argument_invalid
from arbiter.rpc.door import Unreadable
from arbiter.service.ports.log import Logger
from arbiter.wire.refusals import refusal_status

GONE_S = 1.0  #: time in which gRPC cancels a call after a failed write, if its client has left

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class RefusalInterceptor(grpc.aio.ServerInterceptor):
    """Wraps every handler, so that servicers simply raise."""

    def __init__(self, limits: Limits, log: Logger) -> None:
        self._limits = limits
        self._log = log

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Return a call's handler, wrapped."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or not str(method).startswith("/arbiter."):
            return handler  # the health and reflection services need no wrapper
        for kind in ("unary_unary", "stream_unary", "unary_stream", "stream_stream"):
            behaviour = getattr(handler, kind)
            if behaviour is not None:
                # Handlers that are no generators write their responses, if they are streams, on their context.
                wrap = self._many if isasyncgenfunction(behaviour) else self._one
                make = getattr(grpc, f"{kind}_rpc_method_handler")
                deserialize = self._bounded(handler.request_deserializer, streamed=kind.startswith("stream"))
                wrapped: Handler = make(
                    wrap(behaviour, str(method)), deserialize, _unless_bytes(handler.response_serializer)
                )
                return wrapped
        return handler

    def _bounded(self, deserialize: Any, streamed: bool) -> Callable[[bytes], Any]:
        """Return a deserializer that returns `Unreadable` for bad messages; see `arbiter.rpc.door.next_message`."""
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

    def _one(self, behaviour: Callable[..., Awaitable[Any]], method: str) -> Callable[..., Awaitable[Any]]:
        async def call(request: Any, context: Any) -> Any:
            try:
                if isinstance(request, Unreadable):
                    raise request.refusal
                return await behaviour(request, context)
            except Exception as error:
                await self._end(error, method, context)

        return call

    def _many(self, behaviour: Callable[..., AsyncGenerator[Any, None]], method: str) -> Callable[..., Any]:
        async def call(request: Any, context: Any) -> AsyncGenerator[Any, None]:
            try:
                if isinstance(request, Unreadable):
                    raise request.refusal
                async with aclosing(behaviour(request, context)) as responses:
                    async for response in responses:
                        yield response
            except Exception as error:
                await self._end(error, method, context)

        return call

    async def _end(self, error: Exception, method: str, context: Any) -> None:
        if isinstance(error, AbortError):
            raise error
        if isinstance(error, Refusal):
            await context.abort_with_status(refusal_status(error))
        if isinstance(error, grpc.aio.InternalError):  # a write failed; if the client has left, gRPC cancels
            await asyncio.sleep(GONE_S)  # this call during the sleep
        self._log.error("call_failed", method=method, exc_info=error)
        await context.abort(grpc.StatusCode.INTERNAL, "the arbiter failed on this call; its log says more")


def _too_large(size: int, unit: str, most: int) -> Unreadable:
    message = f"a message of {size} {unit} is too large: at most {most} are taken"
    return Unreadable(Refusal(Reason.MESSAGE_TOO_LARGE, message, what=size, limit=most))


def _unless_bytes(serialize: Any) -> Callable[[Any], bytes]:
    """Return a serializer that passes bytes through: a handler that sends to many clients serializes once."""
    return lambda message: message if isinstance(message, bytes) else serialize(message)
