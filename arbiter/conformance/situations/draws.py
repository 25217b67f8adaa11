"""Draw offers: the bot answers them at most once, and continues to play."""

from __future__ import annotations

from arbiter.conformance.bot_match import OPPONENT, BotMatch
from arbiter.conformance.clauses import MATCH, clause
from arbiter.conformance.failures import Failed
from arbiter.conformance.testbed import Testbed
from arbiter.conformance.trace import request_ids
from arbiter.games import registry
from arbiter.matches import commands


def _draws(game: str) -> bool:
    return registry.classes()[game].facts.draw_offers


async def _offered(testbed: Testbed, match: BotMatch) -> None:
    await match.request(lambda seat: commands.OfferDraw(seat, testbed.new_id()), OPPONENT)


@clause(
    "draws.once",
    "answers a draw offer at most once, and plays on",
    "the offer stands until it is answered or the opponent moves.",
    MATCH,
)
async def once(testbed: Testbed) -> None:
    """Offer a draw before the opponent's move; send the offer twice. It is open until the move."""
    testbed.proxy.down = lambda item: [item] * (2 if item.WhichOneof("item") == "draw_offered" else 1)
    match = await testbed.match(testbed.game(_draws))
    await match.goes_on()
    await _offered(testbed, match)
    await testbed.until(lambda: bool(testbed.trace.items("draw_offered")), "the offer to be sent")
    await match.reply()
    if not await testbed.quiet(lambda: match.over, 0.5):
        await match.goes_on(2)
    answers = request_ids(testbed.trace.acts("answer_draw", match.id))
    if len(answers) > 1:
        raise Failed(f"it answered one offer {len(answers)} times")


@clause(
    "draws.reconnect",
    "answers an offer once, although it is sent again on a new stream",
    "if the same request is sent again, at once, after a lost connection or after a restart, it gets the same answer",
    MATCH,
)
async def reconnect(testbed: Testbed) -> None:
    """Offer a draw, lose the answer if there is one, and cut the connection."""
    testbed.proxy.up = lambda act: () if act.WhichOneof("act") == "answer_draw" else (act,)
    match = await testbed.match(testbed.game(_draws))
    await match.goes_on()
    await _offered(testbed, match)
    await testbed.until(lambda: bool(testbed.trace.items("draw_offered")), "the offer to be sent")
    await testbed.quiet(lambda: bool(testbed.trace.acts("answer_draw")), 0.5)
    testbed.proxy.plain()
    now_s = testbed.trace.now_s
    testbed.cut()
    await testbed.connected(after_s=now_s)
    if not await testbed.quiet(lambda: match.over, 0.5):
        await match.goes_on(2)
    answers = request_ids(testbed.trace.acts("answer_draw", match.id))
    if len(answers) > 1:
        raise Failed(f"it answered one offer {len(answers)} times")
