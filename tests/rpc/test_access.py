"""Suspending a player or revoking a token ends open streams of every kind at once; matches go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import match_pb2, play_pb2, play_pb2_grpc, player_pb2

from arbiter.errors import Reason
from arbiter.games.registry import game
from tests.rpc.calls import Metadata, Stubs, refused

RULES = game("circle-of-life")
FIRST = min(RULES.moves(RULES.initial()))
HELLO = play_pb2.PlayRequest(acts=[play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0"))])


async def observing_all(stubs: Stubs, match_id: str, own: Metadata) -> Any:
    """Open a stream of all matches."""
    call = stubs.matches.Observe(match_pb2.ObserveRequest(all=match_pb2.ObserveAll()), metadata=own)
    await call.read()
    return call


async def observing_a_match(stubs: Stubs, match_id: str, own: Metadata) -> Any:
    """Open a stream of one match."""
    one = match_pb2.ObserveMatch(match_id=match_id)
    call = stubs.matches.Observe(match_pb2.ObserveRequest(match=one), metadata=own)
    await call.read()
    return call


async def submitting(stubs: Stubs, match_id: str, own: Metadata) -> Any:
    """Open a stream of moves, with one move played."""
    call = stubs.matches.SubmitMoves(metadata=own)
    move = match_pb2.SubmitMoveRequest(request_id="a", match_id=match_id, move=FIRST)
    await call.write(match_pb2.SubmitMovesRequest(moves=[move]))
    assert (await call.read()).answers[0].receipt.ply == 1
    return call


async def playing(stubs: Stubs, match_id: str, own: Metadata) -> Any:
    """Open a Play stream."""
    stub: Any = play_pb2_grpc.PlayServiceStub(stubs.served.channel)
    call = stub.Play(metadata=own)
    await call.write(HELLO)
    assert (await call.read()).items[0].hello.player == "alice"
    return call


async def playing_without_hello(stubs: Stubs, match_id: str, own: Metadata) -> Any:
    """Open a Play stream without sending a hello."""
    stub: Any = play_pb2_grpc.PlayServiceStub(stubs.served.channel)
    return stub.Play(metadata=own)


async def rest(call: Any) -> None:
    """Read the rest of a stream."""
    while await call.read() is not grpc.aio.EOF:
        pass


OPEN = (observing_all, observing_a_match, submitting, playing)


@pytest.mark.parametrize("open_stream", OPEN, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("deed", ["revoke", "suspend"])
async def test_open_streams_end_at_once(stubs: Stubs, open_stream: Callable[..., Any], deed: str) -> None:
    match_id = (await stubs.match()).match_id
    made = await stubs.players.CreateToken(player_pb2.CreateTokenRequest(), metadata=stubs.alice)
    own = [("authorization", f"Bearer {made.secret}")]
    call = await open_stream(stubs, match_id, own)
    if deed == "revoke":
        revoke = player_pb2.RevokeTokenRequest(token_id=made.token.token_id)
        await stubs.players.RevokeToken(revoke, metadata=stubs.alice)
        await refused(rest(call), Reason.TOKEN_INVALID)
        assert (
            await stubs.players.GetPlayer(player_pb2.GetPlayerRequest(), metadata=stubs.alice)
        ).player.name == "alice"
    else:
        suspend = player_pb2.SuspendPlayerRequest(name="alice", suspended=True)
        await stubs.players.SuspendPlayer(suspend, metadata=stubs.admin)
        await refused(rest(call), Reason.PLAYER_SUSPENDED, id="alice")


async def test_a_stream_that_has_not_said_hello_gets_nothing_after_its_token_is_revoked(stubs: Stubs) -> None:
    made = await stubs.players.CreateToken(player_pb2.CreateTokenRequest(), metadata=stubs.alice)
    call = await playing_without_hello(stubs, "", [("authorization", f"Bearer {made.secret}")])
    await call.wait_for_connection()
    revoke = player_pb2.RevokeTokenRequest(token_id=made.token.token_id)
    await stubs.players.RevokeToken(revoke, metadata=stubs.alice)
    with suppress(asyncio.InvalidStateError):  # the stream has ended already
        await call.write(HELLO)
    await refused(rest(call), Reason.TOKEN_INVALID)


async def test_a_match_goes_on_when_its_player_is_suspended(stubs: Stubs) -> None:
    match_id = (await stubs.match()).match_id
    suspend = player_pb2.SuspendPlayerRequest(name="alice", suspended=True)
    await stubs.players.SuspendPlayer(suspend, metadata=stubs.admin)
    await refused(stubs.move(1, match_id, 0, FIRST), Reason.PLAYER_SUSPENDED, id="alice")
    asked = match_pb2.GetMatchRequest(match_id=match_id)
    assert (await stubs.matches.GetMatch(asked, metadata=stubs.bob)).match.phase == match_pb2.PHASE_ACTIVE
    suspend.suspended = False
    await stubs.players.SuspendPlayer(suspend, metadata=stubs.admin)
    assert (await stubs.move(1, match_id, 0, FIRST)).ply == 1
