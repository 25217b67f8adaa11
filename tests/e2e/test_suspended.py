"""A server process is suspended and resumed (SIGSTOP, SIGCONT): this is an outage, and no player is charged for it."""

from __future__ import annotations

import signal

import grpc
import pytest
from arbiter_protos.v1 import server_pb2, server_pb2_grpc

from tests.e2e.processes import Server
from tests.e2e.test_stop import connected, new_match, record

pytestmark = pytest.mark.long

STALL_S = 3.0  #: longer than the two seconds after which a server counts the time as an outage


async def no_answer(server: Server) -> None:
    """Call the server, which does not answer while the call waits."""
    async with grpc.aio.insecure_channel(server.address) as channel:
        stub = server_pb2_grpc.ServerServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.GetServerInfo(server_pb2.GetServerInfoRequest(), timeout=STALL_S, wait_for_ready=True)
        assert refused.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize("plays", ["after it", "during it"])
async def test_the_time_of_a_suspension_is_charged_to_no_player(server: Server, plays: str) -> None:
    async with connected(server) as (anna, ben):
        match_id = await new_match(server)
        await anna.first_item("turn")
        await anna.move()
        await ben.first_item("turn")
        server.signal(signal.SIGSTOP)
        try:
            if plays == "during it":
                await ben.move()
            await no_answer(server)
        finally:
            server.signal(signal.SIGCONT)
        if plays == "after it":
            await ben.until(lambda: sum(item.HasField("turn") for item in ben.items) == 2)  # the same turn again
            await ben.move()
        await ben.until(lambda: ben.receipts == 1)
        events = await record(server, match_id)
    after = [event for event in events if event["kind"] in ("moved", "interrupted", "resumed")]
    assert [event["kind"] for event in after] == ["moved", "interrupted", "resumed", "moved"]
    before, interrupted, resumed, answer = after
    assert interrupted["reason"] == "restart"
    assert interrupted["at"] - before["at"] >= STALL_S * 1_000 - 1  # times in the record are whole milliseconds
    assert resumed["clocks"] == before["clocks"]
    assert answer["ledger"]["started"] == resumed["at"]
    assert answer["ledger"]["charged"] < STALL_S * 1_000
