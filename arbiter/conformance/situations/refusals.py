"""Refusals: which requests the bot retries, drops, or never repeats."""

from __future__ import annotations

from typing import Any

from arbiter_protos.v1 import match_pb2, play_pb2

from arbiter.conformance.bot_match import BotMatch
from arbiter.conformance.clauses import BOTS, CLIENTS, REFUSAL, clause
from arbiter.conformance.failures import Failed
from arbiter.conformance.situations.turns import one_move
from arbiter.conformance.testbed import Testbed
from arbiter.conformance.trace import request_ids
from arbiter.errors import Reason, Refusal
from arbiter.wire.refusal_messages import refusal_message

TEMPORARY = (
    "After a temporary refusal (`UNAVAILABLE`, `RESOURCE_EXHAUSTED`) the client sends the same request again, "
    "after the time in the refusal, or after 0.5 s."
)
STALE = (
    "`PLY_MISMATCH`, `NOT_YOUR_TURN` and `MATCH_NOT_ACTIVE` mean that the request came too late; the client "
    "ignores them."
)
EARLY_S = 0.1  #: tolerance for rounded clocks


def answer_with(testbed: Testbed, act: play_pb2.PlayAct, refusal: Refusal | None, code: int = 0) -> None:
    """Answer a bot's request with a refusal; without one, with an unknown reason, and a code."""
    answer = match_pb2.MoveAnswer(request_id=act.request_id, match_id=act.match_id)
    if refusal is not None:
        answer.refusal.CopyFrom(refusal_message(refusal))
    else:
        answer.refusal.reason = 9_999  # type: ignore[assignment]
        answer.refusal.code = code
        answer.refusal.message = "a reason that does not exist yet"
    testbed.proxy.live.send(play_pb2.PlayItem(answer=answer))


def refuse_moves(testbed: Testbed, times: int, refusal: Refusal | None, code: int = 0) -> list[float]:
    """Refuse the bot's next moves, as many as given; return a list that collects the instants."""
    refused: list[float] = []

    def up(act: play_pb2.PlayAct) -> tuple[play_pb2.PlayAct, ...]:
        if act.WhichOneof("act") == "move" and len(refused) < times:
            refused.append(testbed.trace.now_s)
            answer_with(testbed, act, refusal, code)
            return ()
        return (act,)

    testbed.proxy.up = up
    return refused


async def _repeats(testbed: Testbed, refusal: Refusal | None, wait_s: float, code: int = 0) -> None:
    refused = refuse_moves(testbed, 2, refusal, code)
    match = await testbed.match()
    await match.goes_on()
    moves = testbed.trace.moves(match.id, 0)
    one_move(testbed, match, 0)
    if any(said.act != moves[0].act for said in moves):
        raise Failed("the request was not the same when it was repeated")
    for before_s, after in zip(refused, moves[1:], strict=False):
        if after.at_s - before_s < wait_s - EARLY_S:
            raise Failed(f"it was repeated after {after.at_s - before_s:.2f} s, though {wait_s:g} s were asked for")
    await match.goes_on()


@clause("refusals.unavailable", "repeats the same request after the wait that is asked for", TEMPORARY, CLIENTS)
async def unavailable(testbed: Testbed) -> None:
    """Refuse a move twice with STORE_UNAVAILABLE, which asks for a delay of a second."""
    await _repeats(testbed, Refusal(Reason.STORE_UNAVAILABLE, "the store is away", retry_after_ms=1_000), 1.0)


@clause("refusals.exhausted", "repeats the same request where the refusal names no wait", TEMPORARY, CLIENTS)
async def exhausted(testbed: Testbed) -> None:
    """Refuse a move twice with RATE_LIMITED, without saying when to retry."""
    await _repeats(testbed, Refusal.said(Reason.RATE_LIMITED, "too much", {"limit": "1"}), 0.2)


@clause(
    "refusals.unknown-temporary",
    "treats a reason that it does not know by its code: the same again later",
    "A reason that a client does not know is treated by its status code.",
    REFUSAL,
)
async def unknown_temporary(testbed: Testbed) -> None:
    """Refuse a move twice with an unknown reason, whose code is UNAVAILABLE."""
    await _repeats(testbed, None, 0.2, 14)


