"""The services by the Connect protocol (https://connectrpc.com/docs/protocol), over HTTP/1.1: for browsers.

The servicers are those of gRPC. A call is its path (`/arbiter.v1.MatchService/GetMatch`), its body is a message, binary
or JSON. Only calls that stream requests are not there (Play, SubmitMoves): browsers cannot make them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import Any, Final

from connectrpc.code import Code
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.request import RequestContext
from connectrpc.server import ConnectASGIApplication, Endpoint
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from arbiter.config import Limits
from arbiter.errors import Refusal, RulesAwaited, failure_of
from arbiter.rpc.connect_messages import BinaryCodec, BoundedGzip, Encoded, JsonCodec, Outgoing, connect_error
from arbiter.rpc.grpc_server import SERVICE_DESCRIPTORS, Servicers
from arbiter.rpc.interceptor import CHARGED_STREAMS
from arbiter.rpc.servicing import PlainContext, call_of
from arbiter.service.gate.turns import Turns
from arbiter.service.ports.log import Logger
from arbiter.service.ports.meter import Meter
from arbiter.wire.json_messages import PART, JsonBytes, json_parts

PREFIX: Final = "/arbiter."  #: the first part of the paths of all calls
CONTENT_TYPES: Final = frozenset(
    {"application/json", "application/proto", "application/connect+json", "application/connect+proto"}
)

Behaviour = Callable[[Any, Any], Awaitable[Any]]
Asgi = Callable[[Any, Any, Any], Awaitable[None]]


def connect_application(servicers: Servicers, limits: Limits, log: Logger, meter: Meter, turns: Turns) -> Asgi:
    """Return the services as an ASGI application; the page's server runs its calls in turn. meter: counts refusals."""
    endpoints = {
        f"/{service.full_name}/{method.name}": _endpoint(method, getattr(servicer, method.name), log, meter, turns)
        for service, servicer in zip(SERVICE_DESCRIPTORS, servicers, strict=True)
        for method in service.methods
        if not method.client_streaming
    }
    return _InTime(_Application(endpoints, limits), limits.silence_ms / 1000)


class _Application(ConnectASGIApplication[None]):
    def __init__(self, endpoints: Mapping[str, Any], limits: Limits) -> None:
        super().__init__(
            service=None,
            endpoints=lambda _: endpoints,
            # As over gRPC: the codecs enforce the limit and explain their refusal; nothing is read beyond this size.
            read_max_bytes=4 * limits.message_bytes,
            codecs=[BinaryCodec(limits), JsonCodec(limits)],
            compressions=[BoundedGzip()],
        )

    @property
    def path(self) -> str:
        return "/"


