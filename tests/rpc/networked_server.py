"""A server behind a network with delays, and bots with clocks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import grpc
from arbiter_protos.v1 import match_pb2, match_pb2_grpc, play_pb2, play_pb2_grpc

from arbiter.config import Limits
from arbiter.games.registry import game
from arbiter.service.players.accounts import Scope
from arbiter.testing.network import Network
from arbiter.testing.served import Served, memory_world, served

PING_MS = 100  #: so often that a test has its round trips soon

Ledger = match_pb2.Ledger


class Bot:
    """A bot on the generated stubs: by default it plays the first move in bytewise order, at once.

    pong_ms: delay of each pong. think_ms: time for each move. choose: replaces the answer to a turn.
    """

    def __init__(self, call: Any) -> None:
        self._call = call
        self._tasks: set[asyncio.Task[None]] = set()
        self.pong_ms: Callable[[int], float] = lambda number: 0
        self.think_ms: float = 0
        self.choose: Callable[[play_pb2.Turn], Awaitable[None]] = self._answer
        self.pongs = 0  #: sent so far
        self.turns: asyncio.Queue[play_pb2.Turn] = asyncio.Queue()
        self.ledgers: list[Ledger] = []  #: of its moves, from the receipts
        self._writing = asyncio.Lock()
        self._reading = asyncio.Event()
        self._reading.set()
        self._told = asyncio.Event()

    @property
    def charged(self) -> list[int]:
        """Return what its moves were charged, in milliseconds."""
        return [ledger.charged_ms for ledger in self.ledgers]

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until a condition holds; it is checked at every item received, at least at each ping."""
        async with asyncio.timeout(240):
            while not true():
                self._told.clear()
                await self._told.wait()

    async def say(self, *acts: dict[str, Any]) -> None:
        """Send acts in one message."""
        async with self._writing:
            with suppress(asyncio.InvalidStateError, grpc.RpcError):  # the stream has ended
                await self._call.write(play_pb2.PlayRequest(acts=[play_pb2.PlayAct(**act) for act in acts]))

    async def turn(self) -> play_pb2.Turn:
        """Return the next turn received."""
        return await asyncio.wait_for(self.turns.get(), 240)

    async def run(self) -> None:
        """Connect, and play until the stream ends."""
        await self.say({"hello": play_pb2.ClientHello(protocol_version="1.0")})
        with suppress(grpc.RpcError):
            while (response := await self._read()) is not grpc.aio.EOF:
                for item in response.items:
                    self._take(item)
                self._told.set()

    async def _read(self) -> Any:
        await self._reading.wait()
        return await self._call.read()

    def _take(self, item: play_pb2.PlayItem) -> None:
        match item.WhichOneof("item"):
            case "ping":
                self._spawn(self._pong(item.ping.number))
            case "turn":
                self.turns.put_nowait(item.turn)
                self._spawn(self._turn(item.turn))
            case "answer" if item.answer.HasField("receipt"):
                self.ledgers.append(item.answer.receipt.ledger)

    async def _pong(self, number: int) -> None:
        await asyncio.sleep(self.pong_ms(number) / 1000)
        await self.say({"pong": play_pb2.Pong(number=number)})
        self.pongs += 1
        self._told.set()

    async def _turn(self, turn: play_pb2.Turn) -> None:
        await asyncio.sleep(self.think_ms / 1000)
        await self.choose(turn)

    async def _answer(self, turn: play_pb2.Turn) -> None:
        await self.say(move_of(turn))

    @property
    def reading(self) -> bool:
        """Return whether it reads its stream; if not, it finishes the message that it is reading."""
        return self._reading.is_set()

    @reading.setter
    def reading(self, reading: bool) -> None:
        if reading:
            self._reading.set()
        else:
            self._reading.clear()

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def idle(turn: play_pb2.Turn) -> None:
    """Do not answer a turn."""


def move_of(turn: play_pb2.Turn) -> dict[str, Any]:
    """Return the act that answers a turn."""
    rules = game(turn.game)
    act = play_pb2.MoveAct(ply=turn.ply, move=min(rules.moves(rules.parse(turn.position))))
    return {"request_id": f"{turn.match_id} {turn.ply}", "match_id": turn.match_id, "move": act}


class NetworkedServer:
    """A server, the networks before it, and the bots that play there."""

    def __init__(self, server: Served, stack: AsyncExitStack) -> None:
        self.server = server
        self.matches: Any = match_pb2_grpc.MatchServiceStub(server.channel)
        self._stack = stack
        self._made = 0

    async def network(self, round_trip_ms: float = 0) -> Network:
        """Put a network before the server."""
        network = await self._stack.enter_async_context(Network(self.server.address))
        network.delay(round_trip_ms / 2)
        return network

    async def connect(
        self, name: str, address: str = "", pings: int = 3, options: Sequence[tuple[str, int]] = (), **given: Any
    ) -> Bot:
        """Return a player's bot on a connection of its own, after it has answered this many pings.

        `given` are attributes of the bot.
        """
        channel = grpc.aio.insecure_channel(
            address or self.server.address, options=[("grpc.use_local_subchannel_pool", 1), *options]
        )
        await self._stack.enter_async_context(channel)
        bot = Bot(play_pb2_grpc.PlayServiceStub(channel).Play(metadata=await self.server.token(name)))
        for attribute, value in given.items():
            setattr(bot, attribute, value)
        self._stack.push_async_callback(_stopped, asyncio.create_task(bot.run()))
        await bot.until(lambda: bot.pongs >= pings)
        return bot

    async def match(self, *players: str) -> str:
        """Create a match that starts at once."""
        self._made += 1
        request = match_pb2.CreateMatchRequest(
            request_id=f"r{self._made}",
            game="pondlife",
            players=players,
            time_control="5m",
            start=match_pb2.START_RULE_AT_ONCE,
        )
        metadata = await self.server.token("org", Scope.ORGANISE)
        return str((await self.matches.CreateMatch(request, metadata=metadata)).match.match_id)

    async def events(self, match_id: str, reader: str, plies: int, *scopes: Scope) -> list[Ledger]:
        """Return the ledgers of a match's first moves, as an observer receives them."""
        metadata = await self.server.token(reader, *scopes)
        of = match_pb2.ObserveMatch(match_id=match_id)
        call = self.matches.Observe(match_pb2.ObserveRequest(match=of), metadata=metadata)
        ledgers: list[Ledger] = []
        async with asyncio.timeout(240):
            while len(ledgers) < plies:
                items = (await call.read()).items
                ledgers += [item.event.moved.ledger for item in items if item.event.HasField("moved")]
        call.cancel()
        return ledgers


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def networked_server(
    world: Any = memory_world, ping_ms: int = PING_MS, **given: Any
) -> AsyncIterator[NetworkedServer]:
    """Run a server that pings often."""
    async with served(world, limits=Limits(ping_ms=ping_ms), **given) as server, AsyncExitStack() as stack:
        yield NetworkedServer(server, stack)
