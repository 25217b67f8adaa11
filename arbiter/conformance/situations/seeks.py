"""The bot's own seeks: how many matches it agrees to, and terms that the server refuses."""

from __future__ import annotations

import asyncio

from arbiter_protos.v1 import player_pb2

from arbiter.conformance.bot_match import BotMatch
from arbiter.conformance.clauses import CLIENTS, clause
from arbiter.conformance.failures import Failed, NotApplicable
from arbiter.conformance.situations.outages import AT_ONCE
from arbiter.conformance.testbed import START_S, Testbed
from arbiter.errors import Reason, Refusal

MATCHES = 2
SEEKS = 3
MOST_LISTED = 1_000  #: seeks
SEEKS_S = 5.0  #: time limit from a bot's hello to its first seek
ALL_GAMES_S = 300.0


@clause(
    "seeks.matches",
    "agrees on no more matches than it is to play, and finishes those",
    "the client agrees on no more matches than that, and finishes those that it has agreed on or that are under way",
    CLIENTS,
    slow=True,
    cold=True,
)
async def matches(testbed: Testbed) -> None:
    """Start the bot with --matches 2 and three times --seek, and accept each seek as soon as it is open."""
    game = testbed.game()
    agreed: dict[str, BotMatch] = {}
    await testbed.start("--matches", str(MATCHES), *("--seek", game) * SEEKS)
    accepting = asyncio.create_task(_accept(testbed, agreed))
    try:
        await _has_sought(testbed)
        await testbed.until(
            lambda: testbed.gone or accepting.done() or len(agreed) > MATCHES, "the bot to end by itself", ALL_GAMES_S
        )
    finally:
        if not accepting.cancel():
            accepting.result()  # this raises: the task ends only by an error of the kit
    if len(agreed) > MATCHES:
        raise Failed(f"it agreed on more than {MATCHES} matches, though it was to play no more")
    for match in agreed.values():
        if not match.over:
            raise Failed(f"it left {match.id} before the end")
        match.check_not_lost()
    if len(agreed) < MATCHES:
        raise Failed(f"it ended after {len(agreed)} matches, though it was to play {MATCHES}")
    assert testbed.bot is not None
    if testbed.bot.exit_status:
        raise Failed(f"it ended with exit status {testbed.bot.exit_status}, not 0")


async def _accept(testbed: Testbed, agreed: dict[str, BotMatch]) -> None:
    """Accept every seek of the bot, without end, and play the matches."""
    opponent, challenges = await testbed.opponent(), testbed.arbiter.challenges
    while True:
        for seek in await challenges.open(opponent, "", MOST_LISTED):
            if seek.challenger != testbed.player or seek.opponent:
                continue
            try:
                made = await challenges.accept(opponent, seek.challenge_id)
            except Refusal:  # the bot has withdrawn it meanwhile
                continue
            testbed.trace.note(f"accepts the seek {seek.challenge_id}: {made.id}")
            match = agreed[made.id] = testbed.matches[made.id]
            await match.arrive()
            match.go_on()
        await testbed.quiet(lambda: False, 0.05)


async def _has_sought(testbed: Testbed) -> None:
    """Wait for the bot's first seek. Raises NotApplicable if the bot ends or plays without one."""

    def sought() -> bool:
        return any(call.method.endswith("CreateSeek") for call in testbed.trace.called)

    await testbed.quiet(lambda: sought() or testbed.gone or bool(testbed.trace.items("hello")), START_S)
    if not await testbed.quiet(lambda: sought() or testbed.gone, SEEKS_S) or not sought():
        raise NotApplicable("this bot takes no --seek")


@clause("seeks.outage", "seeks again as soon as the arbiter is back", AT_ONCE, CLIENTS, cold=True)
async def outage(testbed: Testbed) -> None:
    """Start the bot with --seek, refuse the seek for now, and ask for an hour; then cut the connection."""
    away = Refusal(Reason.STORE_UNAVAILABLE, "the referee says so", retry_after_ms=3_600_000)
    testbed.proxy.refuse_call = lambda request: away if isinstance(request, player_pb2.CreateSeekRequest) else None
    await testbed.start("--seek", testbed.game())
    await _has_sought(testbed)
    testbed.proxy.refuse_call = lambda request: None
    before = len(testbed.trace.called)
    testbed.cut()

    def again() -> bool:
        return any(call.method.endswith("CreateSeek") for call in testbed.trace.called[before:])

    await testbed.until(again, "the bot to seek again", START_S)


def _refused(name: str, what: str, terms: str) -> None:
    async def situation(testbed: Testbed) -> None:
        await testbed.start("--seek", terms)
        await _has_sought(testbed)
        await testbed.until(lambda: testbed.gone, "the bot to end by itself", START_S)
        assert testbed.bot is not None
        if not testbed.bot.exit_status:
            raise Failed("the bot ended with exit status 0, as if all were well")

    situation.__doc__ = f'Start the bot with --seek "{terms}".'
    quote = "If the server refuses the terms, `run` ends with this refusal."
    clause(f"seeks.{name}", f"ends with the refusal where it seeks {what}", quote, CLIENTS, cold=True)(situation)


_refused("unknown-game", "a game that there is not", "podz")
_refused("unknown-variant", "a variant that there is not", "pods(size=99)")
