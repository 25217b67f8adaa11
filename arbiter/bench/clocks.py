"""How much of the server's own time the clocks charge to players: many matches at one move a second.

The server is a real process on SQLite. Every bot has its own Play stream and connection; this process drives all bots.
A bot measures its thought from reading its turn to writing its move. What the ledger charges beyond that is server time
that was not credited, or time of this driver and of the loopback device. So the figure is an upper bound of the server
time that is charged. It can be negative by the network round trip that is credited.
"""

from __future__ import annotations

import asyncio
import gc
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, Final

from arbiter_protos.v1 import play_pb2

from arbiter.bench.h2 import RawCall
from arbiter.bench.plans import ClocksPlan
from arbiter.bench.players import PLAY
from arbiter.bench.processes import BenchError
from arbiter.bench.report import Bound, Progress, Report, percentile
from arbiter.bench.server_process import ServerProcess, opened
from arbiter.games import registry

GOAL_MS: Final = 5.0  #: maximum of the server's own time that is charged, at the 99th percentile of moves
GAME: Final = "pondlife"  #: a match in which the first move in bytewise order is always played lasts 110 plies
SEED: Final = 2026
LAG_S: Final = 0.005  #: length of the sleeps that measure the driver's lag


@dataclass(frozen=True, slots=True)
class Clocks:
    """The results of the measurement.

    moves: their number. p50_ms, p99_ms, most_ms: the time beyond its own thought that a move was charged. above: moves
    that were charged more than the goal allows. hand_over_p50_ms, hand_over_p99_ms: from the start of a turn to its
    hand-over, including the commit; what exceeds the limit of the credit for it is charged. lag_ms: how late this
    driver woke up, at the 99th percentile; above a few milliseconds the result says little. server_s, driver_s:
    processor time of both sides while they played.
    """

    plan: ClocksPlan
    moves: int
    p50_ms: float
    p99_ms: float
    most_ms: float
    above: int
    hand_over_p50_ms: float
    hand_over_p99_ms: float
    lag_ms: float
    server_s: float
    driver_s: float


class _Bot:
    """A player on its stream: thinks for a random time, moves, and compares its thinking time with the time charged."""

    def __init__(self, plan: ClocksPlan, dice: Random) -> None:
        self._plan = plan
        self._dice = dice
        self._call: RawCall | None = None
        self._thought_ms: dict[str, float] = {}  # by request
        self.beyond_ms: list[float] = []
        self.hand_over_ms: list[int] = []
        self.ready = asyncio.Event()  #: set once the server has measured a round trip, or is about to
        self.gone = False  #: whether the stream has ended

    async def connect(self, address: str, secret: str) -> None:
        """Open the stream, and wait until the bot is ready."""
        call = RawCall(PLAY, [("authorization", f"Bearer {secret}")], self._received, self._ended)
        await call.connect(address)
        self._call = call
        self._say(hello=play_pb2.ClientHello(protocol_version="1.0"))
        await self.ready.wait()

    def close(self) -> None:
        """Close the connection."""
        if self._call is not None:
            self._call.close()

    def _received(self, data: bytes) -> None:
        now = time.perf_counter()
        for item in play_pb2.PlayResponse.FromString(data).items:
            self._take(item, now)

    def _ended(self) -> None:
        self.gone = True
        self.ready.set()

    def _take(self, item: play_pb2.PlayItem, now: float) -> None:
        match item.WhichOneof("item"):
            case "ping":
                self._say(pong=play_pb2.Pong(number=item.ping.number))
                self.ready.set()
            case "turn":
                thought_s = self._plan.think_ms * self._dice.uniform(0.5, 1.5) / 1000
                asyncio.get_running_loop().call_later(thought_s, self._move, item.turn, now)
            case "answer":
                thought_ms = self._thought_ms.pop(item.answer.request_id)
                ledger = item.answer.receipt.ledger
                self.beyond_ms.append(ledger.charged_ms - thought_ms)
                self.hand_over_ms.append(ledger.handed_over_ms - ledger.started_ms)

    def _move(self, turn: play_pb2.Turn, began: float) -> None:
        request_id, move = f"{turn.match_id} {turn.ply}", _first(turn.game, turn.position)
        self._thought_ms[request_id] = (time.perf_counter() - began) * 1000
        self._say(request_id=request_id, match_id=turn.match_id, move=play_pb2.MoveAct(ply=turn.ply, move=move))

    def _say(self, **act: Any) -> None:
        assert self._call is not None
        self._call.send(play_pb2.PlayRequest(acts=[play_pb2.PlayAct(**act)]).SerializeToString())


