"""What is not play takes turns over every door, and is counted by the processor time that it takes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import match_pb2, play_pb2, play_pb2_grpc, player_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

from arbiter.bootstrap import wiring
from arbiter.bootstrap.wiring import wire
from arbiter.config import Limits, Settings
from arbiter.errors import Reason
from arbiter.games.registry import game
from arbiter.rpc.interceptor import PLAY
from arbiter.service.background import CALL_S, Background
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.play import ACT_S, OPENING_S
from arbiter.service.play.session import FREE_ACTS
from arbiter.service.ports.journal import Append, AppendThen, Stored
from arbiter.testing.served import memory_world
from tests.rpc.calls import Stubs, refused
from tests.rpc.methods import METHODS
from tests.rpc.test_limits import server

RULES = game("circle-of-life")
FIRST = min(RULES.moves(RULES.initial()))


class Noted:
    """What was run, and paid for afterwards, in the background."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.run: list[str] = []
        self.besides: list[float] = []
        self.spent: Counter[str] = Counter()
        run, spend = Background.run, Background.spend

        def noted(background: Background, work: Awaitable[Any], name: str, *more: Any, **named: Any) -> Any:
            self.run.append(name)
            self.besides.append(named.get("besides_s", 0.0))
            return run(background, work, name, *more, **named)

        async def spent(background: Background, name: str, seconds: float) -> None:
            self.spent[name] += round(seconds * 1_000_000)
            await spend(background, name, seconds)

        monkeypatch.setattr(Background, "run", noted)
        monkeypatch.setattr(Background, "spend", spent)


async def test_the_part_of_the_time_is_a_setting_and_all_of_it_where_no_player_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts: list[int] = []

    def noted(percent: int) -> Background:
        parts.append(percent)
        return Background(percent)

    monkeypatch.setattr(wiring, "Background", noted)
    async with server(background_percent=7):
        pass
    settings = Settings(limits=Limits(background_percent=7), listen="", web="127.0.0.1:0")
    async with AsyncExitStack() as stack:
        wire(settings, await stack.enter_async_context(memory_world(settings)))
    assert parts == [7, 100]


def test_the_calls_of_play_are_those_that_have_no_rate() -> None:
    assert {f"/arbiter.v1.{name.replace('.', '/')}" for name in METHODS} >= PLAY


async def test_calls_wait_for_their_turn_and_moves_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    async with server() as stubs:
        match_id = (await stubs.match()).match_id
        await stubs.players.GetPlayer(player_pb2.GetPlayerRequest(), metadata=stubs.alice)
        noted = Noted(monkeypatch)
        await stubs.players.GetPlayer(player_pb2.GetPlayerRequest(), metadata=stubs.alice)
        assert noted.run == ["player alice"]
        await stubs.move(1, match_id, 0, FIRST)
        assert noted.run == ["player alice"]
        nowhere = match_pb2.SubmitMoveRequest(match_id="nowhere", request_id="r", move="a1")
        await refused(stubs.matches.SubmitMove(nowhere, metadata=stubs.alice), Reason.MATCH_NOT_FOUND)
        assert noted.run == ["player alice"] * 2, "to be refused it waits"
        assert noted.besides == [CALL_S] * 2, "what gRPC does for a call counts too"


async def test_whoever_asks_without_a_token_takes_turns_too(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = Noted(monkeypatch)
    async with server() as stubs:
        health: Any = health_pb2_grpc.HealthStub(stubs.served.channel)
        await health.Check(health_pb2.HealthCheckRequest())
        await health_of(stubs).read()
        await reflection_of(stubs).read()
        opened = play_pb2_grpc.PlayServiceStub(stubs.served.channel).Play(metadata=[("authorization", "Bearer guess")])
        await refused(opened.read(), Reason.TOKEN_INVALID)
        assert noted.run == ["address 127.0.0.1"] * 4


async def test_an_address_has_as_many_streams_of_health_and_reflection_as_a_player_has() -> None:
    async with server(streams_of_player=1) as stubs:
        for opened in (health_of, reflection_of):
            first = opened(stubs)
            assert await first.read() is not grpc.aio.EOF
            await refused(opened(stubs).read(), Reason.RATE_LIMITED)
            first.cancel()


async def test_a_message_that_is_none_is_refused_without_a_token_too(caplog: pytest.LogCaptureFixture) -> None:
    async with server() as stubs:
        channel: Any = stubs.served.channel
        await refused(channel.unary_unary("/grpc.health.v1.Health/Check")(b"\xff"), Reason.ARGUMENT_INVALID)
        await refused(channel.unary_stream("/grpc.health.v1.Health/Watch")(b"\xff").read(), Reason.ARGUMENT_INVALID)
        asked = channel.stream_stream(f"/{reflection.SERVICE_NAME}/ServerReflectionInfo")()
        await asked.write(b"\xff")
        answer = reflection_pb2.ServerReflectionResponse.FromString(await asked.read())
        assert answer.error_response.error_code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
        asked.cancel()
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


def health_of(stubs: Stubs) -> Any:
    """Return a stream of the server's health."""
    stub: Any = health_pb2_grpc.HealthStub(stubs.served.channel)
    return stub.Watch(health_pb2.HealthCheckRequest())


def reflection_of(stubs: Stubs) -> Any:
    """Return a stream of reflection that has asked for the services."""
    channel: Any = stubs.served.channel
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)

    async def asked() -> AsyncIterator[Any]:
        yield reflection_pb2.ServerReflectionRequest(list_services="")
        await asyncio.Future()

    return stub.ServerReflectionInfo(asked())


