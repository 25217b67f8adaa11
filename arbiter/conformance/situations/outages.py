"""Servers that are away for a while during the bot's turn: this costs it neither the match nor time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from arbiter_protos.v1 import play_pb2

from arbiter.conformance.bot_match import BotMatch
from arbiter.conformance.clauses import CLIENTS, clause
from arbiter.conformance.failures import Failed, NotApplicable
from arbiter.conformance.testbed import START_S, Testbed
from arbiter.errors import Reason, Refusal

AGAIN = (
    "If a bot calls the server during its turn while the arbiter is away, and fails because of this, the client "
    "calls `choose` again"
)
AT_ONCE = "These pauses, and those of calls and seeks, end with the hello of the next stream"
OUTAGE_S = 12.0  #: longer than a client's timeout for a call
ASKED_MS = 8_000  #: the pause that the server asks for: as long as a client tries a call, or a little less
CHARGED_MS = 100  #: what a move may cost after an outage beyond what others cost this bot
AWAY_S = 6.0  #: long enough for pauses of seconds
OUTAGES = 6  #: a busy machine may delay a move of a bot that does not wait: the smallest charge counts


@clause("reconnect.long-outage", "loses no match by an outage while it thinks", AGAIN, CLIENTS, slow=True)
async def long_outage(testbed: Testbed) -> None:
    """Be unavailable for twelve seconds during the bot's turn, while the answer with its legal moves is delayed."""
    match = await testbed.match(time="5m+1s")
    await match.goes_on()
    with testbed.proxy.without_lists():
        with testbed.proxy.calls_held():
            await match.reply()
            await match.thinking()
            testbed.trace.note("resets every connection from now on")
            testbed.network.refusing = True
            testbed.network.cut()
            await testbed.lasts(OUTAGE_S)
        now_s = testbed.trace.now_s
        testbed.trace.note("takes connections again")
        testbed.network.refusing = False
        await testbed.connected(after_s=now_s)
        await match.goes_on(2, START_S)


@clause(
    "reconnect.calls-fail",
    "is asked again where what it asked at its turn failed because the arbiter was away",
    AGAIN,
    CLIENTS,
    slow=True,
)
async def calls_fail(testbed: Testbed) -> None:
    """For twelve seconds during the bot's turn, answer every call like a gateway whose server is unavailable."""
    match = await testbed.match(time="5m+1s")
    await match.goes_on()
    testbed.trace.note("ends calls with the status UNAVAILABLE and no word of the arbiter's")
    testbed.proxy.calls_away = True
    with testbed.proxy.without_lists():
        await match.reply()
        await match.thinking()
        await testbed.lasts(OUTAGE_S, lambda: match.over)
        match.check_not_lost()
        testbed.trace.note("answers calls again")
        testbed.proxy.calls_away = False
        await match.goes_on(2, START_S)


@clause("reconnect.charge", "is not charged for an outage in which a call of its own was refused", AT_ONCE, CLIENTS)
async def charge(testbed: Testbed) -> None:
    """Refuse what the bot asks at its turn, and ask for a pause of 8 s; then restart: interrupt the match, and cut."""
    with testbed.proxy.without_lists():
        await _charged_little(testbed, _refused)


@clause("reconnect.charge-gap", "is not charged for an outage in which it lacked moves", AT_ONCE, CLIENTS)
async def charge_gap(testbed: Testbed) -> None:
    """Do the same where the turn leaves a gap, and the missing moves are refused."""

    def bare(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        if item.WhichOneof("item") == "turn":
            item.turn.ClearField("last_moves")
        return [item]

    testbed.proxy.down = bare
    await _charged_little(testbed, _refused)


@clause(
    "reconnect.charge-away",
    "is not charged for an outage in which it could not reach the server",
    AT_ONCE,
    CLIENTS,
    slow=True,
)
async def charge_away(testbed: Testbed) -> None:
    """Restart during the bot's turn: interrupt the match, and reset every connection for six seconds."""
    with testbed.proxy.without_lists():
        await _charged_little(testbed, _unreachable)


async def _charged_little(testbed: Testbed, outage: Callable[[Testbed, BotMatch], Awaitable[None]]) -> None:
    """Check that the bot's move costs hardly more by its ledger after an outage during its turn than before it.

    A slow bot, or one on a busy machine, is charged for every move.
    """
    before: list[int] = []
    charged: list[int] = []
    while len(charged) < OUTAGES:
        match = await testbed.match()
        await match.goes_on(2)  # what the bot asks at its second turn it asks again after the outage
        before.append(await match.charged_ms(match.now.ply - 1))
        now_s = testbed.trace.now_s
        await outage(testbed, match)
        if match.now.players[match.now.turn - 1] != testbed.player:
            raise NotApplicable("this bot asks the server nothing at its turn, and has moved before the outage")
        ply = match.now.ply
        await testbed.connected(after_s=now_s)
        await match.goes_on(1, START_S)
        charged.append(await match.charged_ms(ply))
        await match.end()
        if min(charged) <= max(before) + CHARGED_MS:
            return
    raise Failed(f"its moves after {OUTAGES} outages were charged {charged} ms, those before them {before} ms")


async def _refused(testbed: Testbed, match: BotMatch) -> None:
    """Refuse the bot's calls about a turn until it has made one, then go away for a moment."""
    away = Refusal(Reason.STORE_UNAVAILABLE, "the referee says so", retry_after_ms=ASKED_MS)
    testbed.proxy.refuse_call = lambda request: away
    await match.reply()
    await match.thinking()
    await match.go_away()
    testbed.proxy.refuse_call = lambda request: None
    testbed.cut()


async def _unreachable(testbed: Testbed, match: BotMatch) -> None:
    """Be out of reach while the bot thinks about a turn."""
    with testbed.proxy.calls_held():
        await match.reply()
        await match.thinking()
        await match.go_away()
        testbed.network.refusing = True
        testbed.network.cut()
    await testbed.lasts(AWAY_S)
    testbed.network.refusing = False