@cache
def _first(variant: str, position: str) -> str:
    """Return the first move in bytewise order: all matches are alike, so the driver computes almost nothing."""
    game = registry.game(variant)
    return min(game.moves(game.parse(position)))


def bench_clocks(plan: ClocksPlan, progress: Progress) -> Report:
    """Measure everything; takes about a minute and a half with the default plan."""
    progress(f"{plan.matches} matches at one move a second, for {plan.seconds:g} s")
    found = measured(plan)
    report = Report("clocks", f"{plan.matches} matches at one move a second: what clocks charge of the server's time")
    report.add("charged_p50_ms", "charged beyond the thinking time, p50", found.p50_ms, "ms")
    report.add("charged_p99_ms", "charged beyond the thinking time, p99", found.p99_ms, "ms", GOAL_MS, Bound.MOST)
    report.add("charged_most_ms", "charged beyond the thinking time, most", found.most_ms, "ms")
    report.add("hand_over_p99_ms", "from the start of a turn to its hand-over, p99", found.hand_over_p99_ms, "ms")
    lag = "the lag of the benchmark's own clients, p99: above a few ms the other figures say little"
    report.add("driver_lag_p99_ms", lag, found.lag_ms, "ms")
    report.add("moves", "moves", found.moves, "moves")
    return report


def measured(plan: ClocksPlan) -> Clocks:
    """Measure with garbage collection switched off in this process, because a collection would delay the driver.

    Takes the plan's seconds, and some more to connect all players. Raises BenchError if the server or a stream ends.
    """
    gc.collect()
    gc.disable()
    try:
        with opened() as server_process:
            return asyncio.run(_run(plan, server_process))
    finally:
        gc.enable()


async def _run(plan: ClocksPlan, server_process: ServerProcess) -> Clocks:
    with ExitStack() as stack:
        bots = await _connected(plan, server_process, stack)
        await _matches(plan, server_process)
        before = (server_process.server.cpu_s(), time.process_time())
        for bot in bots:
            bot.beyond_ms.clear()
            bot.hand_over_ms.clear()
        lags_ms = await _lags(plan.seconds)
        after = (server_process.server.cpu_s(), time.process_time())
        if any(bot.gone for bot in bots):
            raise BenchError("a stream ended while it was measured: the figures would be worth nothing")
        beyond_ms = [value for bot in bots for value in bot.beyond_ms]
        hand_over_ms = [value for bot in bots for value in bot.hand_over_ms]
    return Clocks(
        plan,
        moves=len(beyond_ms),
        p50_ms=round(percentile(beyond_ms, 50), 2),
        p99_ms=round(percentile(beyond_ms, 99), 2),
        most_ms=round(percentile(beyond_ms, 100), 2),
        above=sum(value > GOAL_MS for value in beyond_ms),
        hand_over_p50_ms=percentile(hand_over_ms, 50),
        hand_over_p99_ms=percentile(hand_over_ms, 99),
        lag_ms=round(percentile(lags_ms, 99), 2),
        server_s=round(after[0] - before[0], 2),
        driver_s=round(after[1] - before[1], 2),
    )


async def _lags(seconds: float) -> list[float]:
    """Sleep many times for a short while; return by how many milliseconds each sleep was too long."""
    lags_ms, now = [], time.perf_counter()
    end = now + seconds
    while now < end:
        due = min(end, now + LAG_S)
        await asyncio.sleep(due - now)
        now = time.perf_counter()
        lags_ms.append(1000 * (now - due))
    return lags_ms


async def _connected(plan: ClocksPlan, server_process: ServerProcess, stack: ExitStack) -> list[_Bot]:
    bots = []
    secrets = await asyncio.to_thread(server_process.tokens, [f"bot-{number}" for number in range(2 * plan.matches)])
    for number, secret in enumerate(secrets):
        bot = _Bot(plan, Random(f"{SEED}/{number}"))
        stack.callback(bot.close)
        await bot.connect(server_process.address, secret)
        bots.append(bot)
    return bots


async def _matches(plan: ClocksPlan, server_process: ServerProcess) -> None:
    """Create the matches one after the other within one thinking time, so that their moves spread over time."""
    for number in range(plan.matches):
        await asyncio.to_thread(server_process.matches, GAME, [(f"bot-{2 * number}", f"bot-{2 * number + 1}")])
        await asyncio.sleep(plan.think_ms / 1000 / plan.matches)