def move(match_id: str, request_id: str) -> match_pb2.SubmitMoveRequest:
    return match_pb2.SubmitMoveRequest(match_id=match_id, request_id=request_id, move=FIRST)


async def test_on_a_stream_of_moves_those_cost_that_are_refused_or_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = Noted(monkeypatch)
    async with server() as stubs:
        match_id = (await stubs.match()).match_id
        call: Any = stubs.matches.SubmitMoves(metadata=stubs.alice)
        for moves, others in (
            ([move(match_id, "r")], 0),
            ([move(match_id, "r")], 0),  # it costs as soon as another move comes
            ([move("nowhere", "a"), move("nowhere", "b")], 2),
            ([move(match_id, "r")], 3),
        ):
            await call.write(match_pb2.SubmitMovesRequest(moves=moves))
            answered = 0
            while answered < len(moves):
                answered += len((await call.read()).answers)
            assert noted.spent["player alice"] == others * round(ACT_S * 1_000_000)
        call.cancel()


async def test_on_a_play_stream_acts_cost_that_are_no_moves_and_moves_that_are_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noted = Noted(monkeypatch)
    async with server() as stubs:
        match_id = (await stubs.match()).match_id
        call: Any = play_pb2_grpc.PlayServiceStub(stubs.served.channel).Play(metadata=stubs.alice)
        hello = play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0"))
        played = play_pb2.MoveAct(ply=0, move=FIRST)
        again = play_pb2.PlayAct(request_id="r", match_id=match_id, move=played)
        claim = play_pb2.PlayAct(request_id="c", match_id="nowhere", claim_draw=play_pb2.ClaimDrawAct())
        acts = [*[again] * 150, *[claim] * 150]
        await call.write(play_pb2.PlayRequest(acts=[hello, *acts]))
        answers = 0
        while answers < len(acts):
            answers += sum(item.WhichOneof("item") == "answer" for item in (await call.read()).items)
        paid = noted.spent["player alice"] / (ACT_S * 1_000_000)
        assert 0 < paid <= 2 * 150 - 1 - FREE_ACTS
        call.cancel()


async def test_a_move_that_is_sent_again_waits_as_a_refusal_does(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[Call] = []
    refusing = Admission.refused

    async def refused_too(admission: Admission, call: Call) -> None:
        waited.append(call)
        await refusing(admission, call)

    monkeypatch.setattr(Admission, "refused", refused_too)
    noted = Noted(monkeypatch)
    async with server() as stubs:
        match_id = (await stubs.match()).match_id
        first = await stubs.move(1, match_id, 0, FIRST)
        assert not waited
        assert not noted.spent
        assert await stubs.move(1, match_id, 0, FIRST) == first
        assert len(waited) == 1
        assert noted.spent == {"player alice": round(ACT_S * 1_000_000)}


async def test_no_work_takes_an_idle_event_loop_while_a_move_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = list[tuple[str, int]]()
    after_play = Background.after_play

    def noted(background: Background, append_then: AppendThen) -> AppendThen:
        def append(appended: Append, then: Stored) -> None:
            stored.extend((record.match_id, record.revision) for record in appended.records)
            append_then(appended, then)

        return after_play(background, append)

    monkeypatch.setattr(Background, "after_play", noted)
    async with server() as stubs:
        match_id = (await stubs.match()).match_id
        receipt = await stubs.move(1, match_id, 0, FIRST)
        assert (match_id, receipt.revision) in stored


async def test_play_streams_that_a_player_opens_too_often_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = Noted(monkeypatch)
    async with server(prompt_play_streams_a_minute=3) as stubs:
        hello = play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0"))
        for more in (0, 0, 0, 1, 2):
            call: Any = play_pb2_grpc.PlayServiceStub(stubs.served.channel).Play(metadata=stubs.alice)
            await call.write(play_pb2.PlayRequest(acts=[hello]))
            assert (await call.read()).items[0].WhichOneof("item") == "hello"
            assert noted.spent["player alice"] == more * round(OPENING_S * 1_000_000)
            call.cancel()
