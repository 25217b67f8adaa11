"""The bot's own seeks: how many matches it agrees to, and terms that the server refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from arbiter_protos.v1 import play_pb2, player_pb2

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
SEEKS_AGAIN_S = 1.0  #: time for a wrong bot to seek once more
LOOK_S = 0.05  #: between two looks at the open seeks
LOOKS = 300  #: how often it looks at most, until there are enough
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
    await _start(testbed, "--matches", str(MATCHES), *("--seek", game) * SEEKS)
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


async def _start(testbed: Testbed, *options: str) -> None:
    """Start the bot without open seeks of an earlier one: a client takes these up, and makes no others."""
    caller = await testbed.arbiter.accounts.authenticate(testbed.token)
    for seek in await _open(testbed):
        await testbed.arbiter.challenges.decline(caller, seek, "")
    await testbed.start(*options)


async def _accept(testbed: Testbed, agreed: dict[str, BotMatch]) -> None:
    """Accept every seek of the bot, without end, and play the matches."""
    while True:
        for seek in await _open(testbed):
            try:
                match = await _accepted(testbed, seek)
            except Refusal:  # the bot has withdrawn it meanwhile
                continue
            agreed[match.id] = match
            await match.arrive()
            match.go_on()
        await testbed.quiet(lambda: False, LOOK_S)


async def _open(testbed: Testbed) -> list[str]:
    """Return the ids of the bot's open seeks, the oldest first."""
    challenges = await testbed.arbiter.challenges.open(await testbed.opponent(), "", MOST_LISTED)
    return [each.challenge_id for each in challenges if each.challenger == testbed.player and not each.opponent]


async def _accepted(testbed: Testbed, seek: str) -> BotMatch:
    """Accept a seek; return its match. Raises Refusal."""
    made = await testbed.arbiter.challenges.accept(await testbed.opponent(), seek)
    testbed.trace.note(f"accepts the seek {seek}: {made.id}")
    return testbed.matches[made.id]


@clause(
    "seeks.taken",
    "counts a seek that was accepted just before it withdrew it",
    "If another player accepts a seek just before the client withdraws it, the seek counts as open until the stream "
    "says that it is closed.",
    CLIENTS,
    slow=True,
    cold=True,
)
async def taken(testbed: Testbed) -> None:
    """Start the bot with --matches 2 and three times --seek; accept a seek, and the other one as it is withdrawn."""
    game = testbed.game()
    held = _HeldItems(testbed)
    await _start(testbed, "--matches", str(MATCHES), *("--seek", game) * SEEKS)
    await _has_sought(testbed)
    for _ in range(LOOKS):
        if len(seeks := await _open(testbed)) >= MATCHES:
            break
        await testbed.quiet(lambda: testbed.gone, LOOK_S)
    else:
        raise Failed(f"it has not sought {MATCHES} matches")
    first = await _accepted(testbed, seeks[0])
    await first.arrive()
    with testbed.proxy.calls_held(lambda request: isinstance(request, player_pb2.DeclineChallengeRequest)):
        held.release(first.id)  # but not that its seek is closed: now it has one match left, and two seeks
        await testbed.until(lambda: bool(_asked(testbed, "DeclineChallenge")), "the bot to withdraw a seek")
        second = await _accepted(testbed, seeks[1])
    held.release(seeks[0])
    if await testbed.quiet(lambda: _asked(testbed, "CreateSeek") > MATCHES, SEEKS_AGAIN_S):
        raise Failed("it has one match left and one seek accepted, and seeks another match")
    held.release(seeks[1], second.id)
    for match in (first, second):
        await match.end()
    await testbed.until(lambda: testbed.gone, f"the bot to end by itself after {MATCHES} matches", START_S)


class _HeldItems:
    """Holds back the items of the stream about each match, and about the end of each seek, until they are released."""

    def __init__(self, testbed: Testbed) -> None:
        self._proxy = testbed.proxy
        self._released: set[str] = set()
        self._held: list[play_pb2.PlayItem] = []
        self._proxy.down = self._down

    def release(self, *subjects: str) -> None:
        """Send what is held, and all that comes, about the matches or seeks with these ids."""
        self._released.update(subjects)
        held, self._held = self._held, []
        self._proxy.live.send(*(each for item in held for each in self._down(item)))

    def _down(self, item: play_pb2.PlayItem) -> Sequence[play_pb2.PlayItem]:
        kind = item.WhichOneof("item")
        body = getattr(item, kind) if kind else None
        subject = getattr(body, "challenge_id", "") or getattr(body, "match_id", "")
        if not subject or subject in self._released:
            return (item,)
        self._held.append(item)
        return ()


def _asked(testbed: Testbed, method: str) -> int:
    """Return how often the bot has called a method."""
    return sum(call.method.endswith(method) for call in testbed.trace.called)


async def _has_sought(testbed: Testbed) -> None:
    """Wait for the bot's first seek. Raises NotApplicable if the bot ends or plays without one."""

    def sought() -> bool:
        return bool(_asked(testbed, "CreateSeek"))

    await testbed.quiet(lambda: sought() or testbed.gone or bool(testbed.trace.items("hello")), START_S)
    if not await testbed.quiet(lambda: sought() or testbed.gone, SEEKS_S) or not sought():
        raise NotApplicable("this bot takes no --seek")


@clause("seeks.outage", "seeks again as soon as the arbiter is back", AT_ONCE, CLIENTS, cold=True)
async def outage(testbed: Testbed) -> None:
    """Start the bot with --seek, refuse the seek for now, and ask for an hour; then cut the connection."""
    away = Refusal(Reason.STORE_UNAVAILABLE, "the referee says so", retry_after_ms=3_600_000)
    testbed.proxy.refuse_call = lambda request: away if isinstance(request, player_pb2.CreateSeekRequest) else None
    await _start(testbed, "--seek", testbed.game())
    await _has_sought(testbed)
    testbed.proxy.refuse_call = lambda request: None
    before = _asked(testbed, "CreateSeek")
    testbed.cut()
    await testbed.until(lambda: _asked(testbed, "CreateSeek") > before, "the bot to seek again", START_S)


def _refused(name: str, what: str, terms: str) -> None:
    async def situation(testbed: Testbed) -> None:
        await _start(testbed, "--seek", terms)
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
