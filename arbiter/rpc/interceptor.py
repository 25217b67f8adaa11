"""The one interceptor: refusals become statuses, accidents become INTERNAL with a line in the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import grpc
import structlog
from grpc.aio import AbortError

from arbiter.errors import Refusal
from arbiter.wire.refusals import refusal_status

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class RefusalInterceptor(grpc.aio.ServerInterceptor):
    """Wraps every handler, so that servicers just raise."""

    def __init__(self) -> None:
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
        for kind, wrap in (
            ("unary_unary", self._one),
            ("stream_unary", self._one),
            ("unary_stream", self._many),
            ("stream_stream", self._one),  # these handlers read and write on their context
        ):
            behaviour = getattr(handler, kind)
            if behaviour is not None:
                make = getattr(grpc, f"{kind}_rpc_method_handler")
                wrapped: Handler = make(
                    wrap(behaviour, str(method)), handler.request_deserializer, handler.response_serializer
                )
                return wrapped
        return handler

    def _one(self, behaviour: Callable[..., Awaitable[Any]], method: str) -> Callable[..., Awaitable[Any]]:
        async def call(request: Any, context: Any) -> Any:
            try:
                return await behaviour(request, context)
            except Exception as error:
                await self._end(error, method, context)

        return call

    def _many(self, behaviour: Callable[..., AsyncIterator[Any]], method: str) -> Callable[..., AsyncIterator[Any]]:
        async def call(request: Any, context: Any) -> AsyncIterator[Any]:
            try:
                async for response in behaviour(request, context):
                    yield response
            except Exception as error:
                await self._end(error, method, context)

        return call

    async def _end(self, error: Exception, method: str, context: Any) -> None:
        if isinstance(error, AbortError | asyncio.CancelledError):
            raise error
        if isinstance(error, Refusal):
            await context.abort_with_status(refusal_status(error))
        self._log.error("call_failed", method=method, exc_info=error)
        await context.abort(grpc.StatusCode.INTERNAL, "the arbiter failed on this call; its log says more")
