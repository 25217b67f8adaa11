"""The server sends no HTTP/2 pings on a connection that is in use: each would cost it as much as a part of a move."""

from __future__ import annotations

import asyncio

from arbiter_protos.v1 import play_pb2 as pb

from arbiter.bench.h2 import ACK, PING, RawCall
from arbiter.config import Limits
from arbiter.testing.served import served

PLAY = "/arbiter.v1.PlayService/Play"
WAIT_S = 240
EXCHANGES = 20
PATIENT = Limits().model_copy(update={"silence_ms": 1_000 * WAIT_S, "ping_ms": 500 * WAIT_S})


class Counting(RawCall):
    """A call that counts the pings of its server."""

    pings = 0

    def _frame(self, kind: int, flags: int, content: bytearray) -> None:
        self.pings += kind == PING and not flags & ACK
        super()._frame(kind, flags, content)


async def test_a_connection_in_use_is_not_pinged() -> None:
    async with served(limits=PATIENT) as server:
        received = asyncio.Queue[bytes]()
        call = Counting(PLAY, await server.token("alice"), received.put_nowait, lambda: None)
        await call.connect(server.address)
        act = pb.PlayAct(hello=pb.ClientHello(protocol_version="1.0"))
        for number in range(EXCHANGES):
            call.send(pb.PlayRequest(acts=[act]).SerializeToString())
            await asyncio.wait_for(received.get(), WAIT_S)
            act = pb.PlayAct(request_id=str(number), match_id="unknown", resign=pb.ResignAct())
        call.close()
        await asyncio.wait_for(call.lost.wait(), WAIT_S)
        assert call.pings == 0
