"""How much a client may send and keep open: each limit is published and has a refusal; none concerns moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import game_pb2, match_pb2, play_pb2, player_pb2, server_pb2, server_pb2_grpc

from arbiter.bootstrap.world import World
from arbiter.config import Credit, Limits, Matches, Settings
from arbiter.errors import Reason
from arbiter.games.registry import game
from arbiter.rpc.grpc_server import METADATA_BYTES
from arbiter.rpc.unread import Unread
from arbiter.service.ports.rules import ListedMove, Listing
from arbiter.testing.memory import PlainRules
from arbiter.testing.served import memory_world, served
from tests.rpc.calls import Stubs, refused

RULES = game("circle-of-life")
FIRST = min(RULES.moves(RULES.initial()))
INFO = server_pb2.GetServerInfoRequest()


@asynccontextmanager
async def server(**limits: int) -> AsyncIterator[Stubs]:
    """Run a server with some limits."""
    async with served(limits=Limits(**limits)) as running:
        yield await Stubs(running).enter()


async def test_every_limit_is_published() -> None:
    async with server(tokens_of_player=7) as stubs:
        published = (await stubs.server.GetServerInfo(INFO)).limits
    numbers = [name for name, field in Matches.model_fields.items() if field.annotation is not str]
    names = [*Limits.model_fields, *Credit.model_fields, *numbers]
    assert len(set(names)) == len(names)
    assert set(published) == set(names)
    assert published["tokens_of_player"] == 7


# -- how much at once --------------------------------------------------------------------------------------------------


async def test_the_number_of_items_in_a_message() -> None:
    async with server(message_items=3) as stubs:
        match_id = (await stubs.match()).match_id
        moves = [match_pb2.SubmitMoveRequest(request_id=f"{n}", match_id=match_id, move=FIRST) for n in range(4)]
        three = stubs.matches.SubmitMoves(iter([match_pb2.SubmitMovesRequest(moves=moves[:3])]), metadata=stubs.alice)
        assert sum([len(response.answers) async for response in three]) == 3
        four = stubs.matches.SubmitMoves(iter([match_pb2.SubmitMovesRequest(moves=moves)]), metadata=stubs.alice)
        await refused(four, Reason.MESSAGE_TOO_LARGE, limit="3", what="4")
        hello = play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0"))
        acts = play_pb2.PlayRequest(acts=[hello] * 4)
        play: Any = stubs.served.channel.stream_stream(
            "/arbiter.v1.PlayService/Play", play_pb2.PlayRequest.SerializeToString, play_pb2.PlayResponse.FromString
        )
        await refused(play(iter([acts]), metadata=stubs.alice), Reason.MESSAGE_TOO_LARGE, limit="3", what="4")


async def test_the_number_of_tokens_and_invitations() -> None:
    async with server(tokens_of_player=3, open_invitations=2) as stubs:
        create, asked = stubs.players.CreateToken, player_pb2.CreateTokenRequest()
        made = [await create(asked, metadata=stubs.alice) for _ in range(2)]  # including the one that she calls with
        await refused(create(asked, metadata=stubs.alice), Reason.RATE_LIMITED, limit="3", retry_after_ms="0")
        asked.player = "alice"
        await refused(create(asked, metadata=stubs.admin), Reason.RATE_LIMITED, limit="3")
        revoke = player_pb2.RevokeTokenRequest(token_id=made[0].token.token_id)
        await stubs.players.RevokeToken(revoke, metadata=stubs.alice)
        await create(asked, metadata=stubs.alice)
        invite = stubs.players.CreateInvitation
        for _ in range(2):
            await invite(player_pb2.CreateInvitationRequest(), metadata=stubs.admin)
        await refused(
            invite(player_pb2.CreateInvitationRequest(), metadata=stubs.admin), Reason.RATE_LIMITED, limit="2"
        )


async def first_of(call: Any) -> Any:
    """Return the first message of a stream, which is open then."""
    return await anext(aiter(call))


@pytest.mark.long
async def test_streams_of_a_player_are_counted_by_kind() -> None:
    async with server(streams_of_player=2) as stubs:
        match_id = (await stubs.match()).match_id
        everything = match_pb2.ObserveRequest(all=match_pb2.ObserveAll())
        held = [stubs.matches.Observe(everything, metadata=stubs.alice) for _ in range(2)]
        for call in held:
            await first_of(call)
        third = first_of(stubs.matches.Observe(everything, metadata=stubs.alice))  # the whole stream would never end
        await refused(third, Reason.RATE_LIMITED, limit="2")
        assert await first_of(stubs.matches.Observe(everything, metadata=stubs.bob))
        moves = [match_pb2.SubmitMoveRequest(request_id="a", match_id=match_id, move=FIRST)]
        playing = stubs.matches.SubmitMoves(iter([match_pb2.SubmitMovesRequest(moves=moves)]), metadata=stubs.alice)
        assert (await first_of(playing)).answers[0].receipt.ply == 1
        held[0].cancel()
        await again(lambda: first_of(stubs.matches.Observe(everything, metadata=stubs.alice)))


async def again(ask: Any) -> None:
    """Repeat a call until it is no longer refused: the server notices a closed stream a moment later."""
    for _ in range(1_000):
        try:
            await ask()
        except grpc.aio.AioRpcError:
            continue
        return
    pytest.fail("refused for good")


class Endless(PlainRules):
    """Rules whose lists are far longer than an unread connection takes; `taken` counts the chunks that were sent."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = 0

    async def legal_moves(self, caller: str, variant: str, position: str, moves: Sequence[str], steps: bool) -> Listing:
        """Return a list of a hundred million moves."""

        def chunks() -> Iterator[list[ListedMove]]:
            for _ in range(50_000):
                self.taken += 1
                yield [ListedMove("x" * 40)] * 2_000

        return Listing("p", 100_000_000, chunks())


