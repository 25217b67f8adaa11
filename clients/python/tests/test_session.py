"""The session: connecting, pings, repeated requests after a reconnection, and the ends of a stream."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import arbiter_client as arb
import grpc
import pytest
from arbiter_client.backoff import Backoff
from arbiter_protos.v1 import match_pb2, play_pb2, play_pb2_grpc, player_pb2_grpc
from grpc import StatusCode

if TYPE_CHECKING:
    from conftest import Messages, Peer, Refuse

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
WAIT_S = 240.0


class FixedBot(arb.Bot):
    """Plays the letter of the alphabet with the number of the ply."""

    name = "fixed"
    version = "7"
    games = ("pods",)
    most_matches = 3
    extras = arb.Extras(board=True, legal_moves_up_to=9)

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def choose(self, turn: arb.Turn) -> arb.Choice | Awaitable[arb.Choice]:
        self.calls.append(turn)
        return chr(97 + turn.ply)

    def started(self, match: arb.LiveMatch) -> None:
        self.calls.append(("started", match.match_id))

    def ended(self, finished: arb.FinishedMatch) -> Awaitable[None] | None:
        self.calls.append(("ended", finished.match_id, finished.score))
        return None


@asynccontextmanager
async def playing(peer: Any, bot: arb.Bot, **more: Any) -> Any:
    """Connect a bot to the peer during the block."""
    task = asyncio.create_task(arb.play(bot, peer.address, token="secret", **more))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_bot_sends_a_hello_and_plays_a_match(peer: Peer, message: type[Messages]) -> None:
    bot = FixedBot()
    async with playing(peer, bot, matches=1) as task:
        stream = await peer.stream()
        hello = await stream.meet()
        assert (hello.protocol_version, hello.bot_name, hello.bot_version) == ("1.0", "fixed", "7")
        assert (list(hello.games), hello.most_matches) == (["pods"], 3)
        assert (hello.software, hello.extras.board, hello.extras.legal_moves_up_to) == (
            "arbiter-client-python",
            True,
            9,
        )
        assert dict(stream.context.invocation_metadata())["authorization"] == "Bearer secret"
        await stream.say(match=message.match(), turn=message.turn(0))
        move = await stream.read("move")
        assert (move.match_id, move.move.ply, move.move.move) == ("m1", 0, "a")
        await stream.receipt(move)
        await stream.say(turn=message.turn(2))
        move = await stream.read("move")
        assert (move.move.ply, move.move.move) == (2, "c")
        await stream.receipt(move)
        await stream.say(ended=message.ended())
        assert (await stream.read("acknowledge")).acknowledge.cursor == "c1"
        await stream.closed()
        await task
    turns = [call for call in bot.calls if isinstance(call, arb.Turn)]
    assert bot.calls[0] == ("started", "m1")
    assert bot.calls[-1] == ("ended", "m1", 1.0)
    assert [turn.position for turn in turns] == ["after 0", "after 2"]
    assert turns[0].match is turns[1].match
    assert turns[1].match.moves == ("a", "b", "c")
    assert turns[1].match.time_control == "1m+1s"
    assert turns[1].match.over


async def test_a_result_is_acknowledged_only_after_the_callback(peer: Peer, message: type[Messages]) -> None:
    seen = asyncio.Event()
    go_on = asyncio.Event()

    class Slow(FixedBot):
        async def ended(self, finished: arb.FinishedMatch) -> None:
            seen.set()
            await go_on.wait()

    async with playing(peer, Slow()):
        stream = await peer.stream()
        await stream.meet()
        await stream.say(ended=message.ended())
        await asyncio.wait_for(seen.wait(), 240)
        await stream.say(ping=play_pb2.Ping(number=5))
        assert (await stream.read("pong")).pong.number == 5
        go_on.set()
        assert (await stream.read("acknowledge")).acknowledge.cursor == "c1"


async def test_pings_are_answered_while_the_bot_thinks(peer: Peer, message: type[Messages]) -> None:
    thinking, done = threading.Event(), threading.Event()

    class Thinker(FixedBot):
        def choose(self, turn: arb.Turn) -> str:
            thinking.set()
            assert done.wait(240)
            return "a"

    async with playing(peer, Thinker()):
        stream = await peer.stream()
        await stream.meet()
        await stream.say(turn=message.turn(0))
        assert await asyncio.to_thread(thinking.wait, 240)
        for number in range(20):
            await stream.say(ping=play_pb2.Ping(number=number))
            assert (await stream.read("pong")).pong.number == number
        done.set()
        assert (await stream.read("move")).move.move == "a"


async def test_an_unanswered_move_is_sent_again_with_the_same_id(
    peer: Peer, message: type[Messages], refuse: Refuse
) -> None:
    bot = FixedBot()
    async with playing(peer, bot):
        first = await peer.stream()
        await first.meet()
        await first.say(turn=message.turn(0))
        sent = await first.read("move")
        first.end.set_result(refuse("DRAINING", UNAVAILABLE, retry_after_ms="1"))
        second = await peer.stream()
        await second.meet()
        await second.say(match=message.match(), turn=message.turn(0))
        again = await second.read("move")
        assert again == sent
        await second.receipt(again)
        await second.receipt(again)  # received twice
        await second.say(turn=message.turn(0))  # received late
        await second.say(turn=message.turn(2))
        assert (await second.read("move")).move.ply == 2
    assert [turn.ply for turn in bot.calls if isinstance(turn, arb.Turn)] == [0, 2]


async def test_a_running_choice_survives_its_stream(peer: Peer, message: type[Messages], refuse: Refuse) -> None:
    thinking, done = threading.Event(), threading.Event()
    calls = []

    class Thinker(FixedBot):
        def choose(self, turn: arb.Turn) -> str:
            calls.append(turn.ply)
            thinking.set()
            assert done.wait(240)
            return "a"

    async with playing(peer, Thinker()):
        first = await peer.stream()
        await first.meet()
        await first.say(turn=message.turn(0))
        assert await asyncio.to_thread(thinking.wait, 240)
        first.end.set_result(None)
        second = await peer.stream()
        await second.meet()
        await second.say(match=message.match(), turn=message.turn(0), ping=play_pb2.Ping(number=1))
        await second.read("pong")
        done.set()
        assert (await second.read("move")).move.move == "a"
    assert calls == [0]


async def test_only_the_hello_is_sent_before_the_servers_hello(
    peer: Peer, message: type[Messages], refuse: Refuse
) -> None:
    async with playing(peer, FixedBot()):
        first = await peer.stream()
        await first.meet()
        await first.say(turn=message.turn(0))
        sent = await first.read("move")
        first.end.set_result(None)
        second = await peer.stream()
        await second.read("hello")
        await second.say(ping=play_pb2.Ping(number=3))
        await second.read("pong")
        await second.say(hello=play_pb2.ServerHello(player="alice", silence_most_ms=60_000))
        assert await second.read("move") == sent


async def test_a_silent_server_is_given_up(peer: Peer) -> None:
    async with playing(peer, FixedBot()):
        first = await peer.stream()
        await first.meet(silence_most_ms=20)
        second = await peer.stream()
        await second.meet()


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("SESSION_SUPERSEDED", grpc.StatusCode.ABORTED),
        ("TOKEN_INVALID", grpc.StatusCode.UNAUTHENTICATED),
        ("SCOPE_MISSING", grpc.StatusCode.PERMISSION_DENIED),
        ("VERSION_UNSUPPORTED", grpc.StatusCode.FAILED_PRECONDITION),
    ],
)
async def test_a_run_ends_if_the_server_refuses_the_session(
    peer: Peer, refuse: Refuse, reason: str, code: StatusCode
) -> None:
    async with playing(peer, FixedBot()) as task:
        stream = await peer.stream()
        await stream.meet()
        stream.end.set_result(refuse(reason, code))
        with pytest.raises(arb.ArbiterError, match=reason) as caught:
            await task
    assert caught.value.reason == arb.Reason(reason)
    assert peer.streams.empty()


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("READER_TOO_SLOW", grpc.StatusCode.ABORTED),
        ("SESSION_SILENT", grpc.StatusCode.ABORTED),
        ("RATE_LIMITED", grpc.StatusCode.RESOURCE_EXHAUSTED),
        ("DRAINING", grpc.StatusCode.UNAVAILABLE),
    ],
)
async def test_a_bot_that_was_connected_once_reconnects(
    peer: Peer, refuse: Refuse, reason: str, code: StatusCode
) -> None:
    """However short its patience is."""
    async with playing(peer, FixedBot(), patience_s=0):
        for _ in range(2):
            stream = await peer.stream()
            await stream.meet()
            stream.end.set_result(refuse(reason, code, retry_after_ms="1"))
        await (await peer.stream()).meet()


async def test_the_notice_counts_if_the_status_has_no_reason(peer: Peer, refuse: Refuse) -> None:
    async with playing(peer, FixedBot()) as task:
        stream = await peer.stream()
        await stream.meet()
        await stream.say(notice=refuse("SESSION_SUPERSEDED", grpc.StatusCode.ABORTED))
        stream.end.set_result(None)
        with pytest.raises(arb.ArbiterError, match="SESSION_SUPERSEDED"):
            await task


async def test_a_later_turn_cancels_the_choice_of_an_earlier_one(peer: Peer, message: type[Messages]) -> None:
    thinking, left = asyncio.Event(), asyncio.Event()

    class Endless(FixedBot):
        async def choose(self, turn: arb.Turn) -> str:
            if turn.ply == 0:
                thinking.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    left.set()
            return "c"

    async with playing(peer, Endless()):
        stream = await peer.stream()
        await stream.meet()
        await stream.say(turn=message.turn(0))
        await asyncio.wait_for(thinking.wait(), 240)
        await stream.say(turn=message.turn(2))
        move = await stream.read("move")
        assert (move.move.ply, move.move.move) == (2, "c")
        assert left.is_set()


async def test_the_ends_of_matches_are_handled_at_once_and_acknowledged_in_order(
    peer: Peer, message: type[Messages]
) -> None:
    calls: list[str] = []
    second, go_on = asyncio.Event(), asyncio.Event()

    class Slow(FixedBot):
        async def ended(self, finished: arb.FinishedMatch) -> None:
            calls.append(finished.match_id)
            if finished.match_id == "m1":
                await go_on.wait()
            second.set()

    async with playing(peer, Slow()):
        stream = await peer.stream()
        await stream.meet()
        await stream.say(ended=message.ended("m1", "c1"))
        await stream.say(ended=message.ended("m2", "c2"))
        await asyncio.wait_for(second.wait(), 240)
        assert calls == ["m1", "m2"]
        await stream.say(ping=play_pb2.Ping(number=1))
        await stream.read("pong")  # and no acknowledgement: that of the second match would include the first
        go_on.set()
        acknowledged = [await stream.read("acknowledge") for _ in range(2)]
    assert [act.acknowledge.cursor for act in acknowledged] == ["c1", "c2"]


async def test_a_repeated_result_is_acknowledged_again_and_not_passed_to_the_bot_again(
    peer: Peer, message: type[Messages]
) -> None:
    bot = FixedBot()
    async with playing(peer, bot):
        first = await peer.stream()
        await first.meet()
        await first.say(ended=message.ended())
        await first.read("acknowledge")
        first.end.set_result(None)
        second = await peer.stream()
        await second.meet()
        await second.say(ended=message.ended())
        assert (await second.read("acknowledge")).acknowledge.cursor == "c1"
    assert [call for call in bot.calls if call[0] == "ended"] == [("ended", "m1", 1.0)]


@pytest.mark.parametrize("code", [None, UNAVAILABLE, grpc.StatusCode.INTERNAL])
async def test_moves_that_a_turn_does_not_have_are_requested(
    peer: Peer, message: type[Messages], refuse: Refuse, code: StatusCode | None
) -> None:
    bot = FixedBot()
    peer.refusals["GetMatch"] = [] if code is None else [refuse("UNSPECIFIED", code)] * 2
    peer.matches["m1"] = match_pb2.Match(match_id="m1", moves=["a", "b", "c", "d", "e", "f"])
    async with playing(peer, bot):
        stream = await peer.stream()
        await stream.meet()
        late = message.turn(4)
        del late.last_moves[:2]
        await stream.say(turn=late)
        await stream.read("move")
    assert bot.calls[-1].match.moves == ("a", "b", "c", "d")
    assert bot.calls[-1].line == arb.Line("pods", "", ("a", "b", "c", "d"))


@pytest.mark.parametrize("failing", ["the moves", "the choice"])
async def test_what_waits_for_the_arbiter_goes_on_with_the_next_stream(
    peer: Peer, message: type[Messages], refuse: Refuse, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """The player's clock may run from the hello on, and the pauses of calls have become long in the outage."""
    monkeypatch.setattr("arbiter_client.runner.Backoff", lambda: Backoff(first_s=WAIT_S, most_s=WAIT_S))
    failed = asyncio.Event()

    class Asking(FixedBot):
        async def choose(self, turn: arb.Turn) -> arb.Choice:
            if failing == "the choice" and not failed.is_set():
                failed.set()
                raise arb.ConnectionFailed("there is nobody")
            return "a"

    late = message.turn(4)
    if failing == "the moves":
        del late.last_moves[:2]
        peer.refusals["GetMatch"] = [refuse("UNSPECIFIED", UNAVAILABLE)]
    peer.matches["m1"] = match_pb2.Match(match_id="m1", moves=["a", "b", "c", "d"])
    async with playing(peer, Asking(), patience_s=0), asyncio.timeout(WAIT_S / 4):
        first = await peer.stream()
        await first.meet()
        await first.say(turn=late)
        while failing == "the moves" and peer.refusals["GetMatch"]:  # noqa: ASYNC110 - the peer tells nobody
            await asyncio.sleep(0)
        if failing == "the choice":
            await failed.wait()
        first.end.set_result(None)
        second = await peer.stream()
        await second.meet()
        assert (await second.read("move")).move.ply == 4


