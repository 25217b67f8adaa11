"""A small bot on the generated stubs of the protocol that does everything right: the base class of misbehaving players.

It says hello, answers pings, plays the first legal move (in byte order) at every turn, and keeps all items that it
receives. It knows only the server's address, so it works with any server that speaks the protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self

import grpc
from arbiter_protos.v1 import match_pb2, play_pb2, refusal_pb2
from google.rpc import status_pb2

from arbiter.games.registry import game

PLAY = "/arbiter.v1.PlayService/Play"
PROTOCOL_VERSION = "1.0"


class StreamStatus(NamedTuple):
    """How a stream ended: its status code, and the refusal in the details of the status, if there is one."""

    code: grpc.StatusCode
    refusal: refusal_pb2.Refusal | None

    @property
    def reason(self) -> str:
        """The refusal's reason as in `arbiter.errors.Reason`, or '' if there is none."""
        return reason_of(self.refusal) if self.refusal is not None else ""


def reason_of(refusal: refusal_pb2.Refusal) -> str:
    """Return the reason of a refusal as in `arbiter.errors.Reason`."""
    return refusal_pb2.RefusalReason.Name(refusal.reason).removeprefix("REFUSAL_REASON_")


async def end_of(call: Any) -> StreamStatus:
    """Wait for the end of a call and return it."""
    code, trailers = await call.code(), await call.trailing_metadata()
    for name, value in trailers or ():
        if name == "grpc-status-details-bin":
            refusal = refusal_pb2.Refusal()
            if status_pb2.Status.FromString(value).details[0].Unpack(refusal):
                return StreamStatus(code, refusal)
    return StreamStatus(code, None)


def _bytes_of(message: play_pb2.PlayRequest | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.SerializeToString()


class BotClient:
    """A bot that does everything right, on one stream after another. As a context manager it connects and disconnects.

    items: all received items, in order. answers: the answers among them. results: the results of ended matches, by id.
    notices: the announced reasons for ends of streams. ends: how its streams ended, in order.
    """

    def __init__(self, channel: grpc.aio.Channel, metadata: Sequence[tuple[str, str]]) -> None:
        self._open = channel.stream_stream(
            PLAY, request_serializer=_bytes_of, response_deserializer=play_pb2.PlayResponse.FromString
        )
        self._metadata = list(metadata)
        self._writing = asyncio.Lock()
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None
        self._unread: Any = None  # the call that is no longer read
        self._hushed: Any = None  # the call on which nothing more is sent
        self.call: Any = None
        self.items: list[play_pb2.PlayItem] = []
        self.answers: list[match_pb2.MoveAnswer] = []
        self.results: dict[str, play_pb2.MatchEnded] = {}
        self.notices: list[refusal_pb2.Refusal] = []
        self.ends: list[StreamStatus] = []

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.call is not None:
            self.call.cancel()

    # -- for tests -------------------------------------------------------------------------------------------------

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on this player holds. Raises any failure of this player that happens meanwhile."""
        while not condition():
            self._changed.clear()
            await self._changed.wait()
            if self._failure is not None:
                raise self._failure

    async def result(self, match_id: str) -> match_pb2.Result:
        """Wait for the end of a match and return its result."""
        await self.until(lambda: match_id in self.results)
        return self.results[match_id].result

    async def first_item(self, kind: str) -> Any:
        """Wait for an item of a kind (a name of PlayItem.item); return the first one received."""
        await self.until(lambda: any(item.WhichOneof("item") == kind for item in self.items))
        return getattr(next(item for item in self.items if item.WhichOneof("item") == kind), kind)

    @property
    def refused(self) -> list[str]:
        """The reasons of all refusals that answered its requests, in order."""
        return [reason_of(answer.refusal) for answer in self.answers if answer.HasField("refusal")]

    @property
    def failure(self) -> BaseException | None:
        """The first failure of this player, or None."""
        return self._failure

    # -- behaviour -------------------------------------------------------------------------------------------------

    async def connect(self) -> None:
        """Open a stream, say hello on it, and start to read it."""
        self.open()
        await self.say(play_pb2.PlayAct(hello=self.hello()))

    def open(self) -> None:
        """Open a stream and read it; send nothing."""
        self.call = self._open(metadata=self._metadata)
        self.spawn(self._read(self.call))

    def hello(self) -> play_pb2.ClientHello:
        """Return the hello that the player sends."""
        return play_pb2.ClientHello(protocol_version=PROTOCOL_VERSION, software="arbiter-testing")

    def stop_reading(self) -> None:
        """Stop reading the stream, which stays open."""
        self._unread = self.call

    def read_again(self) -> None:
        """Resume reading after `stop_reading`, to see how the stream ended; nothing more is sent on it."""
        self._unread, self._hushed = None, self.call
        self.spawn(self._read(self.call))

    def let_go(self) -> None:
        """Drop the stream, as a lost connection does."""
        self.stop_reading()
        self.call.cancel()

    async def say(self, *acts: play_pb2.PlayAct) -> None:
        """Send acts in one message."""
        await self.write(play_pb2.PlayRequest(acts=acts))

    async def write(self, message: play_pb2.PlayRequest | bytes) -> None:
        """Send a message, or bytes in its place; a write to a stream that has ended is lost, as with any bot.

        After a notice that the stream will end, nothing is sent: a late message makes grpc.aio report an error of its
        own, INTERNAL, which hides the real status.
        """
        with suppress(grpc.RpcError, asyncio.InvalidStateError):
            async with self._writing:
                if self.call is not self._hushed:
                    await self.call.write(message)

    async def choose(self, turn: play_pb2.Turn) -> None:
        """Play at a turn. If a turn is sent again, the player sends the same request again."""
        await self.say(move_at(turn))

    async def answered(self, answer: match_pb2.MoveAnswer) -> None:
        """Process an answer; by default, do nothing."""

    async def pinged(self, ping: play_pb2.Ping) -> None:
        """Answer a ping."""
        await self.say(play_pb2.PlayAct(pong=play_pb2.Pong(number=ping.number)))

    # -- internals -------------------------------------------------------------------------------------------------

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a background task. It ends with this player, and `until` raises its failure."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failure = self._failure or task.exception()
        self._changed.set()

    async def _read(self, call: Any) -> None:
        with suppress(grpc.RpcError):
            while (response := await call.read()) is not grpc.aio.EOF:
                for item in response.items:
                    if item.HasField("notice"):
                        self._hushed = call
                    await self.take(item)
                    self._changed.set()
                    if call is self._unread:
                        return
        self.ends.append(await end_of(call))

    async def take(self, item: play_pb2.PlayItem) -> None:
        """Keep an item and react to it."""
        self.items.append(item)
        match item.WhichOneof("item"):
            case "ping":
                await self.pinged(item.ping)
            case "turn":
                await self.choose(item.turn)
            case "answer":
                self.answers.append(item.answer)
                await self.answered(item.answer)
            case "ended":
                self.results[item.ended.match_id] = item.ended
            case "notice":
                self.notices.append(item.notice)


def move_at(turn: play_pb2.Turn, move: str = "", ply: int | None = None, request_id: str = "") -> play_pb2.PlayAct:
    """Return the act that plays a move at a turn; by default the first legal move, for the turn's ply."""
    rules = game(turn.game)
    return play_pb2.PlayAct(
        request_id=request_id or f"{turn.match_id} {turn.ply}",
        match_id=turn.match_id,
        move=play_pb2.MoveAct(
            ply=turn.ply if ply is None else ply, move=move or min(rules.moves(rules.parse(turn.position)))
        ),
    )
