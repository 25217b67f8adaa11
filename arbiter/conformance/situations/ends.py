"""How matches end: results, their acknowledgement, and results that are sent again."""

from __future__ import annotations

from arbiter_protos.v1 import match_pb2, play_pb2

from arbiter.conformance.clauses import REFUSAL, clause
from arbiter.conformance.failures import Failed
from arbiter.conformance.testbed import START_S, Testbed

PING = 5_000_001  #: a bot that answers pings answers this one once it has read what it was sent before
READ_S = 2.0  #: time for it to read that


@clause("results.acknowledged", "acknowledges a result", "every result since the last one that the bot acknowledged")
async def acknowledged(testbed: Testbed) -> None:
    """End two matches, one after the other, both while it is the bot's turn."""
    for _ in range(2):
        match = await testbed.match()
        await match.goes_on()
        await match.reply()
        await match.end()
        await testbed.until(testbed.acknowledged, "the result to be acknowledged")


@clause(
    "results.sent-again",
    "acknowledges a result that is sent again",
    "The bot must acknowledge it, so that the result is not sent again.",
)
async def sent_again(testbed: Testbed) -> None:
    """Lose the acknowledgement together with the connection; send the result again on the new stream."""
    testbed.proxy.up = lambda act: () if act.WhichOneof("act") == "acknowledge" else (act,)
    match = await testbed.match()
    await match.goes_on()
    await match.end()
    await testbed.until(testbed.acknowledged, "the result to be acknowledged")
    testbed.proxy.plain()
    cut_s = testbed.trace.now_s
    testbed.cut()
    await testbed.until(
        lambda: bool(testbed.trace.acts("acknowledge", after_s=cut_s)), "the result to be acknowledged again", START_S
    )
    more = await testbed.match()
    await more.goes_on(2)


@clause("results.unknown-match", "acknowledges the result of a match that it does not know", "A match has ended.")
async def unknown_match(testbed: Testbed) -> None:
    """Send the result of a match that the bot does not know, as after a restart of the bot."""
    testbed.proxy.up = lambda act: () if act.WhichOneof("act") == "acknowledge" else (act,)
    ended = play_pb2.PlayItem()
    ended.ended.match_id = "m-long-ago"
    ended.ended.game = testbed.game()
    ended.ended.seat = 2
    ended.ended.opponent = "somebody"
    ended.ended.cursor = "7"
    ended.ended.result.kind = match_pb2.RESULT_KIND_VOID
    testbed.proxy.live.send(ended)

    def cursors() -> list[str]:
        return [said.act.acknowledge.cursor for said in testbed.trace.acts("acknowledge")]

    try:
        await testbed.until(lambda: ended.ended.cursor in cursors(), "the result to be acknowledged")
    except Failed:
        if cursors():
            raise Failed(f"it acknowledged {', '.join(map(repr, cursors()))}, and not {ended.ended.cursor!r}") from None
        raise


@clause(
    "results.late-turn",
    "passes over a turn that comes after the end of its match",
    "The match has not started or has ended.",
    REFUSAL,
)
async def late_turn(testbed: Testbed) -> None:
    """End a match, and then send a turn of it that nobody has answered."""
    match = await testbed.match()
    await match.goes_on()
    turns: list[play_pb2.PlayItem] = []

    def hold(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        if item.WhichOneof("item") == "turn":
            turns.append(item)
            return []
        return [item]

    testbed.proxy.down = hold
    await match.reply()
    await testbed.until(lambda: bool(turns), "the next turn to be there")
    await match.end()
    await testbed.until(testbed.acknowledged, "the result to be acknowledged")
    ended_s = testbed.trace.now_s
    testbed.proxy.live.send(*turns)
    if await testbed.quiet(lambda: bool(testbed.trace.acts(match_id=match.id, after_s=ended_s)), 1.0):
        raise Failed("the bot acted in a match that had ended")


@clause(
    "results.no-more-moves",
    "sends nothing more for a match that has ended",
    "The match has not started or has ended.",
    REFUSAL,
)
async def no_more_moves(testbed: Testbed) -> None:
    """End the match during the bot's turn, while the answer with its legal moves is delayed; then send that answer."""
    with testbed.proxy.without_lists(), testbed.proxy.calls_held():
        match = await testbed.match(seat=2)
        await match.reply()
        await match.thinking()
        await match.end()
        await testbed.until(lambda: bool(testbed.trace.items("ended")), "the end of the match to be sent")
        testbed.proxy.live.ping(PING)
        await testbed.quiet(lambda: any(said.act.pong.number == PING for said in testbed.trace.acts("pong")), READ_S)
        ended_s = testbed.trace.now_s
    if await testbed.quiet(lambda: bool(testbed.trace.acts(match_id=match.id, after_s=ended_s)), 1.5):
        raise Failed("the bot acted in a match that had ended")
    await testbed.until(testbed.acknowledged, "the result to be acknowledged")
