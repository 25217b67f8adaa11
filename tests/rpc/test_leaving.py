"""Streams that end while a write waits for a reader: the client leaves, or the server ends the stream."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
import structlog
from arbiter_protos.v1 import match_pb2 as pb
from arbiter_protos.v1 import match_pb2_grpc, player_pb2

from arbiter.errors import Reason
from arbiter.rpc.observe import Observations
from arbiter.testing.served import served
from tests.rpc.calls import Stubs, refused

pytestmark = pytest.mark.long

WAIT_S = 240
MATCHES = 150  #: its events are more bytes than fit between a reader that does not read and the server
NARROW = [("grpc.http2.bdp_probe", 0)]


class Noted:
    """A context that records when a write begins, and how it ends."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.begun = asyncio.Event()
        self.writing = False
        self.ended: list[BaseException | None] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    async def write(self, message: Any) -> None:
        self.begun.set()
        self.writing = True
        try:
            await self._context.write(message)
        except BaseException as error:
            self.ended.append(error)
            raise
        self.ended.append(None)
        self.writing = False


@pytest.mark.parametrize("how", ["cancels its call", "closes its connection"])
async def test_a_client_that_leaves_during_a_write_causes_no_error(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    contexts: asyncio.Queue[Noted] = asyncio.Queue()
    serve = Observations.serve

    async def noting(self: Observations, request: pb.ObserveRequest, context: Any) -> None:
        noted: Any = Noted(context)
        contexts.put_nowait(noted)
        await serve(self, request, noted)

    monkeypatch.setattr(Observations, "serve", noting)
    with structlog.testing.capture_logs() as logs:
        async with served() as server, asyncio.timeout(WAIT_S):
            stubs = await Stubs(server).enter()
            for number in range(MATCHES):
                await stubs.match(str(number), label="x" * 100)
            async with grpc.aio.insecure_channel(server.address, options=NARROW) as channel:
                stub: Any = match_pb2_grpc.MatchServiceStub(channel)
                everything = pb.ObserveRequest(with_record=True, all=pb.ObserveAll(after_token="0"))
                call = stub.Observe(everything, metadata=stubs.alice)
                noted = await contexts.get()
                await noted.begun.wait()
                for number in range(20):  # after some turns of the event loop the buffers are full
                    await stubs.match(f"another {number}")
                assert noted.writing
                if how == "cancels its call":
                    call.cancel()
        assert isinstance(noted.ended[-1], grpc.aio.InternalError | asyncio.CancelledError)
    assert [line for line in logs if line["log_level"] in ("warning", "error")] == []


@pytest.mark.parametrize("kind", ["Observe", "SubmitMoves"])
async def test_a_stream_whose_token_is_revoked_in_the_middle_of_a_write_ends(kind: str) -> None:
    """The reader, which had not read, gets the reason as soon as it reads."""
    async with served() as server, asyncio.timeout(WAIT_S):
        stubs = await Stubs(server).enter()
        made = await stubs.players.CreateToken(player_pb2.CreateTokenRequest(), metadata=stubs.alice)
        own = [("authorization", f"Bearer {made.secret}")]
        match_id = (await stubs.match("first")).match_id
        async with grpc.aio.insecure_channel(server.address, options=NARROW) as channel:
            stub: Any = match_pb2_grpc.MatchServiceStub(channel)
            if kind == "Observe":
                for number in range(MATCHES):
                    await stubs.match(str(number), label="x" * 100)
                everything = pb.ObserveRequest(with_record=True, all=pb.ObserveAll(after_token="0"))
                call = stub.Observe(everything, metadata=own)
            else:
                call = stub.SubmitMoves(metadata=own)
                for n in range(3):
                    moves = [
                        pb.SubmitMoveRequest(request_id=f"{n} {k}", match_id=match_id, ply=7, move="z" * 50)
                        for k in range(900)
                    ]
                    await call.write(pb.SubmitMovesRequest(moves=moves))
            await call.wait_for_connection()
            for number in range(20):  # after some turns of the event loop the buffers are full
                await stubs.match(f"later {number}")
            revoke = player_pb2.RevokeTokenRequest(token_id=made.token.token_id)
            await stubs.players.RevokeToken(revoke, metadata=stubs.alice)
            await stubs.match("and again")

            async def rest() -> None:
                while await call.read() is not grpc.aio.EOF:
                    pass

            await refused(rest(), Reason.TOKEN_INVALID)
