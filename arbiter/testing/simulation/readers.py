"""Clients that stop reading, and an operator who shuts them out while a message of the server waits for them.

The servicers and the interceptor are the server's own. `HeldCall` is gRPC's part of a call, as its asyncio server
behaves: a message that the client has no room for holds up the writer and everything behind it, the status too; and a
call does one write at a time, also where the task that began it was cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from random import Random
from types import SimpleNamespace
from typing import Any, Final

import grpc
from arbiter_protos.v1 import match_pb2
from arbiter_protos.v1 import play_pb2 as pb
from grpc.aio import AbortError

from arbiter.errors import Refusal
from arbiter.rpc.interceptor import RefusalInterceptor
from arbiter.rpc.servicing import PlainContext
from arbiter.service.players.accounts import Caller, Scope
from arbiter.testing.simulation.observations import EndedStream, RunObservations
from arbiter.testing.simulation.plan import Fault
from arbiter.testing.simulation.play_calls import HELLO
from arbiter.testing.simulation.simulated_server import Server

OPERATOR: Final = Caller("", "", frozenset({Scope.ADMIN.value}))
KINDS: Final = ("Play", "Observe a match", "Observe all")
ENDINGS: Final = ("revoked", "suspended")
LOOK_S: Final = 0.05  #: between two looks at whether a stream is over
LONGER_S: Final = 6.0  #: than the server's patience: a stream that it has ended and that is not over then never is
ELSEWHERE_S: Final = 2.0  #: more, if another server has shut the client out
TWO_BATCHES: Final = "a call was given a second batch while one was under way (TOO_MANY_OPERATIONS)"


class HeldCall(PlainContext):
    """A call whose client reads this many messages and then none: what the servicers need of gRPC's context."""

    def __init__(self, peer: str, secret: str, reads: int, headers_s: float, history: RunObservations) -> None:
        super().__init__((("authorization", f"Bearer {secret}"),), peer)
        self._reads = reads
        self._headers_s = headers_s
        self._history = history
        self._hello: list[pb.PlayRequest] = [HELLO]
        self._headers_begun = self._headers = False
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.held = False  #: whether a message waits that the client does not read
        self.is_over = False

    async def send_initial_metadata(self, metadata: object) -> None:
        """Send the headers of the answer; if this is cancelled, gRPC does not know that they went."""
        self._headers_begun = True
        await asyncio.sleep(self._headers_s)
        self._headers = True

    async def read(self) -> Any:
        """Return the hello of a Play stream, and nothing more until the connection is lost."""
        if self._hello:
            return self._hello.pop()
        await asyncio.shield(self._lost)
        return grpc.aio.EOF

    async def write(self, message: object) -> None:
        """Write a message, and wait until it is read; a cancelled write still waits in gRPC."""
        self._begin_batch()
        if self._reads:
            self._reads -= 1
            await asyncio.sleep(0)
            return
        self.held = True
        await asyncio.shield(self._lost)

    async def abort_with_status(self, status: object) -> None:
        """End the call with a status, which its client reads behind the message that it has not read."""
        await self.finish()
        raise AbortError(str(status))

    async def abort(self, code: object, details: str) -> None:
        """As `abort_with_status`."""
        await self.abort_with_status(details)

    async def finish(self) -> None:
        """Send the status; wait until it is read."""
        if self._headers_begun and not self._headers:  # then the status takes the headers with it a second time
            self._fail()
        if self.held and not self._headers:
            self._fail()
        if self.held:
            await asyncio.shield(self._lost)
        self.over()

    def over(self) -> None:
        """Note that the call is over: its status was read, or its connection is lost."""
        if not self.is_over:
            self.is_over = True
            if not self._lost.done():
                self._lost.set_result(None)
            self.end()

    def _begin_batch(self) -> None:
        if self.held:
            self._fail()

    def _fail(self) -> None:
        self._history.unforeseen.append(TWO_BATCHES)
        raise grpc.aio.InternalError(TWO_BATCHES)


