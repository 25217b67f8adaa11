"""The services for a client in the server's process: a channel without a network, with the caller's own address.

Everything else is as over the network: rights, limits, refusals. `local_sessions` has the sessions of bots.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Final, NamedTuple, NoReturn

import grpc
from grpc.aio import AioRpcError, Metadata

from arbiter.errors import Refusal, RulesAwaited, failure_of
from arbiter.rpc.grpc_server import SERVICE_DESCRIPTORS, Servicers
from arbiter.rpc.servicing import PlainContext, call_of
from arbiter.service.gate.turns import Refusing, Waiting
from arbiter.service.ports.log import Logger
from arbiter.service.ports.meter import Meter
from arbiter.wire.refusal_messages import refusal_status

Method = Callable[..., Any]


class LocalServices(NamedTuple):
    """What the channels of all clients in this process share."""

    methods: dict[str, Method]
    waiting: Waiting
    refusing: Refusing
    log: Logger
    meter: Meter

    @classmethod
    def of(cls, servicers: Servicers, waiting: Waiting, refusing: Refusing, log: Logger, meter: Meter) -> LocalServices:
        """Return the services by the paths of their methods."""
        methods = {
            f"/{service.full_name}/{method.name}": getattr(servicer, method.name)
            for service, servicer in zip(SERVICE_DESCRIPTORS, servicers, strict=True)
            for method in service.methods
        }
        return cls(methods, waiting, refusing, log, meter)


class LocalChannel:
    """The part of a channel of gRPC that clients need for calls with one request.

    address: of the caller, as text. A stream of answers is read to its end before the first of them is there.
    """

    def __init__(self, services: LocalServices, address: str) -> None:
        self._services = services
        self._peer: Final = f"ipv6:[{address}]:0" if ":" in address else f"ipv4:{address or '127.0.0.1'}:0"

    def unary_unary(self, path: str, request_serializer: object, response_deserializer: Any, **_: object) -> Method:
        """Return a method with one request and one answer."""

        async def call(request: Any, *, timeout: float, metadata: Any = ()) -> Any:  # noqa: ASYNC109 - as gRPC's
            [answer] = await self._called(path, request, timeout, metadata, self._services.waiting())
            return response_deserializer(answer) if isinstance(answer, bytes) else answer

        return call

    def unary_stream(self, path: str, request_serializer: object, response_deserializer: Any, **_: object) -> Method:
        """Return a method with one request and several answers."""

        async def call(request: Any, *, timeout: float, metadata: Any = ()) -> AsyncIterator[Any]:  # noqa: ASYNC109
            for answer in await self._called(path, request, timeout, metadata, nullcontext()):
                yield response_deserializer(answer) if isinstance(answer, bytes) else answer

        return call

    def stream_unary(self, path: str, *_: object, **__: object) -> Method:
        """Return a method that is not there."""

        def call(*_: object, **__: object) -> NoReturn:
            raise NotImplementedError(path)

        return call

    stream_stream = stream_unary

    async def _called(
        self,
        path: str,
        request: Any,
        timeout_s: float,
        metadata: Any,
        waiting: AbstractAsyncContextManager[None],
    ) -> list[Any]:
        """Return all answers to a request. Raises AioRpcError."""
        context = _Context(metadata, self._peer)
        try:
            async with asyncio.timeout(timeout_s), waiting:
                answer = await self._services.methods[path](request, context)
                return context.written if answer is None else [answer]
        except TimeoutError:
            raise _failed(grpc.StatusCode.DEADLINE_EXCEEDED, "the answer was not there in time") from None
        except (Refusal, RulesAwaited) as error:
            refusal = error if isinstance(error, Refusal) else error.refusal()
            await self._services.refusing(call_of(context))
            self._services.meter.refused(refusal)
            raise _refused(refusal) from None
        except Exception as error:
            self._services.log.error("call_failed", method=path, exc_info=error)
            raise _failed(grpc.StatusCode.INTERNAL, failure_of(error)) from None
        finally:
            context.end()


class _Context(PlainContext):
    """The part of a gRPC context that the servicers use; `written` has the answers of a stream."""

    def __init__(self, metadata: Sequence[tuple[str, str]], peer: str) -> None:
        super().__init__(metadata, peer)
        self.written: list[Any] = []

    async def send_initial_metadata(self, metadata: object) -> None:
        """Do nothing: there are no headers."""

    async def read(self) -> NoReturn:
        """There is nothing to read beside the request."""
        raise NotImplementedError

    async def write(self, message: Any) -> None:
        """Keep an answer."""
        self.written.append(message)


def _refused(refusal: Refusal) -> AioRpcError:
    status = refusal_status(refusal)
    return AioRpcError(status.code, Metadata(), Metadata(*status.trailing_metadata), status.details)


def _failed(code: grpc.StatusCode, why: str) -> AioRpcError:
    return AioRpcError(code, Metadata(), Metadata(), why)