@pytest.mark.long
async def test_an_unread_answer_ends_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Unread, "close", lambda *given: None)  # the reader may read that as late as it likes
    rules = Endless()

    @asynccontextmanager
    async def world(settings: Settings) -> AsyncIterator[World]:
        async with memory_world(settings) as plain:
            yield plain._replace(rules=rules)

    limits = Limits(silence_ms=1_000, ping_ms=500, rules_waiting=2)
    async with served(world, limits=limits) as running:
        stubs = Stubs(running)
        request = game_pb2.LegalMovesRequest(line=game_pb2.LineOfPlay(game="pods"))
        unread = [stubs.games.LegalMoves(request) for _ in range(2)]
        for call in unread:
            await first_of(call)
        await refused(stubs.games.LegalMoves(request), Reason.RATE_LIMITED, limit="2")
        while True:  # until both streams have ended: then two more are accepted
            others = [stubs.games.LegalMoves(request) for _ in range(2)]
            try:
                for call in others:
                    await first_of(call)
            except grpc.aio.AioRpcError:
                continue
            finally:
                for call in others:
                    call.cancel()
            break
        await refused(unread[0], Reason.READER_TOO_SLOW, resume_from="")
        assert rules.taken < 5_000


# -- below the calls ---------------------------------------------------------------------------------------------------


async def test_the_number_of_connections_and_of_calls_on_one() -> None:
    async with server(connection_streams=2, connections=2) as stubs:
        everything = match_pb2.ObserveRequest(all=match_pb2.ObserveAll())
        held = [stubs.matches.Observe(everything, metadata=stubs.alice) for _ in range(2)]
        for call in held:
            await first_of(call)
        third = asyncio.ensure_future(stubs.server.GetServerInfo(INFO))
        own = [("grpc.use_local_subchannel_pool", 1)]  # else it would share the connection
        address = stubs.served.address
        async with (
            grpc.aio.insecure_channel(address, options=own) as other,
            grpc.aio.insecure_channel(address, options=own) as beyond,
        ):
            second: Any = server_pb2_grpc.ServerServiceStub(other)
            for _ in range(20):  # each would be long enough for the waiting call
                await second.GetServerInfo(INFO)
            another: Any = server_pb2_grpc.ServerServiceStub(beyond)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await another.GetServerInfo(INFO, timeout=240)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert not third.done()
        held[0].cancel()
        assert (await third).limits["connections"] == 2


async def test_an_idle_connection_is_closed_and_one_with_a_stream_is_not() -> None:
    async with server(idle_connection_ms=1_000) as stubs:
        own = [("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(stubs.served.address, options=own) as other:
            idle: Any = server_pb2_grpc.ServerServiceStub(other)
            everything = match_pb2.ObserveRequest(all=match_pb2.ObserveAll())
            held = stubs.matches.Observe(everything, metadata=stubs.alice)
            await held.read()
            await idle.GetServerInfo(INFO)
            await asyncio.wait_for(other.wait_for_state_change(grpc.ChannelConnectivity.READY), 240)
            assert stubs.served.channel.get_state() is grpc.ChannelConnectivity.READY
            assert (await idle.GetServerInfo(INFO)).software == "arbiter"  # the channel connects again
            await stubs.match()
            assert (await held.read()).items


async def test_headers_have_a_maximal_size() -> None:
    async with server() as stubs:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stubs.server.GetServerInfo(INFO, metadata=[("x-more", "y" * (METADATA_BYTES + 1))])
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (await stubs.server.GetServerInfo(INFO, metadata=[("x-more", "y" * 8_000)])).software == "arbiter"
