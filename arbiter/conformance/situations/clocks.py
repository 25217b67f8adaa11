"""Time: pings while the bot thinks, fast games, slow networks."""

from __future__ import annotations

from arbiter.conformance.clauses import CLIENTS, MATCH, clause
from arbiter.conformance.failures import Failed
from arbiter.conformance.stage import REACT_S, Stage

PONG_S = 3.0  #: time limit for a pong on a busy machine; a bot that thinks first needs its thinking time too
MOVES = 15


@clause("heartbeat.pongs", "answers every ping, with its number", "Asks for a pong, at once.")
async def pongs(stage: Stage) -> None:
    """Send five pings in one message, in no particular order."""
    await _ping(stage, [2_000_003, 2_000_001, 2_000_005, 2_000_002, 2_000_004])


@clause(
    "heartbeat.thinking",
    "answers pings while it thinks",
    "Pings are answered by the reader of the stream, never behind a thinking bot.",
    CLIENTS,
)
async def thinking(stage: Stage) -> None:
    """Ping the bot during its turn, while the answer with its legal moves is delayed."""
    with stage.without_lists(), stage.calls_held():
        match = await stage.match()
        await stage.thinking(match)
        for number in range(3_000_001, 3_000_005):
            await _ping(stage, [number])
            await stage.quiet(lambda: False, 0.2)
    await stage.goes_on(match, 2)


async def _ping(stage: Stage, numbers: list[int]) -> None:
    def ponged(number: int) -> int:
        return sum(said.act.pong.number == number for said in stage.trace.acts("pong"))

    stage.ping(*numbers)
    await stage.until(lambda: all(map(ponged, numbers)), "the pong to each ping", PONG_S)
    await stage.quiet(lambda: False, 0.1)
    if any(ponged(number) > 1 for number in numbers):
        raise Failed("a ping was answered twice")


@clause("clocks.pressure", "keeps within 300 ms a move", "A flag fell.", MATCH)
async def pressure(stage: Stage) -> None:
    """Play at 300 milliseconds a move with a bank of ten seconds; the opponent replies at once."""
    bank_s = max(1, round(10 * stage.scale))
    match = await stage.match(time=f"300ms/move+{bank_s}s")
    await stage.goes_on(match, MOVES)


@clause(
    "clocks.slow-network",
    "plays over a slow network",
    "The round trip is credited to moves on this stream",
)
async def slow_network(stage: Stage) -> None:
    """Delay everything by 200 to 250 milliseconds each way."""
    stage.network.delay(200, 50)
    match = await stage.match()
    await stage.goes_on(match, 3, 2 * REACT_S)
    stage.network.delay(0)
