"""Sessions that end permanently, and bots that are asked to stop."""

from __future__ import annotations

from arbiter.conformance.clauses import BOTS, CLIENTS, clause
from arbiter.conformance.failures import Failed
from arbiter.conformance.testbed import START_S, Testbed
from arbiter.conformance.waiting import REACT_S
from arbiter.errors import Reason, Refusal

GONE = "ends `run` with the refusal as the language's own error."
EXIT_S = 15.0
PATIENCE_S = 10.0


async def _goes(testbed: Testbed, within_s: float = EXIT_S) -> None:
    """Check that the bot exits with a code other than 0. Raises Failed."""
    assert testbed.bot is not None
    bot = testbed.bot
    await testbed.until(lambda: bot.exit_status is not None, "the bot to end by itself", within_s)
    if not bot.exit_status:
        raise Failed("the bot ended with exit status 0, as if all were well")


def _for_good(reason: Reason, title: str, **facts: str | int) -> None:
    async def situation(testbed: Testbed) -> None:
        match = await testbed.match()
        await match.goes_on()
        streams = len(testbed.trace.streams)
        testbed.proxy.end_stream(reason, **facts)
        await _goes(testbed)
        if len(testbed.trace.streams) > streams:
            raise Failed("the bot opened a stream again before it ended")

    situation.__doc__ = f"End the stream with {reason.value}."
    name = reason.value.lower().replace("_", "-")
    clause(f"sessions.{name}", title, GONE, CLIENTS)(situation)


_for_good(Reason.SESSION_SUPERSEDED, "ends when a newer session took over, and does not reconnect", resume_from="")
_for_good(Reason.PLAYER_SUSPENDED, "ends when its player is suspended", id="?")


def _refused(reason: Reason, title: str, **facts: str | int) -> None:
    async def situation(testbed: Testbed) -> None:
        match = await testbed.match()
        await match.goes_on()
        testbed.proxy.refuse = Refusal(reason, "the referee says so", **facts)
        streams = len(testbed.trace.streams)
        testbed.cut()
        await testbed.until(lambda: len(testbed.trace.streams) > streams, "the bot's next stream", START_S)
        await _goes(testbed)  # it may open a further stream first, if the refusal of this one came too late for it

    situation.__doc__ = f"Cut the connection, and refuse the new stream with {reason.value}."
    name = reason.value.lower().replace("_", "-")
    clause(f"sessions.{name}", title, GONE, CLIENTS)(situation)


_refused(Reason.TOKEN_INVALID, "ends when its token is not known")
_refused(Reason.SCOPE_MISSING, "ends when its token does not allow to play", scope="play")
_refused(Reason.VERSION_UNSUPPORTED, "ends when its version is not spoken", supported="2.0 to 2.3")


@clause(
    "sessions.nobody-there",
    "ends when it has never reached the server",
    "if not, it gives up `patience` (10 s) after its first try has failed.",
    CLIENTS,
    slow=True,
    cold=True,
)
async def nobody_there(testbed: Testbed) -> None:
    """Start the bot while every connection is reset."""
    testbed.network.refusing = True
    taken = testbed.network.taken
    await testbed.start()
    await testbed.until(lambda: testbed.network.taken > taken, "the bot to try to connect", START_S)
    await _goes(testbed, PATIENCE_S + EXIT_S)


STOPS = "sends its remaining items, closes the sending side, and waits at most 5 s for the server to end the stream"


@clause("shutdown.idle", "ends when it is told to", STOPS, CLIENTS)
async def idle(testbed: Testbed) -> None:
    """Send SIGTERM while the bot is idle."""
    await _stops(testbed)


@clause("shutdown.playing", "ends when it is told to in the middle of a match", STOPS, CLIENTS)
async def playing(testbed: Testbed) -> None:
    """Send SIGTERM during the bot's turn, while the answer with its legal moves is delayed."""
    match = await testbed.match()
    await match.goes_on()
    with testbed.proxy.without_lists(), testbed.proxy.calls_held():
        await match.reply()
        await match.thinking()
        await _stops(testbed)


async def _stops(testbed: Testbed) -> None:
    assert testbed.bot is not None
    bot, stream = testbed.bot, testbed.proxy.live.opened
    testbed.trace.note("sends SIGTERM")
    bot.terminate()
    await testbed.until(lambda: stream.ended_s is not None, "the stream to end", REACT_S)
    if stream.closed_s is None or stream.broken:
        raise Failed("the stream was broken off: its sending side was not closed, or the server's end not awaited")
    await testbed.until(lambda: bot.exit_status is not None, "the bot to end", EXIT_S)
    if bot.exit_status:
        raise Failed(f"it ended with exit status {bot.exit_status}, not 0")


@clause(
    "tls.plays",
    "speaks TLS, and trusts the certificate that it is given",
    "PEM file of the certificate to trust; speaks TLS",
    BOTS,
    tls=True,
)
async def tls(testbed: Testbed) -> None:
    """Accept TLS only, with the certificate in ARBITER_ROOT_CERTIFICATE. Cut the connection once."""
    match = await testbed.match()
    await match.goes_on(2)
    now_s = testbed.trace.now_s
    testbed.cut()
    await testbed.connected(after_s=now_s)
    await match.goes_on(2, START_S)