def _stale(reason: Reason, **facts: str | int) -> None:
    async def situation(testbed: Testbed) -> None:
        refuse_moves(testbed, 1, Refusal(reason, "it came too late", **facts))
        match = await testbed.match()
        said = await match.move()
        if await testbed.quiet(lambda: len(testbed.trace.acts(match_id=match.id)) > 1, 1.5):
            more = testbed.trace.acts(match_id=match.id)[1].act
            raise Failed(f"after {reason.value} the bot sent more for the match: {more.WhichOneof('act')}")
        await match.play_as(testbed.player, 0, said.act.move.move)
        await match.reply()
        await match.goes_on(2)

    situation.__doc__ = f"Refuse a move with {reason.value}; later let it be the bot's turn again."
    name = reason.value.lower().replace("_", "-")
    clause(f"refusals.{name}", f"drops a move that is refused with {reason.value}", STALE, CLIENTS)(situation)


_stale(Reason.PLY_MISMATCH, expected=1, actual=0)
_stale(Reason.NOT_YOUR_TURN, seat=1, turn=2)
_stale(Reason.MATCH_NOT_ACTIVE, phase="ended", outcome="")


@clause(
    "refusals.illegal",
    "does not repeat a request that was refused as illegal",
    "`choose` is called once more with `turn.refused` set; a second refusal resigns",
    BOTS,
)
async def illegal(testbed: Testbed) -> None:
    """Refuse every move at a turn with MOVE_ILLEGAL, whatever it is; the fourth would lose the match."""
    match = await testbed.match()

    def up(act: play_pb2.PlayAct) -> tuple[play_pb2.PlayAct, ...]:
        if act.WhichOneof("act") == "move" and act.match_id == match.id:
            move = act.move.move
            answer_with(
                testbed, act, Refusal(Reason.MOVE_ILLEGAL, "not here", move=move, position="", ply=0, strikes_left=3)
            )
            return ()
        return (act,)

    testbed.proxy.up = up
    await match.move()
    await testbed.quiet(lambda: match.over or len(testbed.trace.moves(match.id)) >= 4, 3.0)
    moves = testbed.trace.moves(match.id)
    if len(request_ids(moves)) < len(moves):
        raise Failed("a request that was refused as illegal was sent again")
    if len(moves) >= 4:
        raise Failed(f"the bot made {len(moves)} attempts, each of which was refused as illegal: the match is lost")


@clause(
    "refusals.one-match",
    "a refusal in one match is no hindrance in another",
    "A refusal of an act is a message, and the stream goes on",
)
async def one_match(testbed: Testbed) -> None:
    """Refuse a move with MATCH_NOT_FOUND; meanwhile play another match on the same stream."""
    refuse_moves(testbed, 1, Refusal(Reason.MATCH_NOT_FOUND, "there is no such match", id="?"))
    number = testbed.proxy.live.opened.number
    lost = await testbed.match()
    await lost.move()
    other: BotMatch = await testbed.match()
    await other.goes_on(3)
    if testbed.proxy.live.opened.number != number:
        raise Failed("the bot left its stream")


@clause("refusals.call", "repeats a question that was refused for a while", TEMPORARY, CLIENTS)
async def call(testbed: Testbed) -> None:
    """Refuse the bot's calls about the rules twice with RATE_LIMITED, which asks for a delay of 300 ms."""
    refused = 0

    def refuse(request: Any) -> Refusal | None:
        nonlocal refused
        refused += 1
        return Refusal(Reason.RATE_LIMITED, "too much", limit=1, retry_after_ms=300) if refused <= 2 else None

    testbed.proxy.refuse_call = refuse
    with testbed.proxy.without_lists():
        match = await testbed.match()
        await match.goes_on(2)


@clause("requests.ids", "each request has an id of its own", "Each request has an id of its own.", CLIENTS)
async def ids(testbed: Testbed) -> None:
    """Compare all request ids in three matches, with a lost connection and a temporary refusal."""
    matches = [await testbed.match() for _ in range(3)]
    for match in matches:
        await match.goes_on(2)
    refuse_moves(testbed, 1, Refusal(Reason.STORE_UNAVAILABLE, "the store is away", retry_after_ms=300))
    for match in matches:
        await match.reply()
    now_s = testbed.trace.now_s
    testbed.cut()
    await testbed.connected(after_s=now_s)
    for match in matches:
        await match.goes_on(2)
    known: dict[str, play_pb2.PlayAct] = {}
    for said in testbed.trace.said:
        if said.act.WhichOneof("act") in ("hello", "pong", "acknowledge"):
            continue
        if not 1 <= len(said.act.request_id) <= 100:
            raise Failed(f"a request id has {len(said.act.request_id)} characters: 1 to 100 are allowed")
        if known.setdefault(said.act.request_id, said.act) != said.act:
            raise Failed(f"the id {said.act.request_id!r} stands on two requests that differ")