class StoppingReader:
    """One client that opens a stream, reads some of it or all, is shut out, and comes back with another token."""

    def __init__(self, name: str, servers: Sequence[Server], dice: Random, find: Callable[[], str | None]) -> None:
        self._name = name
        self._servers = servers
        self._server = servers[0]
        self._dice = dice
        self._find = find
        self._calls = 0

    async def come_and_go(self) -> None:
        """Do so again and again, until cancelled."""
        while True:
            await asyncio.sleep(self._dice.uniform(0.5, 8.0))
            self._server = self._one()
            if self._server.is_up:
                with suppress(Refusal):  # its token, or that it was shut out, could not be stored
                    await self._visit()

    def _one(self) -> Server:
        return self._dice.choice(self._servers) if len(self._servers) > 1 else self._server

    async def _visit(self) -> None:
        server, dice, faults = self._server, self._dice, self._server.history.faults
        created = server.arbiter.accounts.create_token(OPERATOR, self._name, (Scope.PLAY,), "")
        token, secret = await server.ask(created)
        kind, stops, ending = dice.choice(KINDS), dice.random() < 0.7, dice.choice(ENDINGS)
        match_id = self._find()
        if kind == "Observe a match" and match_id is None:
            return
        self._calls += 1
        reads, headers_s = dice.randint(0, 3) if stops else 1_000_000, dice.choice((0.0, 0.0, 2.0))
        call = HeldCall(f"{self._name}:{self._calls}", secret, reads, headers_s, server.history)
        arbiter, streams = server.arbiter, server.gate.streams
        task = server.run(self._serve(call, kind, match_id or ""))
        server.held_calls[call.peer()] = call, task
        try:
            await asyncio.sleep(dice.uniform(0.01, 4.0))
            if server.arbiter is not arbiter or call.is_over or not streams.held_by(self._name):
                return  # the server was restarted, or ended it by itself
            faults[Fault.UNREAD] += stops
            faults[Fault.SHUT_OUT] += 1
            operated = self._one()
            if not operated.is_up:
                return
            accounts = operated.arbiter.accounts
            if ending == "revoked":
                await operated.ask(accounts.revoke(OPERATOR, token.token_id))
            else:
                await operated.ask(accounts.suspend(self._name, True))
            if server.arbiter is arbiter and server.is_up:
                await self._watch(call, kind, ending, operated is not server)
        finally:
            if not call.is_over:  # the client goes at last
                task.cancel()
                call.over()
            server.held_calls.pop(call.peer(), None)
            if ending == "suspended":
                await self._let_in()

    async def _watch(self, call: HeldCall, kind: str, ending: str, elsewhere: bool) -> None:
        """Note how long the stream counts, and how long its call is open, after it was ended."""
        server, arbiter, loop = self._server, self._server.arbiter, asyncio.get_running_loop()
        limit_s = server.settings.limits.silence_ms / 1000 + ELSEWHERE_S * elsewhere
        began, counted = loop.time(), None
        while not (call.is_over and counted is not None) and loop.time() - began < limit_s + LONGER_S:
            if counted is None and not server.gate.streams.held_by(self._name):
                counted = loop.time() - began
            await asyncio.sleep(LOOK_S)
            if server.arbiter is not arbiter or not server.is_up:
                return  # a process that is gone holds nothing
        if not server.fine_since(began):
            return  # it could not hear of it, or was stopped
        open_s = loop.time() - began if call.is_over else None
        limit_s = server.settings.limits.silence_ms / 1000
        ended = EndedStream(self._name, kind, ending, call.held, counted, open_s, limit_s, elsewhere)
        server.history.ended.append(ended)

    async def _let_in(self) -> None:
        while True:
            try:
                server = self._one()
                await server.ask(server.arbiter.accounts.suspend(self._name, False))
            except (Refusal, AttributeError):
                await asyncio.sleep(1.0)
            else:
                return

    async def _serve(self, call: HeldCall, kind: str, match_id: str) -> None:
        """Serve a call as gRPC does, through the server's interceptor."""
        server = self._server
        if kind == "Play":
            handler: Any = grpc.stream_stream_rpc_method_handler(lambda _, context: server.play_streams.serve(context))
        else:
            handler = grpc.unary_stream_rpc_method_handler(server.observations.serve)
        behaviour = await _intercepted(server, handler)
        one = match_pb2.ObserveMatch(match_id=match_id)
        request = match_pb2.ObserveRequest(match=one) if match_id and kind == "Observe a match" else None
        with suppress(AbortError):
            await behaviour(request or match_pb2.ObserveRequest(all=match_pb2.ObserveAll(after_token="0")), call)
            await call.finish()


async def _intercepted(server: Server, handler: Any) -> Callable[[Any, Any], Awaitable[None]]:
    async def continuation(details: Any) -> Any:
        return handler

    async def at_once(_call: object) -> None:
        """Refuse without a wait."""

    turns = server.gate.turns._replace(refusing=at_once)
    interceptor = RefusalInterceptor(server.settings.limits, server.unread, turns, server.log)
    details: Any = SimpleNamespace(method="/arbiter.v1.Simulated/Stream")
    wrapped: Any = await interceptor.intercept_service(continuation, details)
    behaviour: Callable[[Any, Any], Awaitable[None]] = wrapped.stream_stream or wrapped.unary_stream
    return behaviour
