"""How a run ends: the last requests are sent, the stream is closed, and running choices are cancelled."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import arbiter_client as arb
import grpc
import pytest
from arbiter_client import playing
from arbiter_protos.v1 import play_pb2, player_pb2

if TYPE_CHECKING:
    from conftest import Messages, Peer, Refuse

pytestmark = pytest.mark.long


class Thinker(arb.Bot):
    """Thinks until its choice is cancelled."""

    name = "thinker"

    def __init__(self) -> None:
        self.thinking = asyncio.Event()
        self.told = threading.Event()
        self.loop = asyncio.get_running_loop()

    def choose(self, turn: arb.Turn) -> str:
        self.loop.call_soon_threadsafe(self.thinking.set)
        while not turn.match.over:
            pass
        self.told.set()
        return "late"


async def start(peer: Any, bot: arb.Bot, **more: Any) -> tuple[asyncio.Task[None], Any]:
    task = asyncio.create_task(arb.play(bot, peer.address, token="secret", **more))
    stream = await peer.stream()
    await stream.meet()
    return task, stream


async def test_a_stop_closes_the_bots_side_and_waits_for_the_servers(peer: Peer, message: type[Messages]) -> None:
    bot = Thinker()
    task, stream = await start(peer, bot)
    await stream.say(turn=message.turn(0))
    await asyncio.wait_for(bot.thinking.wait(), 240)
    task.cancel()
    await stream.closed()
    assert await asyncio.to_thread(bot.told.wait, 240)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_queued_messages_are_sent_before_the_end(peer: Peer, message: type[Messages]) -> None:
    class Many(arb.Bot):
        async def choose(self, turn: arb.Turn) -> str:
            return "a"

        async def ended(self, finished: arb.FinishedMatch) -> None:
            chosen.set()

    chosen = asyncio.Event()
    task, stream = await start(peer, Many(), matches=5)
    turns = [play_pb2.PlayItem(turn=message.turn(0, f"m{number}")) for number in range(5)]
    await stream.context.write(play_pb2.PlayResponse(items=turns))
    for _ in turns:
        await stream.receipt(await stream.read("move"))
    for number, _ in enumerate(turns):
        await stream.say(ended=message.ended(f"m{number}", cursor=f"c{number}"))
        assert (await stream.read("acknowledge")).acknowledge.cursor == f"c{number}"
    await stream.closed()
    await task


async def test_a_server_that_does_not_end_the_stream_is_given_up(
    peer: Peer, message: type[Messages], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playing, "FAREWELL_WAIT_S", 0.05)
    listening = asyncio.Event()

    async def play(request_iterator: Any, context: Any) -> None:
        await context.write(
            play_pb2.PlayResponse(items=[play_pb2.PlayItem(hello=play_pb2.ServerHello(player="alice"))])
        )
        listening.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(peer, "play", play)
    task = asyncio.create_task(arb.play(Thinker(), peer.address, token="secret"))
    await asyncio.wait_for(listening.wait(), 240)
    task.cancel()
    await asyncio.wait_for(asyncio.wait([task]), 240)
    assert task.cancelled()


async def test_a_stop_between_two_connections_takes_effect_at_once(peer: Peer, refuse: Refuse) -> None:
    class Idle(arb.Bot):
        name = "idle"

        async def choose(self, turn: arb.Turn) -> str:
            raise AssertionError(turn)

    task, stream = await start(peer, Idle())
    stream.end.set_result(refuse("DRAINING", grpc.StatusCode.UNAVAILABLE, retry_after_ms="3600000"))
    await stream.gone()
    task.cancel()
    await asyncio.wait_for(asyncio.wait([task]), 240)  # and not after the hour that the server asked for
    assert task.cancelled()


async def test_a_message_that_is_too_large_ends_the_run(peer: Peer, refuse: Refuse) -> None:
    """It would be sent and refused again on every new stream."""
    bot = Thinker()
    task, stream = await start(peer, bot)
    stream.end.set_result(refuse("MESSAGE_TOO_LARGE", grpc.StatusCode.RESOURCE_EXHAUSTED))
    with pytest.raises(arb.ArbiterError, match="MESSAGE_TOO_LARGE"):
        await task


async def test_a_refused_hello_ends_the_run(peer: Peer, refuse: Refuse) -> None:
    task = asyncio.create_task(arb.play(Thinker(), peer.address, token="secret"))
    stream = await peer.stream()
    await stream.read("hello")
    stream.end.set_result(refuse("GAME_UNKNOWN", grpc.StatusCode.INVALID_ARGUMENT))
    with pytest.raises(arb.ArbiterError, match="GAME_UNKNOWN"):
        await task


THINKER = """
import sys
import arbiter_client as arb

class Stubborn(arb.Bot):
    name = "stubborn"
    seeks = [arb.Terms("pods")]

    def choose(self, turn):
        print("thinking", flush=True)
        while True:
            pass

arb.run(Stubborn(), sys.argv[1], token="secret", quiet=True)
print("done", flush=True)
"""


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
async def test_a_stop_ends_a_thinking_bot_and_withdraws_its_seeks(
    peer: Peer, message: type[Messages], told: signal.Signals
) -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", THINKER, peer.address, stdout=pipe, stderr=pipe
    )
    assert process.stdout is not None
    stream = await peer.stream()
    await stream.meet()
    await peer.until_asked("CreateSeek")
    await stream.say(turn=message.turn(0))
    assert await asyncio.wait_for(process.stdout.readline(), 240) == b"thinking\n"
    process.send_signal(told)
    withdrawn: player_pb2.DeclineChallengeRequest = await peer.until_asked("DeclineChallenge")
    await stream.closed()
    out, said = await asyncio.wait_for(process.communicate(), 240)
    assert (process.returncode, out, said) == (0, b"done\n", b"")
    assert withdrawn.challenge_id.startswith("s")
