"""Turns that arrive twice, late, out of order, with gaps, or while the bot still thinks about another one."""

from __future__ import annotations

from arbiter_protos.v1 import play_pb2

from arbiter.conformance.bot_match import BotMatch
from arbiter.conformance.clauses import CLIENTS, MATCH, clause
from arbiter.conformance.failures import Failed, NotApplicable
from arbiter.conformance.testbed import Testbed
from arbiter.conformance.trace import request_ids
from arbiter.wire.version import READY


def one_move(testbed: Testbed, match: BotMatch, ply: int) -> None:
    """Check that the bot has sent exactly one move request for a ply. Raises Failed."""
    ids = request_ids(testbed.trace.moves(match.id, ply))
    if len(ids) > 1:
        raise Failed(f"the bot moved {len(ids)} times for ply {ply} of {match.id}, under {', '.join(sorted(ids))}")


def doubling(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
    """Send everything twice, except the hello and pings."""
    return [item] * (1 if item.WhichOneof("item") in ("hello", "ping") else 2)


@clause(
    "turns.doubled",
    "a turn that is sent twice is answered once",
    "If a turn is sent again while the bot is choosing for it, or while its request is unanswered, `choose` is "
    "not called again.",
    CLIENTS,
)
async def doubled(testbed: Testbed) -> None:
    """Send everything twice, and turns a third time while calls are delayed: a bot that calls still thinks then."""
    with testbed.proxy.without_lists():
        bare = testbed.proxy.down
        testbed.proxy.down = lambda item: [out for one in bare(item) for out in doubling(one)]
        match = await testbed.match()
        for _ in range(2):
            with testbed.proxy.calls_held():
                turn = await match.thinking()
                testbed.proxy.live.send(play_pb2.PlayItem(turn=turn))
                await testbed.quiet(lambda: False, 0.3)
            await match.goes_on()
            one_move(testbed, match, turn.ply)
            await match.reply()
        await match.goes_on()
        one_move(testbed, match, 4)


@clause(
    "turns.late",
    "turns, answers and states that come late are passed over",
    "A turn with a later ply ends the choice for an older one.",
    CLIENTS,
)
async def late(testbed: Testbed) -> None:
    """Send the first turn, the first answer and the old match state again, after the bot's second move."""
    kept: list[play_pb2.PlayItem] = []

    def keep(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        if item.WhichOneof("item") in ("match", "turn", "answer") and len(kept) < 3:
            kept.append(item)
        return [item]

    testbed.proxy.down = keep
    match = await testbed.match()
    await match.goes_on(2)
    before = len(testbed.trace.acts("move", match.id))
    testbed.proxy.live.send(*kept)
    if await testbed.quiet(lambda: len(testbed.trace.acts("move", match.id)) > before, 1.0):
        raise Failed("the bot moved for a turn that is over")
    await match.goes_on(2)


@clause(
    "turns.overtaken",
    "a later turn ends the search for an older one",
    "A turn with a later ply ends the choice for an older one.",
    CLIENTS,
)
async def overtaken(testbed: Testbed) -> None:
    """Play a move in the bot's name while it thinks, and the opponent's reply; then send the next turn."""
    match = await testbed.match()
    testbed.proxy.up = lambda act: () if act.WhichOneof("act") == "move" and act.move.ply == 0 else (act,)
    with testbed.proxy.without_lists(), testbed.proxy.calls_held():
        turn = await match.thinking()
        move = min(match.now.game.moves(match.now.position))
        await match.play_as(testbed.player, turn.ply, move)
        await match.reply()
        await match.turn(match.now.ply)
    await match.goes_on(2)


@clause(
    "turns.interrupted",
    "plays on after an interruption of its match",
    "Interrupted: no clock runs until the player to move is back, or until the time for this is over.",
    MATCH,
)
async def interrupted(testbed: Testbed) -> None:
    """Interrupt the match while the bot thinks about its turn; the match continues, and the turn is sent again."""
    match = await testbed.match()
    await match.goes_on()
    with testbed.proxy.without_lists(), testbed.proxy.calls_held():
        await match.reply()
        turn = await match.thinking()
        await match.interrupt()
        await testbed.quiet(lambda: False, 0.3)
    await match.goes_on(2)
    one_move(testbed, match, turn.ply)


@clause(
    "turns.ready",
    "says that it is ready for a match before its first clock, also after an outage",
    'A bot with the capability "ready" sends a ReadyAct for each match that it gets in phase PENDING or PAUSED.',
)
async def ready(testbed: Testbed) -> None:
    """Challenge the bot; once they play, interrupt the match until the bot is back, and cut the connection."""
    await testbed.connected()
    if testbed.hello is None or READY not in testbed.hello.capabilities:
        raise NotApplicable("this bot does not say when it is ready")
    before = len(testbed.played)
    await testbed.challenge()
    await testbed.until(lambda: len(testbed.played) > before, "the match that came of the challenge")
    match = testbed.played[-1]

    def said() -> int:
        return sum(each.act.match_id == match.id for each in testbed.trace.acts("ready"))

    await testbed.until(lambda: said() == 1, "the bot to say that it is ready")
    await match.arrive()
    await match.goes_on(2)
    await match.stop_clock()
    testbed.network.cut()
    await testbed.until(lambda: said() > 1, "the bot to say so on its next stream")
    await match.arrive()
    await match.goes_on(2)


@clause(
    "turns.gap",
    "plays on where last_moves leaves a gap",
    "the client gets the missing moves by `GetMatch` before it calls the bot.",
    CLIENTS,
)
async def gap(testbed: Testbed) -> None:
    """Leave last_moves empty from the second turn on."""

    def bare(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        if item.WhichOneof("item") == "turn":
            item.turn.ClearField("last_moves")
        return [item]

    match = await testbed.match()
    await match.goes_on()
    testbed.proxy.down = bare
    await match.goes_on(2)


@clause(
    "turns.before-receipt", "plays on though the answer to its move comes after the next turn", "The items, in order."
)
async def before_receipt(testbed: Testbed) -> None:
    """Delay the answer to each move until the next turn has been sent."""
    held: list[play_pb2.PlayItem] = []

    def swap(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        kind = item.WhichOneof("item")
        if kind == "answer":
            held.append(item)
            return []
        if kind == "turn":
            sent = [item, *held]
            held.clear()
            return sent
        return [item]

    testbed.proxy.down = swap
    match = await testbed.match()
    await match.goes_on(3)
    for ply in (0, 2, 4):
        one_move(testbed, match, ply)


@clause(
    "turns.one-message", "takes many items in one message", "A message of the server, with all items that are ready."
)
async def one_message(testbed: Testbed) -> None:
    """Send the states and turns of three matches in one message, with a ping."""
    held: list[play_pb2.PlayItem] = []

    def hold(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        held.append(item)
        return []

    testbed.proxy.down = hold
    matches = [await testbed.match() for _ in range(3)]

    def all_there() -> bool:
        return sum(item.WhichOneof("item") == "turn" for item in held) == len(matches)

    await testbed.until(all_there, "the arbiter to send the turns")
    testbed.proxy.plain()
    testbed.proxy.live.send(*held, play_pb2.PlayItem(ping=play_pb2.Ping(number=1_000_001)))
    for match in matches:
        await match.goes_on()
    await testbed.until(
        lambda: any(said.act.pong.number == 1_000_001 for said in testbed.trace.acts("pong")), "the pong to its ping"
    )
