"""SubmitMoves and Observe over real gRPC."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import match_pb2 as pb
from arbiter_protos.v1 import refusal_pb2

from arbiter.errors import Reason
from arbiter.games.registry import game
from tests.rpc.calls import Stubs, refused

RULES = game("circle-of-life")
FIRST = min(RULES.moves(RULES.initial()))


def move(match_id: str, ply: int, text: str, request_id: str) -> pb.SubmitMoveRequest:
    """Return a move for the stream."""
    return pb.SubmitMoveRequest(request_id=request_id, match_id=match_id, ply=ply, move=text)


@pytest.mark.long
async def test_many_moves_at_once_each_get_an_answer_after_half_closing(stubs: Stubs) -> None:
    ids = [(await stubs.match(f"{n}")).match_id for n in range(50)]
    moves = [move(match_id, 0, FIRST, f"{n}") for n, match_id in enumerate(ids)]
    asked = [pb.SubmitMovesRequest(moves=moves), pb.SubmitMovesRequest(moves=moves[:5])]
    call = stubs.matches.SubmitMoves(iter(asked), metadata=stubs.alice)
    answers = [answer async for response in call for answer in response.answers]
    receipts = {answer.match_id: answer.receipt for answer in answers}
    assert len(answers) == 55
    assert {match_id: receipt.ply for match_id, receipt in receipts.items()} == dict.fromkeys(ids, 1)
    assert all(answer.receipt == receipts[answer.match_id] for answer in answers)


async def test_a_refusal_is_an_answer_and_ends_nothing(stubs: Stubs) -> None:
    match_id = (await stubs.match()).match_id
    call: Any = stubs.matches.SubmitMoves(metadata=stubs.alice)
    found = []
    for request in (
        move("nowhere", 0, FIRST, "a"),
        move(match_id, 0, "?", "b"),
        move(match_id, 0, FIRST, "c"),
        move(match_id, 1, FIRST, "c"),
    ):
        await call.write(pb.SubmitMovesRequest(moves=[request]))
        ((answer,),) = [(await call.read()).answers]
        assert (answer.request_id, answer.match_id) == (request.request_id, request.match_id)
        found.append(refusal_pb2.RefusalReason.Name(answer.refusal.reason) if answer.HasField("refusal") else "receipt")
    assert [name.removeprefix("REFUSAL_REASON_") for name in found] == [
        "MATCH_NOT_FOUND",
        "MOVE_MALFORMED",
        "receipt",
        "REQUEST_ID_REUSED",
    ]
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF
    assert await call.code() is grpc.StatusCode.OK


async def items(call: Any, until: str) -> list[pb.ObserveItem]:
    """Return the items up to and with the first bookmark (until="bookmark") or event of a kind."""
    found: list[pb.ObserveItem] = []
    while True:
        found += (await call.read()).items
        kinds = [item.event.kind if item.HasField("event") else "bookmark" for item in found]
        if until in kinds:
            return found


async def test_a_match_is_observed_from_any_revision_to_its_end(stubs: Stubs) -> None:
    match_id = (await stubs.match()).match_id
    asked = pb.ObserveRequest(match=pb.ObserveMatch(match_id=match_id))
    call = stubs.matches.Observe(asked, metadata=stubs.bob)
    seen = await items(call, "bookmark")
    assert seen[-1].bookmark.revision == seen[-2].event.revision
    await stubs.move(1, match_id, 0, FIRST)
    await stubs.matches.Resign(pb.ResignRequest(request_id="r", match_id=match_id), metadata=stubs.bob)
    seen += await items(call, "ended")
    assert await call.read() is grpc.aio.EOF
    events = [item.event for item in seen if item.HasField("event")]
    assert [event.revision for event in events] == list(range(1, len(events) + 1))
    for after in range(len(events) + 1):
        asked.match.after_revision = after
        call = stubs.matches.Observe(asked, metadata=stubs.bob)
        again = [item.event async for response in call for item in response.items if item.HasField("event")]
        assert again == events[after:]
    asked.match.after_revision = len(events) + 1
    await refused(stubs.matches.Observe(asked, metadata=stubs.bob), Reason.ARGUMENT_INVALID, where="after_revision")
    asked.match.match_id = "nowhere"
    await refused(stubs.matches.Observe(asked, metadata=stubs.bob), Reason.MATCH_NOT_FOUND, id="nowhere")


async def test_all_matches_are_observed_from_any_token(stubs: Stubs) -> None:
    ids = [(await stubs.match(f"{n}", label=f"cup {n}")).match_id for n in range(2)]

    async def stream(token: str, label: str = "") -> list[pb.ObserveItem]:
        asked = pb.ObserveRequest(all=pb.ObserveAll(after_token=token, label=label))
        call = stubs.matches.Observe(asked, metadata=stubs.bob)
        found = await items(call, "bookmark")
        call.cancel()
        return [item for item in found if item.HasField("event")]

    everything = await stream("0")
    assert {item.event.match_id for item in everything} == set(ids)
    for n, item in enumerate(everything):
        assert await stream(item.token) == everything[n + 1 :]
    assert {item.event.match_id for item in await stream("0", "cup 1")} == {ids[1]}
    assert await stream("") == []
    for token in ("x", "999"):
        asked = pb.ObserveRequest(all=pb.ObserveAll(after_token=token))
        call = stubs.matches.Observe(asked, metadata=stubs.bob)
        await refused(call, Reason.ARGUMENT_INVALID, where="after_token", what=token)
    await refused(stubs.matches.Observe(pb.ObserveRequest(), metadata=stubs.bob), Reason.ARGUMENT_INVALID, where="of")
