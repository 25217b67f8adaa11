"""Play streams over real gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import (
    match_pb2,
    match_pb2_grpc,
    play_pb2,
    play_pb2_grpc,
    player_pb2,
    player_pb2_grpc,
    refusal_pb2,
    tournament_pb2,
    tournament_pb2_grpc,
)
from grpc_status import rpc_status

from arbiter.config import Limits
from arbiter.games.registry import game
from arbiter.service.players.accounts import Scope
from arbiter.testing.served import Served, served
from tests.rpc.servers import ONE_OR_TWO_COMPILED, served_by


@pytest.fixture(params=ONE_OR_TWO_COMPILED)
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Served]:
    async with served_by(request.param) as running:
        yield running


class Stub:
    """A small bot on the generated stubs."""

    def __init__(self, server: Served, metadata: list[tuple[str, str]]) -> None:
        self.call: Any = play_pb2_grpc.PlayServiceStub(server.channel).Play(metadata=metadata)
        self.items: list[play_pb2.PlayItem] = []

    async def say(self, *acts: play_pb2.PlayAct) -> None:
        await self.call.write(play_pb2.PlayRequest(acts=acts))

    async def hello(self, version: str = "1.0") -> None:
        await self.say(play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version=version)))

    async def move(self, match_id: str, ply: int, move: str, request: str) -> None:
        act = play_pb2.MoveAct(ply=ply, move=move)
        await self.say(play_pb2.PlayAct(request_id=request, match_id=match_id, move=act))

    async def next(self, kind: str) -> Any:
        """Return the next item of a kind; keep others for later, and answer pings."""
        while True:
            for n, item in enumerate(self.items):
                if item.WhichOneof("item") == kind:
                    del self.items[n]
                    return getattr(item, kind)
            response = await self.call.read()
            assert response is not grpc.aio.EOF, f"the stream ended before a {kind}"
            self.items += response.items
            for item in response.items:
                if item.WhichOneof("item") == "ping":
                    with suppress(grpc.RpcError, asyncio.InvalidStateError):  # the stream may have ended meanwhile
                        await self.say(play_pb2.PlayAct(pong=play_pb2.Pong(number=item.ping.number)))


async def refusal_of(call: Any) -> refusal_pb2.Refusal:
    status = rpc_status.from_call(await _ended(call))
    refusal = refusal_pb2.Refusal()
    assert status.details[0].Unpack(refusal)
    return refusal


async def _ended(call: Any) -> Any:
    code: grpc.StatusCode = await call.code()
    details: str = await call.details()
    trailers = await call.trailing_metadata()

    class Ended:
        def code(self) -> grpc.StatusCode:
            return code

        def details(self) -> str:
            return details

        def trailing_metadata(self) -> Any:
            return trailers

    return Ended()


async def connected(server: Served, name: str) -> Stub:
    stub = Stub(server, await server.token(name))
    await stub.hello()
    assert (await stub.next("hello")).player == name
    return stub


async def match_of(server: Served) -> str:
    metadata = await server.token("org", Scope.ORGANISE)
    for name in ("alice", "bob"):
        await server.token(name)
    request = match_pb2.CreateMatchRequest(
        request_id="r", game="circle-of-life", players=["alice", "bob"], time_control="5m"
    )
    made = await match_pb2_grpc.MatchServiceStub(server.channel).CreateMatch(request, metadata=metadata)
    return str(made.match.match_id)


async def test_two_bots_play_a_match_to_its_end(server: Served) -> None:
    bots = [await connected(server, "alice"), await connected(server, "bob")]
    match_id = await match_of(server)
    rules = game("circle-of-life")
    position, ply = rules.initial(), 0
    while position.outcome is None:
        mover = bots[position.turn - 1]
        turn = await mover.next("turn")
        assert (turn.match_id, turn.ply, turn.position, turn.seat) == (
            match_id,
            ply,
            rules.text(position),
            position.turn,
        )
        assert len(turn.clocks) == 2
        move = min(rules.moves(position))
        await mover.move(match_id, ply, move, f"m{ply}")
        receipt = (await mover.next("answer")).receipt
        assert receipt.ply == ply + 1
        assert (
            receipt.ledger.charged_ms + receipt.ledger.credited_ms
            == receipt.ledger.arrived_ms - receipt.ledger.started_ms
        )
        position, ply = rules.play(position, move), ply + 1
    for bot in bots:
        ended = await bot.next("ended")
        assert (ended.result.winner, ended.result.reason) == tuple(position.outcome)


async def test_a_move_sent_again_on_a_new_stream_gets_the_same_receipt(server: Served) -> None:
    alice, _ = await connected(server, "alice"), await connected(server, "bob")
    match_id = await match_of(server)
    turn = await alice.next("turn")
    rules = game("circle-of-life")
    move = min(rules.moves(rules.parse(turn.position)))
    await alice.move(match_id, 0, move, "same")
    first = (await alice.next("answer")).receipt
    again = await connected(server, "alice")
    await again.move(match_id, 0, move, "same")
    assert (await again.next("answer")).receipt == first
    assert (await alice.next("notice")).reason == refusal_pb2.REFUSAL_REASON_SESSION_SUPERSEDED
    assert (await refusal_of(alice.call)).reason == refusal_pb2.REFUSAL_REASON_SESSION_SUPERSEDED


async def test_a_refusal_does_not_end_the_stream_and_half_closing_gets_the_answers(server: Served) -> None:
    alice, _ = await connected(server, "alice"), await connected(server, "bob")
    match_id = await match_of(server)
    await alice.next("turn")
    await alice.move(match_id, 7, "a1", "early")
    assert (await alice.next("answer")).refusal.reason == refusal_pb2.REFUSAL_REASON_PLY_MISMATCH
    await alice.move(match_id, 0, "nonsense", "bad")
    await alice.call.done_writing()
    assert (await alice.next("answer")).refusal.reason == refusal_pb2.REFUSAL_REASON_MOVE_MALFORMED
    assert await alice.call.code() is grpc.StatusCode.OK


@pytest.mark.parametrize(
    ("acts", "reason"),
    [
        ([play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="2.0"))], "VERSION_UNSUPPORTED"),
        ([play_pb2.PlayAct(pong=play_pb2.Pong(number=1))], "ARGUMENT_INVALID"),
        ([], "ARGUMENT_INVALID"),
    ],
)
async def test_a_wrong_beginning_of_a_stream_is_refused(
    server: Served, acts: list[play_pb2.PlayAct], reason: str
) -> None:
    stub = Stub(server, await server.token("alice"))
    await stub.say(*acts)
    assert (await refusal_of(stub.call)).reason == refusal_pb2.RefusalReason.Value(f"REFUSAL_REASON_{reason}")


async def test_a_missing_hello_and_a_too_large_message() -> None:
    async with served(limits=Limits(silence_ms=1_000, ping_ms=500, message_bytes=2_048)) as server:
        quiet, loud = Stub(server, await server.token("alice")), Stub(server, await server.token("bob"))
        await loud.hello("1." + "0" * 3_000)
        assert (await refusal_of(loud.call)).reason == refusal_pb2.REFUSAL_REASON_MESSAGE_TOO_LARGE
        assert (await refusal_of(quiet.call)).reason == refusal_pb2.REFUSAL_REASON_SESSION_SILENT


async def test_suspension_ends_the_stream(server: Served) -> None:
    alice = await connected(server, "alice")
    await server.running.arbiter.accounts.suspend("alice", True)
    # A notice says so too, but a reader that sees the end first may miss it: the status always says it.
    with suppress(grpc.RpcError):
        while await alice.call.read() is not grpc.aio.EOF:
            pass
    assert (await refusal_of(alice.call)).reason == refusal_pb2.REFUSAL_REASON_PLAYER_SUSPENDED


async def test_seeks_and_tournaments_are_sent_on_request(server: Served) -> None:
    organiser = await server.token("org", Scope.ORGANISE)
    players = player_pb2_grpc.PlayerServiceStub(server.channel)
    tournaments = tournament_pb2_grpc.TournamentServiceStub(server.channel)
    bot = Stub(server, await server.token("bot"))
    hello = play_pb2.ClientHello(protocol_version="1.0", bot_version="7", seeks=True, tournaments=True)
    await bot.say(play_pb2.PlayAct(hello=hello))
    quiet = await connected(server, "quiet")

    terms = player_pb2.Terms(game="pods", time_control="1m", seat=1)
    asked = player_pb2.CreateSeekRequest(request_id="s", terms=terms)
    seek = (await players.CreateSeek(asked, metadata=await server.token("alice"))).seek
    assert await bot.next("seek") == seek

    spec = tournament_pb2.TournamentSpec(
        name="a cup",
        format=tournament_pb2.TOURNAMENT_FORMAT_ROUND_ROBIN,
        games=["pods", "hop-it"],
        time="1m",
        rated=False,
        entry=tournament_pb2.EntryRules(versions=["7"]),
        time_odds={"bot": "10s"},
    )
    made = await tournaments.CreateTournament(
        tournament_pb2.CreateTournamentRequest(request_id="t", spec=spec), metadata=organiser
    )
    cup = made.tournament.tournament_id
    called = await bot.next("tournament")
    assert called == play_pb2.TournamentCall(
        tournament_id=cup,
        name="a cup",
        format=tournament_pb2.TOURNAMENT_FORMAT_ROUND_ROBIN,
        games=made.tournament.spec.games,
        time_control="10s",
        phase=tournament_pb2.TOURNAMENT_PHASE_ENTRY,
        creator="org",
    )
    enter = tournament_pb2.EnterTournamentRequest(request_id="e", tournament_id=cup)
    await tournaments.EnterTournament(enter, metadata=await server.token("bot"))
    called.entered = True
    assert await bot.next("tournament") == called
    cancel = tournament_pb2.CancelTournamentRequest(request_id="c", tournament_id=cup)
    await tournaments.CancelTournament(cancel, metadata=organiser)
    called.phase = tournament_pb2.TOURNAMENT_PHASE_ENDED
    assert await bot.next("tournament") == called

    challenge = player_pb2.CreateChallengeRequest(request_id="c", opponent="quiet", terms=terms)
    await players.CreateChallenge(challenge, metadata=await server.token("alice"))
    await quiet.next("challenge")
    assert {item.WhichOneof("item") for item in quiet.items} <= {"ping"}, "nothing is sent that was not asked for"
