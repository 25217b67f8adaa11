"""How matches end: results, their acknowledgement, and results that are sent again."""

from __future__ import annotations

from arbiter_protos.v1 import match_pb2, play_pb2

from arbiter.conformance.clauses import REFUSAL, clause
from arbiter.conformance.failures import Failed
from arbiter.conformance.stage import START_S, Stage


@clause(
    "results.acknowledged",
    "acknowledges a result",
    "every result since the last one that the bot acknowledged",
)
async def acknowledged(stage: Stage) -> None:
    """End two matches, one after the other, both while it is the bot's turn."""
    for _ in range(2):
        match = await stage.match()
        await stage.goes_on(match)
        await match.reply()
        await match.end()
        await stage.until(stage.acknowledged, "the result to be acknowledged")


@clause(
    "results.told-again",
    "acknowledges a result that it is told again",
    "To be acknowledged, so that the result is not told again.",
)
async def told_again(stage: Stage) -> None:
    """Lose the acknowledgement together with the connection; send the result again on the new stream."""
    stage.front.up = lambda act: () if act.WhichOneof("act") == "acknowledge" else (act,)
    match = await stage.match()
    await stage.goes_on(match)
    await match.end()
    await stage.until(stage.acknowledged, "the result to be acknowledged")
    stage.front.plain()
    cut_s = stage.trace.now_s
    stage.cut()
    await stage.until(
        lambda: bool(stage.trace.acts("acknowledge", after_s=cut_s)), "the result to be acknowledged again", START_S
    )
    more = await stage.match()
    await stage.goes_on(more, 2)


@clause("results.unknown-match", "acknowledges the result of a match that it has not heard of", "A match has ended.")
async def unknown_match(stage: Stage) -> None:
    """Send the result of a match that the bot does not know, as after a restart of the bot."""
    stage.front.up = lambda act: () if act.WhichOneof("act") == "acknowledge" else (act,)
    ended = play_pb2.PlayItem()
    ended.ended.match_id = "m-long-ago"
    ended.ended.game = stage.game()
    ended.ended.seat = 2
    ended.ended.opponent = "somebody"
    ended.ended.cursor = "7"
    ended.ended.result.kind = match_pb2.RESULT_KIND_VOID
    stage.live.tell(ended)
    await stage.until(lambda: bool(stage.trace.acts("acknowledge")), "the result to be acknowledged")
    cursor = stage.trace.acts("acknowledge")[-1].act.acknowledge.cursor
    if cursor != "7":
        raise Failed(f"it acknowledged the cursor {cursor!r}, not '7'")


@clause(
    "results.late-turn",
    "passes over a turn that comes after the end of its match",
    "The match has not started or has ended.",
    REFUSAL,
)
async def late_turn(stage: Stage) -> None:
    """End a match, and then send a turn of it that nobody has answered."""
    match = await stage.match()
    await stage.goes_on(match)
    turns: list[play_pb2.PlayItem] = []

    def hold(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        if item.WhichOneof("item") == "turn":
            turns.append(item)
            return []
        return [item]

    stage.bend(hold)
    await match.reply()
    await stage.until(lambda: bool(turns), "the next turn to be there")
    await match.end()
    await stage.until(stage.acknowledged, "the result to be acknowledged")
    ended_s = stage.trace.now_s
    stage.live.tell(*turns)
    if await stage.quiet(lambda: bool(stage.trace.acts(match_id=match.id, after_s=ended_s)), 1.0):
        raise Failed("the bot acted in a match that had ended")


@clause(
    "results.no-more-moves",
    "says nothing more of a match that has ended",
    "The match has not started or has ended.",
    REFUSAL,
)
async def no_more_moves(stage: Stage) -> None:
    """End the match during the bot's turn, while the answer with its legal moves is delayed; then send that answer."""
    with stage.without_lists(), stage.calls_held():
        match = await stage.match(seat=2)
        await match.reply()
        await stage.thinking(match)
        await match.end()
        await stage.until(lambda: bool(stage.trace.items("ended")), "the end of the match to be told")
        ended_s = stage.trace.now_s
    if await stage.quiet(lambda: bool(stage.trace.acts(match_id=match.id, after_s=ended_s + 0.5)), 1.5):
        raise Failed("the bot acted in a match that had ended")
    await stage.until(stage.acknowledged, "the result to be acknowledged")