class _InTime:
    """Accepts only the content types of Connect, and ends a call whose client neither sends nor reads for too long.

    The library would fail at a header that is not UTF-8: it gets such bytes as replacement characters.
    """

    def __init__(self, app: Any, patience_s: float) -> None:
        self._app = app
        self._patience_s = patience_s

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        given = [(name, value.decode(errors="replace").encode()) for name, value in scope["headers"]]
        kinds = [_kind(value.decode()) for name, value in given if name == b"content-type"]
        if len(kinds) != 1 or kinds[0] not in CONTENT_TYPES:
            headers = [(b"accept-post", ", ".join(sorted(CONTENT_TYPES)).encode())]
            await send({"type": "http.response.start", "status": 415, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        whole = False

        async def receive_in_time() -> Any:
            nonlocal whole
            async with asyncio.timeout(None if whole else self._patience_s):
                message = await receive()
            whole = whole or not message.get("more_body", False)
            return message

        async def send_in_time(message: Any) -> None:
            async with asyncio.timeout(self._patience_s):
                await send(message)

        with suppress(TimeoutError):  # the answer is incomplete, so the server closes the connection
            await self._app({**scope, "headers": given}, receive_in_time, send_in_time)


class CallContext(PlainContext):
    """The part of a gRPC context that the servicers use, for a call over HTTP."""

    def __init__(self, request: RequestContext[Any, Any]) -> None:
        headers = ((name.lower(), value) for name, value in request.request_headers.allitems())
        super().__init__(headers, _peer(request.client_address))
        self.as_json = _kind(request.request_headers.get("content-type", "")).endswith("json")
        self.written: asyncio.Queue[Any] = asyncio.Queue()  #: messages to send, None at the end; each is marked as done

    async def send_initial_metadata(self, metadata: object) -> None:
        """Do nothing: the headers are sent with the first message."""

    async def write(self, message: Any) -> None:
        """Send a message; return once it is written."""
        self.written.put_nowait(message)
        await self.written.join()


def _endpoint(
    method: MethodDescriptor, behaviour: Behaviour, log: Logger, meter: Meter, turns: Turns
) -> Endpoint[Any, Any]:
    call = _Call(method, behaviour, log, meter, turns)
    info: MethodInfo[Any, Any] = MethodInfo(
        name=method.name,
        service_name=method.containing_service.full_name,
        input=GetMessageClass(method.input_type),
        output=GetMessageClass(method.output_type),
        idempotency_level=IdempotencyLevel.UNKNOWN,
        stream_type=StreamType.SERVER_STREAM if method.server_streaming else StreamType.UNARY,
    )
    if method.server_streaming:
        return Endpoint.server_stream(info, call.stream)
    return Endpoint.unary(info, call.unary)


class _Call:
    """The calls of one method."""

    def __init__(self, method: MethodDescriptor, behaviour: Behaviour, log: Logger, meter: Meter, turns: Turns) -> None:
        self._name = method.full_name
        self._charged = f"/{method.containing_service.full_name}/{method.name}" in CHARGED_STREAMS
        self._output = GetMessageClass(method.output_type)
        self._behaviour = behaviour
        self._log = log
        self._meter = meter
        self._turns = turns

    async def unary(self, request: Any, given: RequestContext[Any, Any]) -> Any:
        """Return the answer."""
        context = CallContext(given)
        try:
            return await self._outgoing(await self._answer(request, context, self._turns.waiting()), context)
        finally:
            context.end()

    async def stream(self, request: Any, given: RequestContext[Any, Any]) -> AsyncIterator[Any]:
        """Yield the answers, each once the one before is written."""
        context = CallContext(given)
        answering = asyncio.create_task(self._written(request, context))
        answering.add_done_callback(lambda _: context.written.put_nowait(None))
        try:
            while (message := await context.written.get()) is not None:
                yield await self._outgoing(message, context)
                context.written.task_done()
            await answering
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
            context.end()

    async def _written(self, request: Any, context: Any) -> None:
        """Write the answers of a stream, in turns of its own."""
        work = self._answer(request, context, nullcontext())
        await self._turns.in_turn(call_of(context), work, charged=self._charged)

    async def _outgoing(self, answer: Any, context: CallContext) -> Outgoing:
        """Return an answer for the codec, which makes no long JSON: that takes several steps."""
        encoded = isinstance(answer, bytes)
        if context.as_json and (len(answer) if encoded else answer.ByteSize()) > PART:
            if not isinstance(answer, JsonBytes):
                answer = await _long_json_of(self._output.FromString(answer) if encoded else answer)
            encoded = True
        return Encoded(self._output, answer) if encoded else answer

    async def _answer(self, request: Any, context: CallContext, waiting: AbstractAsyncContextManager[None]) -> Any:
        try:
            async with waiting:
                return await self._behaviour(request, context)
        except (Refusal, RulesAwaited) as error:
            refusal = error if isinstance(error, Refusal) else error.refusal()
            self._meter.refused(refusal)
            raise connect_error(refusal) from None
        except Exception as error:
            self._log.error("call_failed", method=self._name, exc_info=error)
            raise ConnectError(Code.INTERNAL, failure_of(error)) from None


def _kind(content_type: str) -> str:
    """Return a content type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def _peer(address: str | None) -> str:
    if not address:
        return "unix:"
    host, _, port = address.rpartition(":")
    return f"ipv6:[{host}]:{port}" if ":" in host else f"ipv4:{address}"


async def _long_json_of(message: Message) -> JsonBytes:
    """Return a message as JSON; other tasks run between its parts."""
    parts = []
    for part in json_parts(message):
        parts.append(part)
        await asyncio.sleep(0)
    return JsonBytes(b"".join(parts))
