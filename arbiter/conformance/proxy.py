"""The proxy between the bot and the arbiter. It forwards everything, unless a situation changes that.

Calls are forwarded as bytes. The Play stream is parsed: each action of the bot passes through the function `up`, and
each item for the bot through `down`. These functions return what to forward instead: nothing, the same, or more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import grpc
from arbiter_protos.v1 import game_pb2, match_pb2, play_pb2, player_pb2, server_pb2, tournament_pb2
from google.protobuf import message_factory
from google.protobuf.message import DecodeError

from arbiter.conformance.failures import Failed
from arbiter.conformance.trace import OpenedStream, Trace
from arbiter.errors import Reason, Refusal
from arbiter.wire.refusal_messages import refusal_status

PLAY: Final = "/arbiter.v1.PlayService/Play"
LARGEST_BYTES: Final = 64 * 1024 * 1024

Up = Callable[[play_pb2.PlayAct], Sequence[play_pb2.PlayAct]]
Down = Callable[[play_pb2.PlayItem], Sequence[play_pb2.PlayItem]]


def _requests() -> dict[str, Any]:
    """Return the request class of every method, by path."""
    modules = (game_pb2, match_pb2, play_pb2, player_pb2, server_pb2, tournament_pb2)
    return {
        f"/{service.full_name}/{method.name}": message_factory.GetMessageClass(method.input_type)
        for module in modules
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }


_REQUESTS: Final = _requests()


class ProxiedStream:
    """A live Play stream of the bot: the queue of messages for the bot, and the upstream to the arbiter."""

    def __init__(self, opened: OpenedStream, upstream: Any) -> None:
        self.opened = opened
        self.upstream = upstream
        self.outgoing: asyncio.Queue[play_pb2.PlayResponse | grpc.Status | None] = asyncio.Queue()

    def send(self, *items: play_pb2.PlayItem) -> None:
        """Queue items for the bot, in one message."""
        self.outgoing.put_nowait(play_pb2.PlayResponse(items=items))

    def ping(self, *numbers: int) -> None:
        """Ping the bot, with these numbers, in one message."""
        self.send(*(play_pb2.PlayItem(ping=play_pb2.Ping(number=number)) for number in numbers))

    def end(self, status: grpc.Status | None = None) -> None:
        """End the stream after the queued messages, with a status if one is given, else with OK."""
        self.outgoing.put_nowait(status)


class Proxy(grpc.GenericRpcHandler):
    """A server that forwards one bot's calls to the arbiter at an address. `trace` may be replaced at any time.

    up, down: what becomes of an act, and of an item, which they may change. refuse_call: returns the refusal of a call,
    or None. calls_away: whether calls fail as if there were no arbiter. refuse: the refusal that every new stream gets.
    mute: new streams are not forwarded, and receive nothing.
    """

    def __init__(self, arbiter: str) -> None:
        self.trace = Trace()
        self._calls_open = asyncio.Event()
        self._holds: Callable[[Any], bool] = lambda request: True
        self.refuse_call: Callable[[Any], Refusal | None] = lambda request: None
        self.calls_away = False
        self.refuse: Refusal | None = None
        self.mute = False
        self.streams: list[ProxiedStream] = []
        self._opened = 0
        self._channel = grpc.aio.insecure_channel(
            arbiter,
            options=[
                ("grpc.max_receive_message_length", LARGEST_BYTES),
                ("grpc.max_send_message_length", LARGEST_BYTES),
                ("grpc.use_local_subchannel_pool", 1),
            ],
        )
        self._server: grpc.aio.Server | None = None
        self.plain()

    def plain(self) -> None:
        """Forward everything unchanged."""
        self.up: Up = lambda act: (act,)
        self.down: Down = lambda item: (item,)
        self.refuse = None
        self.mute = False
        self.calls_away = False
        self.refuse_call = lambda request: None
        self._holds = lambda request: True
        self._calls_open.set()

    @property
    def live(self) -> ProxiedStream:
        """The bot's latest stream. Raises Failed if it has none."""
        if not self.streams:
            raise Failed("the bot has no stream")
        return self.streams[-1]

    def end_stream(self, reason: Reason, **facts: str | int) -> None:
        """End the bot's stream with a refusal, after a notice of it."""
        refusal = Refusal(reason, "the referee says so", **facts)
        self.trace.note(f"ends the stream with {reason.value} {facts or ''}")
        self.live.end(refusal_status(refusal))

    @contextmanager
    def calls_held(self, which: Callable[[Any], bool] = lambda request: True) -> Iterator[None]:
        """Delay the answers to calls, except the stream, during the context: a bot that calls is then thinking."""
        self._holds = which
        self._calls_open.clear()
        self.trace.note("holds back the answers to calls")
        try:
            yield
        finally:
            self._calls_open.set()
            self.trace.note("answers calls again")

    @contextmanager
    def without_lists(self) -> Iterator[None]:
        """Omit the legal moves from turns during the context: the bot must request or know them."""
        before = self.down

        def bare(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
            told = []
            for out in before(item):
                if out.WhichOneof("item") == "turn":
                    out.turn.ClearField("legal_moves")
                    out.turn.ClearField("legal_move_count")
                told.append(out)
            return told

        self.down = bare
        try:
            yield
        finally:
            self.down = before

    # -- listening ---------------------------------------------------------------------------------------------------

    async def listen(self, port: int = 0, credentials: grpc.ServerCredentials | None = None) -> int:
        """Listen on a loopback port, and return it."""
        self._server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", LARGEST_BYTES),
                ("grpc.max_send_message_length", LARGEST_BYTES),
                ("grpc.so_reuseport", 0),
                ("grpc.http2.min_recv_ping_interval_without_data_ms", 1_000),
            ]
        )
        self._server.add_generic_rpc_handlers((self,))
        address = f"127.0.0.1:{port}"
        if credentials is None:
            port = self._server.add_insecure_port(address)
        else:
            port = self._server.add_secure_port(address, credentials)
        await self._server.start()
        return port

    async def close(self) -> None:
        """Accept no more calls, and end the running ones."""
        if self._server is not None:
            await self._server.stop(0)
        await self._channel.close()

    def service(self, handler_call_details: Any) -> Any:
        """Return the handler of a call (grpc.GenericRpcHandler)."""
        method = handler_call_details.method
        if method == PLAY:
            return grpc.stream_stream_rpc_method_handler(
                self._play, play_pb2.PlayRequest.FromString, play_pb2.PlayResponse.SerializeToString
            )

        async def hand_on(_: Any, context: Any) -> None:
            await self._hand_on(method, context)

        return grpc.stream_stream_rpc_method_handler(hand_on)

    # -- calls -------------------------------------------------------------------------------------------------------

    async def _hand_on(self, method: str, context: Any) -> None:
        token = _token(context)
        call: Any = self._channel.stream_stream(method)(metadata=_metadata(context))
        asking = asyncio.create_task(self._ask(method, token, call, context))
        try:
            while (answer := await call.read()) is not grpc.aio.EOF:
                await context.write(answer)
        except grpc.aio.AioRpcError as error:
            await context.abort_with_status(_status(error))
        finally:
            asking.cancel()
            call.cancel()

    async def _ask(self, method: str, token: str, call: Any, context: Any) -> None:
        while (data := await context.read()) is not grpc.aio.EOF:
            with suppress(DecodeError, KeyError):
                request = _REQUESTS[method].FromString(data)
                self.trace.call(method.removeprefix("/arbiter.v1."), token, request)
                if (refusal := self.refuse_call(request)) is not None:
                    self.trace.note(f"refuses the call with {refusal.reason.value}")
                    await context.abort_with_status(refusal_status(refusal))
                if self.calls_away:
                    self.trace.note("ends the call with UNAVAILABLE")
                    await context.abort(grpc.StatusCode.UNAVAILABLE, "no healthy upstream")
                if self._holds(request):
                    await self._calls_open.wait()
            with suppress(asyncio.InvalidStateError):
                await call.write(data)
        with suppress(asyncio.InvalidStateError):
            await call.done_writing()

    # -- the stream --------------------------------------------------------------------------------------------------

    async def _play(self, _: Any, context: Any) -> None:
        trace = self.trace
        self._opened += 1
        opened = OpenedStream(trace.now_s, self._opened, _token(context))
        trace.streams.append(opened)
        trace.note(f"opens stream {opened.number}", "bot")
        if self.refuse is not None:
            trace.note(f"stream {opened.number} is refused with {self.refuse.reason.value}")
            opened.ended_s = trace.now_s
            await context.abort_with_status(refusal_status(self.refuse))
        call: Any = self._channel.stream_stream(
            PLAY, play_pb2.PlayRequest.SerializeToString, play_pb2.PlayResponse.FromString
        )(metadata=_metadata(context))
        stream = ProxiedStream(opened, call)
        self.streams.append(stream)
        tasks = [asyncio.create_task(self._listen(stream, context))]
        if not self.mute:
            tasks.append(asyncio.create_task(self._relay(stream)))
        status: grpc.Status | None = None
        try:
            while isinstance(message := await stream.outgoing.get(), play_pb2.PlayResponse):
                for item in message.items:
                    self.trace.item_sent(opened.number, item)
                    opened.met = opened.met or item.HasField("hello")
                await self._write(context, message)
            status = message
        except asyncio.CancelledError:
            opened.broken = True
            raise
        finally:
            for task in tasks:
                task.cancel()
            call.cancel()
            self.streams.remove(stream)
            opened.ended_s = trace.now_s
            self.trace.note(f"stream {opened.number} {'was broken off' if opened.broken else 'is over'}")
        if status is not None:
            await context.abort_with_status(status)

    async def _write(self, context: Any, message: play_pb2.PlayResponse) -> None:
        try:
            await context.write(message)
        except grpc.aio.BaseError:  # the connection is lost, and gRPC is about to cancel the handler
            await asyncio.Event().wait()

    async def _listen(self, stream: ProxiedStream, context: Any) -> None:
        """Forward what the bot sends."""
        while (message := await context.read()) is not grpc.aio.EOF:
            stream.opened.messages += 1
            acts: list[play_pb2.PlayAct] = []
            for act in message.acts:
                self.trace.act_received(stream.opened.number, act)
                acts += self.up(act)
            if acts:
                with suppress(asyncio.InvalidStateError, grpc.aio.AioRpcError):
                    await stream.upstream.write(play_pb2.PlayRequest(acts=acts))
        stream.opened.closed_s = self.trace.now_s
        self.trace.note("closes its sending side", "bot")
        with suppress(asyncio.InvalidStateError, grpc.aio.AioRpcError):
            await stream.upstream.done_writing()

    async def _relay(self, stream: ProxiedStream) -> None:
        """Forward what the arbiter sends."""
        try:
            while (response := await stream.upstream.read()) is not grpc.aio.EOF:
                items = [out for item in response.items for out in self.down(item)]
                if items:
                    stream.send(*items)
        except grpc.aio.AioRpcError as error:
            stream.end(_status(error))
        else:
            stream.end()


def _metadata(context: Any) -> list[tuple[str, str]]:
    return [(key, value) for key, value in context.invocation_metadata() or () if key == "authorization"]


def _token(context: Any) -> str:
    """Return the `authorization` metadata of a call, or ''."""
    return next((value for _, value in _metadata(context)), "")


def _status(error: grpc.aio.AioRpcError) -> grpc.Status:
    """Return the final status of a call, in the form that ends another call."""
    return _Status(error.code(), error.details() or "", tuple(error.trailing_metadata() or ()))


class _Status(grpc.Status):
    """A status to forward."""

    def __init__(self, code: grpc.StatusCode, details: str, trailing_metadata: Any) -> None:
        self.code = code
        self.details = details
        self.trailing_metadata = tuple(
            (key, value) for key, value in trailing_metadata if key.startswith("grpc-status")
        )