async def test_unknown_items_and_answers_are_ignored(peer: Peer, message: type[Messages]) -> None:
    async with playing(peer, FixedBot()):
        stream = await peer.stream()
        await stream.meet()
        unknown = play_pb2.PlayItem.FromString(b"\xfa\x7f\x03abc")  # field 2047
        assert unknown.WhichOneof("item") is None
        await stream.context.write(play_pb2.PlayResponse(items=[unknown]))
        stray = match_pb2.MoveAnswer(request_id="nobody's", match_id="m7")
        await stream.say(answer=stray, turn=message.turn(0))
        assert (await stream.read("move")).move.move == "a"


async def test_a_missing_server_gets_one_clear_sentence() -> None:
    with pytest.raises(arb.ConnectionFailed, match=r"no arbiter answers at 127\.0\.0\.1:1: is it running"):
        await arb.play(FixedBot(), "127.0.0.1:1", token="secret", patience_s=0)


async def test_a_first_try_that_takes_longer_than_the_patience_is_not_the_last(peer: Peer, refuse: Refuse) -> None:
    async with playing(peer, FixedBot(), patience_s=0.2):
        stream = await peer.stream()
        await asyncio.sleep(0.2)  # nothing to wait for: this is a slow machine
        stream.end.set_result(refuse("STORE_UNAVAILABLE", grpc.StatusCode.UNAVAILABLE, retry_after_ms="1"))
        await (await peer.stream()).meet()


async def test_a_player_registers_once_the_server_answers(peer: Peer) -> None:
    knocked = asyncio.Event()

    async def turn_away(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        knocked.set()
        writer.close()

    closed = await asyncio.start_server(turn_away, "127.0.0.1", 0)
    address = f"127.0.0.1:{closed.sockets[0].getsockname()[1]}"
    task = asyncio.create_task(arb.play(FixedBot(), address, name="alice"))
    await asyncio.wait_for(knocked.wait(), 240)
    closed.close()
    await closed.wait_closed()
    server = grpc.aio.server()
    play_pb2_grpc.add_PlayServiceServicer_to_server(peer, server)
    player_pb2_grpc.add_PlayerServiceServicer_to_server(peer, server)
    assert server.add_insecure_port(address)
    await server.start()
    await (await peer.stream()).meet()
    assert list(peer.tokens.values()) == ["alice"]
    task.cancel()
    await asyncio.wait([task])
    await server.stop(grace=None)
