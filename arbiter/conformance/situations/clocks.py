"""Time: pings while the bot thinks, fast games, slow networks."""

from __future__ import annotations

from arbiter.conformance.clauses import CLIENTS, MATCH, clause
from arbiter.conformance.failures import Failed
from arbiter.conformance.testbed import Testbed
from arbiter.conformance.waiting import REACT_S

PONG_S = 3.0  #: time limit for a pong on a busy machine; a bot that thinks first needs its thinking time too
MOVES = 15


@clause("heartbeat.pongs", "answers every ping, with its number", "Requests a pong, at once.")
async def pongs(testbed: Testbed) -> None:
    """Send five pings in one message, in no particular order."""
    await _ping(testbed, [2_000_003, 2_000_001, 2_000_005, 2_000_002, 2_000_004])


@clause(
    "heartbeat.thinking",
    "answers pings while it thinks",
    "The reader of the stream answers pings, so that a thinking bot never delays them.",
    CLIENTS,
)
async def thinking(testbed: Testbed) -> None:
    """Ping the bot during its turn, while the answer with its legal moves is delayed."""
    with testbed.proxy.without_lists(), testbed.proxy.calls_held():
        match = await testbed.match()
        await match.thinking()
        for number in range(3_000_001, 3_000_005):
            await _ping(testbed, [number])
            await testbed.quiet(lambda: False, 0.2)
    await match.goes_on(2)


async def _ping(testbed: Testbed, numbers: list[int]) -> None:
    def ponged(number: int) -> int:
        return sum(said.act.pong.number == number for said in testbed.trace.acts("pong"))

    testbed.proxy.live.ping(*numbers)
    await testbed.until(lambda: all(map(ponged, numbers)), "the pong to each ping", PONG_S)
    await testbed.quiet(lambda: False, 0.1)
    if any(ponged(number) > 1 for number in numbers):
        raise Failed("a ping was answered twice")


@clause("clocks.pressure", "keeps within 300 ms a move", "A flag fell.", MATCH)
async def pressure(testbed: Testbed) -> None:
    """Play at 300 milliseconds a move with a bank of ten seconds; the opponent replies at once."""
    bank_s = max(1, round(10 * testbed.scale))
    match = await testbed.match(time=f"300ms/move+{bank_s}s")
    await match.goes_on(MOVES)


@clause("clocks.slow-network", "plays over a slow network", "The round trip is credited to moves on this stream")
async def slow_network(testbed: Testbed) -> None:
    """Delay everything by 200 to 250 milliseconds each way."""
    testbed.network.delay(200, 50)
    match = await testbed.match()
    await match.goes_on(3, 2 * REACT_S)
    testbed.network.delay(0)
