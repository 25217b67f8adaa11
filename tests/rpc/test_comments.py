"""Comments over real gRPC: sent by every kind of call, secret before the end, and public after it."""

from __future__ import annotations

from arbiter_protos.v1 import match_pb2 as pb
from arbiter_protos.v1 import play_pb2, play_pb2_grpc

from arbiter.games.registry import game
from arbiter.keys.key_ring import holds
from arbiter.matches.notation import write
from arbiter.matches.record import read
from arbiter.matches.signing import checking
from arbiter.matches.transcript import verify
from tests.generators.transcripts import public_keys
from tests.rpc.calls import Stubs
from tests.rpc.test_matches import stubs as stubs


async def seen(stubs: Stubs, match_id: str) -> pb.Match:
    wanted = pb.GetMatchRequest(match_id=match_id, with_moves=True)
    match: pb.Match = (await stubs.matches.GetMatch(wanted, metadata=stubs.bob)).match
    return match


async def transcript(stubs: Stubs, match_id: str) -> bytes:
    call = stubs.matches.GetTranscript(pb.GetTranscriptRequest(match_id=match_id), metadata=stubs.bob)
    return b"".join([part.lines async for part in call])


async def test_comments_are_public_after_the_end(stubs: Stubs) -> None:
    match_id = (await stubs.match()).match_id
    rules = game("circle-of-life")
    position = rules.initial()
    said = [
        pb.MoveComment(evaluation=612, line=["a1", "b2"]),
        pb.MoveComment(line=["c3"]),
        pb.MoveComment(evaluation=0),
    ]
    moves = []
    for _ in said:
        moves.append(min(rules.moves(position)))
        position = rules.play(position, moves[-1])

    first = pb.SubmitMoveRequest(request_id="1", match_id=match_id, ply=0, move=moves[0], comment=said[0])
    await stubs.matches.SubmitMove(first, metadata=stubs.alice)

    stream = play_pb2_grpc.PlayServiceStub(stubs.served.channel).Play(metadata=stubs.bob)
    hello = play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0"))
    act = play_pb2.MoveAct(ply=1, move=moves[1], comment=said[1])
    move = play_pb2.PlayAct(request_id="2", match_id=match_id, move=act)
    await stream.write(play_pb2.PlayRequest(acts=[hello]))
    await stream.write(play_pb2.PlayRequest(acts=[move]))
    answers: list[pb.MoveAnswer] = []
    received = b""
    while not answers:
        response = await stream.read()
        assert isinstance(response, play_pb2.PlayResponse)
        received += response.SerializeToString()
        answers += [item.answer for item in response.items if item.WhichOneof("item") == "answer"]
    assert answers[0].HasField("receipt")

    third = pb.SubmitMoveRequest(request_id="3", match_id=match_id, ply=2, move=moves[2], comment=said[2])
    many = stubs.matches.SubmitMoves(iter([pb.SubmitMovesRequest(moves=[third])]), metadata=stubs.alice)
    assert [answer.HasField("receipt") async for part in many for answer in part.answers] == [True]

    before = await transcript(stubs, match_id)
    assert not (await seen(stubs, match_id)).comments
    assert b"evaluation" not in before
    assert b'"key"' not in before
    assert "%eval" not in write([read(line) for line in before.splitlines()])

    await stubs.matches.Resign(pb.ResignRequest(request_id="r", match_id=match_id), metadata=stubs.alice)
    match = await seen(stubs, match_id)
    assert list(match.moves) == moves
    assert [(each.ply, each.comment) for each in match.comments] == list(enumerate(said))
    assert not (await stubs.matches.GetMatch(pb.GetMatchRequest(match_id=match_id), metadata=stubs.bob)).match.comments
    verified = verify(await transcript(stubs, match_id), checking(public_keys(), holds))
    assert "[%eval 612] [%pv a1 b2]" in write(verified.events)
    stream.cancel()


async def test_a_comment_that_is_too_long_does_not_stop_a_move(stubs: Stubs) -> None:
    match_id = (await stubs.match()).match_id
    rules = game("circle-of-life")
    comment = pb.MoveComment(evaluation=-5, line=["x" * 100_000])
    move = min(rules.moves(rules.initial()))
    request = pb.SubmitMoveRequest(request_id="1", match_id=match_id, ply=0, move=move, comment=comment)
    assert (await stubs.matches.SubmitMove(request, metadata=stubs.alice)).receipt.ply == 1
    await stubs.matches.Resign(pb.ResignRequest(request_id="r", match_id=match_id), metadata=stubs.alice)
    assert not (await seen(stubs, match_id)).comments
