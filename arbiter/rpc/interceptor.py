"""The one interceptor: refusals become statuses, accidents become INTERNAL with a line in the log."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from inspect import isasyncgenfunction
from typing import Any, TypeAlias

import grpc
import structlog
from google.protobuf.message import DecodeError
from grpc.aio import AbortError

from arbiter.errors import Reason, Refusal
from arbiter.rpc.door import Unreadable
from arbiter.service.accounts import invalid
from arbiter.wire.refusals import refusal_status

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class RefusalInterceptor(grpc.aio.ServerInterceptor):
    """Wraps every handler, so that servicers just raise."""

    def __init__(self, message_bytes: int) -> None:
        self._message_bytes = message_bytes
        self._log = structlog.get_logger("arbiter.rpc")

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Return the handler of a call, wrapped."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or not str(method).startswith("/arbiter."):
            return handler  # health and reflection look after themselves
        for kind in ("unary_unary", "stream_unary", "unary_stream", "stream_stream"):
            behaviour = getattr(handler, kind)
            if behaviour is not None:
                # Handlers that are no generators write their answers, if they are many, on their context.
                wrap = self._many if isasyncgenfunction(behaviour) else self._one
                make = getattr(grpc, f"{kind}_rpc_method_handler")
                deserialize = self._bounded(handler.request_deserializer)
                wrapped: Handler = make(wrap(behaviour, str(method)), deserialize, handler.response_serializer)
                return wrapped
        return handler

    def _bounded(self, deserialize: Any) -> Callable[[bytes], Any]:
        """Return a deserializer that gives what can't be read a name; see `arbiter.rpc.door.next_message`."""
        most = self._message_bytes

        def read(data: bytes) -> Any:
            if len(data) > most:
                message = f"a message of {len(data)} bytes is too large: at most {most} are taken"
                return Unreadable(Refusal(Reason.MESSAGE_TOO_LARGE, message, what=len(data), limit=most))
            try:
                return deserialize(data)
            except DecodeError:
                return Unreadable(invalid(f"{len(data)} bytes", "the request", "a message of this call's type"))

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
        self._log.error("call_failed", method=method, exc_info=error)
        await context.abort(grpc.StatusCode.INTERNAL, "the arbiter failed on this call; its log says more")
