"""Exactly once over real gRPC: the same request by every kind of call, and moves that race each other."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import match_pb2 as pb
from arbiter_protos.v1 import play_pb2, play_pb2_grpc, player_pb2, refusal_pb2

from arbiter.errors import Reason
from arbiter.games.registry import game
from tests.rpc.calls import Stubs, refusal_in, refused


def opening_moves() -> list[str]:
    rules = game("circle-of-life")
    return sorted(rules.moves(rules.initial()))


async def by_call(stubs: Stubs, request: pb.SubmitMoveRequest) -> pb.Receipt | refusal_pb2.Refusal:
    """Submit a move of alice's by a call; return its answer."""
    try:
        receipt: pb.Receipt = (await stubs.matches.SubmitMove(request, metadata=stubs.alice)).receipt
    except grpc.aio.AioRpcError as error:
        return refusal_in(error)
    return receipt


class PlayStream:
    """Alice's Play stream; it returns only answers."""

    def __init__(self, stubs: Stubs) -> None:
        self.call: Any = play_pb2_grpc.PlayServiceStub(stubs.served.channel).Play(metadata=stubs.alice)

    async def hello(self) -> None:
        hello = play_pb2.ClientHello(protocol_version="1.0")
        await self.call.write(play_pb2.PlayRequest(acts=[play_pb2.PlayAct(hello=hello)]))
        await self.call.read()

    async def ask(self, request: pb.SubmitMoveRequest) -> pb.Receipt | refusal_pb2.Refusal:
        """Send a move; return its answer."""
        act = play_pb2.PlayAct(request_id=request.request_id, match_id=request.match_id)
        act.move.CopyFrom(play_pb2.MoveAct(ply=request.ply, move=request.move))
        await self.call.write(play_pb2.PlayRequest(acts=[act]))
        while (response := await self.call.read()) is not grpc.aio.EOF:
            for item in response.items:
                if item.WhichOneof("item") == "answer" and item.answer.request_id == request.request_id:
                    answer: pb.Receipt | refusal_pb2.Refusal = getattr(item.answer, item.answer.WhichOneof("answer"))
                    return answer
        raise AssertionError("the stream ended")


@pytest.mark.long
async def test_a_call_races_a_stream_and_one_wins(stubs: Stubs) -> None:
    one, two = opening_moves()[:2]
    stream = PlayStream(stubs)
    await stream.hello()
    for number in range(10):
        match_id = (await stubs.match(f"race {number}")).match_id
        asked = [
            pb.SubmitMoveRequest(request_id=name, match_id=match_id, ply=0, move=move)
            for name, move in (("stream", one), ("call", two))
        ]
        answers = await asyncio.gather(stream.ask(asked[0]), by_call(stubs, asked[1]))
        receipts = [answer for answer in answers if isinstance(answer, pb.Receipt)]
        (refusal,) = [answer for answer in answers if isinstance(answer, refusal_pb2.Refusal)]
        assert len(receipts) == 1
        assert refusal.reason == refusal_pb2.REFUSAL_REASON_PLY_MISMATCH
        assert dict(refusal.facts) == {"expected": "1", "actual": "0"}
        wanted = pb.GetMatchRequest(match_id=match_id, with_moves=True)
        match = (await stubs.matches.GetMatch(wanted, metadata=stubs.bob)).match
        assert list(match.moves) == [one if answers[0] is receipts[0] else two]
        # the same requests have the same answers by the other kind of call
        assert [await by_call(stubs, asked[0]), await stream.ask(asked[1])] == list(answers)


async def test_observers_receive_a_refused_move(stubs: Stubs) -> None:
    match_id = (await stubs.match()).match_id
    move = opening_moves()[0]
    early = pb.SubmitMoveRequest(request_id="early", match_id=match_id, ply=2, move=move)
    first = await refused(stubs.matches.SubmitMove(early, metadata=stubs.alice), Reason.PLY_MISMATCH)
    await stubs.move(1, match_id, 0, move)
    assert await refused(stubs.matches.SubmitMove(early, metadata=stubs.alice), Reason.PLY_MISMATCH) == first
    await stubs.matches.Resign(pb.ResignRequest(request_id="r", match_id=match_id), metadata=stubs.bob)
    asked = pb.ObserveRequest(match=pb.ObserveMatch(match_id=match_id))
    seen = [
        item.event
        async for response in stubs.matches.Observe(asked, metadata=stubs.org)
        for item in response.items
        if item.WhichOneof("item") == "event"
    ]
    (rejected,) = [event.rejected for event in seen if event.kind == "rejected"]
    assert (rejected.seat, rejected.request_id, rejected.command) == (1, "early", "Play")
    assert (rejected.ply, rejected.move, rejected.refusal) == (2, move, first)


async def test_a_match_keeps_as_many_refusals_as_its_creator_says(stubs: Stubs) -> None:
    match = await stubs.match(policy=pb.Policy(kept_refusals=0))
    assert match.policy.kept_refusals == 0
    await refused(stubs.move(2, match.match_id, 0, "a1"), Reason.NOT_YOUR_TURN)
    after = await stubs.matches.GetMatch(pb.GetMatchRequest(match_id=match.match_id), metadata=stubs.alice)
    assert after.match.revision == match.revision


async def test_a_repeated_creation_is_answered_alike_though_its_players_have_changed(stubs: Stubs) -> None:
    match = await stubs.match(policy=pb.Policy(illegal_moves=2))
    suspend = player_pb2.SuspendPlayerRequest(name="bob", suspended=True)
    await stubs.players.SuspendPlayer(suspend, metadata=stubs.admin)
    assert (await stubs.match(policy=pb.Policy(illegal_moves=2))).match_id == match.match_id
    await refused(stubs.match(policy=pb.Policy(illegal_moves=3)), Reason.REQUEST_ID_REUSED)
    await refused(stubs.match("another"), Reason.PLAYER_SUSPENDED)
