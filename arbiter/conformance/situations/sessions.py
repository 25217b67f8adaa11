"""Sessions that end permanently, and bots that are asked to stop."""

from __future__ import annotations

from arbiter.conformance.clauses import CLIENTS, clause
from arbiter.conformance.failures import Failed
from arbiter.conformance.stage import REACT_S, START_S, Stage
from arbiter.errors import Reason, Refusal

GONE = "ends `run` with the refusal as the language's own error."
EXIT_S = 15.0
PATIENCE_S = 10.0


async def _goes(stage: Stage, within_s: float = EXIT_S) -> None:
    """Check that the bot exits with a code other than 0, and does not connect again. Raises Failed."""
    streams = len(stage.trace.streams)
    assert stage.bot is not None
    bot = stage.bot
    await stage.until(lambda: bot.exit_status is not None, "the bot to end by itself", within_s)
    if len(stage.trace.streams) > streams:
        raise Failed("the bot opened a stream again before it ended")
    if not bot.exit_status:
        raise Failed("the bot ended with exit status 0, as if all were well")


def _for_good(reason: Reason, title: str, **facts: object) -> None:
    async def situation(stage: Stage) -> None:
        match = await stage.match()
        await stage.goes_on(match)
        stage.end_stream(reason, **facts)
        await _goes(stage)

    situation.__doc__ = f"End the stream with {reason.value}."
    name = reason.value.lower().replace("_", "-")
    clause(f"sessions.{name}", title, GONE, CLIENTS)(situation)


_for_good(Reason.SESSION_SUPERSEDED, "ends when a newer session took over, and does not come back", resume_from="")
_for_good(Reason.PLAYER_SUSPENDED, "ends when its player is suspended", id="?")


def _refused(reason: Reason, title: str, **facts: object) -> None:
    async def situation(stage: Stage) -> None:
        match = await stage.match()
        await stage.goes_on(match)
        stage.front.refuse = Refusal(reason, "the referee says so", **facts)
        streams = len(stage.trace.streams)
        stage.cut()
        await stage.until(lambda: len(stage.trace.streams) > streams, "the bot's next stream", START_S)
        await _goes(stage)

    situation.__doc__ = f"Cut the connection, and refuse the new stream with {reason.value}."
    name = reason.value.lower().replace("_", "-")
    clause(f"sessions.{name}", title, GONE, CLIENTS)(situation)


_refused(Reason.TOKEN_INVALID, "ends when its token is not known")
_refused(Reason.SCOPE_MISSING, "ends when its token does not allow to play", scope="play")
_refused(Reason.VERSION_UNSUPPORTED, "ends when its version is not spoken", supported="2.0 to 2.3")


@clause(
    "sessions.nobody-there",
    "ends when it has never reached the server",
    "one that never was for `patience` (10 s).",
    CLIENTS,
    slow=True,
    cold=True,
)
async def nobody_there(stage: Stage) -> None:
    """Start the bot while every connection is reset."""
    stage.network.refusing = True
    taken = stage.network.taken
    await stage.start()
    await stage.until(lambda: stage.network.taken > taken, "the bot to try to connect", START_S)
    await _goes(stage, PATIENCE_S + EXIT_S)


STOPS = "what is to be said is said, the sending side is closed, the server's end is awaited for at most 5 s"


@clause("shutdown.idle", "ends when it is told to", STOPS, CLIENTS)
async def idle(stage: Stage) -> None:
    """Send SIGTERM while the bot is idle."""
    await _stops(stage)


@clause("shutdown.playing", "ends when it is told to in the middle of a match", STOPS, CLIENTS)
async def playing(stage: Stage) -> None:
    """Send SIGTERM during the bot's turn, while the answer with its legal moves is delayed."""
    match = await stage.match()
    await stage.goes_on(match)
    with stage.without_lists(), stage.calls_held():
        await match.reply()
        await stage.thinking(match)
        await _stops(stage)


async def _stops(stage: Stage) -> None:
    assert stage.bot is not None
    bot, stream = stage.bot, stage.live.opened
    stage.trace.note("sends SIGTERM")
    bot.terminate()
    await stage.until(lambda: stream.ended_s is not None, "the stream to end", REACT_S)
    if stream.closed_s is None or stream.broken:
        raise Failed("the stream was broken off: its sending side was not closed, or the server's end not awaited")
    await stage.until(lambda: bot.exit_status is not None, "the bot to end", EXIT_S)
    if bot.exit_status:
        raise Failed(f"it ended with exit status {bot.exit_status}, not 0")


@clause(
    "tls.plays",
    "speaks TLS, and trusts the certificate that it is given",
    "PEM file of the certificate to trust; speaks TLS",
    CLIENTS,
    tls=True,
)
async def tls(stage: Stage) -> None:
    """Accept TLS only, with the certificate in ARBITER_ROOT_CERTIFICATE. Cut the connection once."""
    match = await stage.match()
    await stage.goes_on(match, 2)
    now_s = stage.trace.now_s
    stage.cut()
    await stage.connected(after_s=now_s)
    await stage.goes_on(match, 2, START_S)
