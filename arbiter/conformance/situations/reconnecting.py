"""Lost connections, at every point, and servers that are unavailable for a while."""

from __future__ import annotations

from arbiter_protos.v1 import play_pb2

from arbiter.conformance.clauses import CLIENTS, clause
from arbiter.conformance.failures import Failed
from arbiter.conformance.played import Played
from arbiter.conformance.situations.turns import one_move
from arbiter.conformance.stage import START_S, Stage
from arbiter.errors import Reason

AGAIN = "A bot that asks the server at its turn while the arbiter is away, and fails because of it, is asked again"
COMES_BACK = "whoever connects again is told where everything stands."
AWAY_S = 5.0
OUTAGE_S = 12.0  #: longer than a client's timeout for a call
MOST_TRIES = 40
LARGE = b"\xca\xbb\x0f" + b"\x80\x80\x40" + b"\0" * (1 << 20)  #: an unknown field of a million bytes, encoded


async def _cut_after(stage: Stage, kind: str) -> Played:
    """Cut the connection once, when the bot is sent an item of a kind; check that the match continues."""
    cut = False

    def down(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        nonlocal cut
        if item.WhichOneof("item") == kind and not cut:
            cut = True
            stage.later(0.05, stage.cut)
        return [item]

    stage.bend(down)
    match = await stage.match()
    await stage.until(lambda: cut, f"the item {kind}")
    await stage.goes_on(match, 3, START_S)
    for ply in (0, 2, 4):
        one_move(stage, match, ply)
    return match


@clause("reconnect.before-hello", "comes back if the connection is lost before the server's hello", COMES_BACK)
async def before_hello(stage: Stage) -> None:
    """Cut the connection as soon as the bot has sent its hello, three times in a row, before anything is answered."""
    match = await stage.match()
    stage.bend(lambda item: [])
    stage.front.mute = True
    for _ in range(3):
        now_s = stage.trace.now_s
        stage.cut()
        await stage.connected(after_s=now_s)
    stage.front.plain()
    stage.cut()
    await stage.goes_on(match, 2, START_S)


@clause("reconnect.after-hello", "comes back if the connection is lost after the server's hello", COMES_BACK)
async def after_hello(stage: Stage) -> None:
    """Cut the connection; on the next stream cut it again right after the server's hello."""
    match = await stage.match()
    await stage.goes_on(match)
    hellos = 0

    def down(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        nonlocal hellos
        if item.WhichOneof("item") == "hello":
            hellos += 1
        if hellos == 1 and item.WhichOneof("item") == "hello":
            stage.later(0.05, stage.cut)
        return [item] if hellos != 1 or item.WhichOneof("item") == "hello" else []

    stage.bend(down)
    stage.cut()
    await stage.until(lambda: hellos > 1, "the bot's next stream", START_S)
    await stage.goes_on(match, 2, START_S)


@clause("reconnect.after-match", "comes back if the connection is lost after a match was told", COMES_BACK)
async def after_match(stage: Stage) -> None:
    """Cut the connection right after the state of a new match."""
    await _cut_after(stage, "match")


@clause("reconnect.after-turn", "comes back if the connection is lost at its turn", COMES_BACK)
async def after_turn(stage: Stage) -> None:
    """Cut the connection right after the first turn."""
    await _cut_after(stage, "turn")


@clause("reconnect.after-answer", "comes back if the connection is lost after an answer", COMES_BACK)
async def after_answer(stage: Stage) -> None:
    """Cut the connection right after the answer to the first move."""
    await _cut_after(stage, "answer")


RESENT = "unanswered requests are sent again in their old order with their old ids."


@clause("reconnect.lost-move", "sends a move again that was lost with the connection, word for word", RESENT, CLIENTS)
async def lost_move(stage: Stage) -> None:
    """Lose the bot's move together with the connection, before the server gets it."""
    stage.front.up = lambda act: () if act.WhichOneof("act") == "move" else (act,)
    match = await stage.match()
    await stage.move(match)
    await _said_again(stage, [match])


@clause(
    "reconnect.lost-answer",
    "sends a move again whose answer was lost with the connection, word for word",
    RESENT,
    CLIENTS,
)
async def lost_answer(stage: Stage) -> None:
    """Play the bot's move, but lose the answer together with the connection."""
    match = await stage.match()
    stage.bend(lambda item: [] if item.WhichOneof("item") == "answer" else [item])
    await stage.move(match)
    await stage.until(lambda: match.now.ply == 1, "the move to be played")
    await _said_again(stage, [match])


@clause("reconnect.order", "sends unanswered requests again in their old order", RESENT, CLIENTS)
async def order(stage: Stage) -> None:
    """Lose the bot's moves in four matches together with the connection, before the server gets them."""
    stage.front.up = lambda act: () if act.WhichOneof("act") == "move" else (act,)
    matches = [await stage.match() for _ in range(4)]
    for match in matches:
        await stage.move(match)
    await _said_again(stage, matches)


async def _said_again(stage: Stage, matches: list[Played]) -> None:
    """Cut the connection; check that the moves of some matches are sent again unchanged and the matches continue."""
    ids = {match.id for match in matches}
    first = [said.act for said in stage.trace.acts("move") if said.act.match_id in ids]
    cut_s = stage.trace.now_s
    stage.front.plain()
    stage.cut()

    def again() -> list[play_pb2.PlayAct]:
        return [said.act for said in stage.trace.acts("move", after_s=cut_s) if said.act.match_id in ids]

    await stage.until(lambda: len(again()) >= len(first), "unanswered moves to be sent again", START_S)
    for before, now in zip(first, again(), strict=False):
        if before.request_id != now.request_id:
            raise Failed(f"sent again was {now.request_id!r} where {before.request_id!r} was to come")
        if before != now:
            raise Failed(f"the request {before.request_id!r} was not the same when it was sent again")
    for match in matches:
        await stage.goes_on(match, 2)
        one_move(stage, match, 0)


@clause(
    "reconnect.thinking",
    "goes on with its thought though the connection was lost meanwhile",
    "A turn that is told again while its choice is under way or unanswered is not chosen for again;",
    CLIENTS,
)
async def thinking(stage: Stage) -> None:
    """Cut the connection during the bot's turn, while the answer with its legal moves is delayed."""
    match = await stage.match()
    await stage.goes_on(match)
    with stage.without_lists():
        with stage.calls_held():
            await match.reply()
            turn = await stage.thinking(match)
            now_s = stage.trace.now_s
            stage.cut()
            await stage.connected(after_s=now_s)
        await stage.goes_on(match, 2, START_S)
    one_move(stage, match, turn.ply)


@clause(
    "reconnect.long-outage",
    "loses no match by an outage in the middle of its thought",
    AGAIN,
    CLIENTS,
    slow=True,
)
async def long_outage(stage: Stage) -> None:
    """Be unavailable for twelve seconds during the bot's turn, while the answer with its legal moves is delayed."""
    match = await stage.match(time="5m+1s")
    await stage.goes_on(match)
    with stage.without_lists():
        with stage.calls_held():
            await match.reply()
            await stage.thinking(match)
            stage.trace.note("resets every connection from now on")
            stage.network.refusing = True
            stage.network.cut()
            await stage.quiet(lambda: False, OUTAGE_S)
        now_s = stage.trace.now_s
        stage.trace.note("takes connections again")
        stage.network.refusing = False
        await stage.connected(after_s=now_s)
        await stage.goes_on(match, 2, START_S)


@clause(
    "reconnect.calls-fail",
    "is asked again where what it asked at its turn failed because the arbiter was away",
    AGAIN,
    CLIENTS,
    slow=True,
)
async def calls_fail(stage: Stage) -> None:
    """For twelve seconds during the bot's turn, answer every call like a gateway whose server is unavailable."""
    match = await stage.match(time="5m+1s")
    await stage.goes_on(match)
    stage.trace.note("ends calls with the status UNAVAILABLE and no word of the arbiter's")
    stage.front.calls_away = True
    with stage.without_lists():
        await match.reply()
        await stage.thinking(match)
        await stage.quiet(lambda: match.over, OUTAGE_S)
        stage.sound(match)
        stage.trace.note("answers calls again")
        stage.front.calls_away = False
        await stage.goes_on(match, 2, START_S)


@clause("reconnect.mid-message", "comes back if the connection is lost in the middle of a message", COMES_BACK)
async def mid_message(stage: Stage) -> None:
    """Send a turn in a message of a million bytes over a slow connection, and cut it half a second later."""
    large = False

    def down(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        nonlocal large
        if item.WhichOneof("item") == "turn" and not large:
            large = True
            stage.network.down.bytes_a_second = 100_000
            item.turn.MergeFromString(LARGE)
            stage.later(0.5, stage.cut)
        return [item]

    stage.bend(down)
    match = await stage.match()
    await stage.until(lambda: large, "the turn")
    began_s = stage.trace.now_s
    await stage.until(lambda: len(stage.trace.streams) > 1, "the bot's next stream", START_S)
    stage.network.down.bytes_a_second = None
    await stage.connected(after_s=began_s)
    await stage.goes_on(match, 2, START_S)


@clause(
    "reconnect.again-and-again",
    "comes back each time",
    "a connection that was there once is tried again for ever",
    CLIENTS,
)
async def again_and_again(stage: Stage) -> None:
    """Cut the connection at each of six turns."""
    match = await stage.match()
    for _ in range(6):
        await stage.turn(match, match.now.ply)
        now_s = stage.trace.now_s
        stage.cut()
        await stage.connected(after_s=now_s)
        await stage.goes_on(match, 1, START_S)
        if match.over:
            break
        await match.reply()


@clause(
    "reconnect.backoff",
    "does not hammer at a server that is away, and comes back once it is there again",
    "After 0.1 s, then twice as long each time, up to 5 s, with jitter",
    CLIENTS,
    slow=True,
)
async def backoff(stage: Stage) -> None:
    """Be unavailable for five seconds during a turn: reset every connection. Then accept connections again."""
    match = await stage.match()
    await stage.goes_on(match)
    before = stage.network.taken
    stage.trace.note("resets every connection from now on")
    stage.network.refusing = True
    stage.network.cut()
    await stage.quiet(lambda: False, AWAY_S)
    tries = stage.network.taken - before
    stage.trace.note(f"takes connections again, after {tries} tries")
    stage.network.refusing = False
    if tries > MOST_TRIES:
        raise Failed(f"it tried {tries} times in {AWAY_S:g} s")
    if not tries:
        raise Failed(f"it did not try again within {AWAY_S:g} s")
    await stage.connected(after_s=stage.trace.now_s)
    await stage.goes_on(match, 2, START_S)


@clause(
    "reconnect.restart",
    "comes back after a restart of the server",
    "Nothing is lost with a stream: whoever connects again is told where everything stands.",
)
async def restart(stage: Stage) -> None:
    """Stop like a server that its operator restarts, with DRAINING; accept no connections for two seconds."""
    match = await stage.match()
    await stage.goes_on(match)
    stream = stage.live.opened
    stage.end_stream(Reason.DRAINING, retry_after_ms=1_000)
    await stage.until(lambda: stream.ended_s is not None, "the stream to be over")
    stage.network.refusing = True
    stage.network.cut()
    await stage.quiet(lambda: False, 2.0)
    now_s = stage.trace.now_s
    stage.network.refusing = False
    await stage.connected(after_s=now_s)
    await stage.goes_on(match, 2, START_S)


def _ends_with(reason: Reason, title: str, **facts: object) -> None:
    async def situation(stage: Stage) -> None:
        match = await stage.match()
        await stage.goes_on(match)
        now_s = stage.trace.now_s
        stage.end_stream(reason, **facts)
        await stage.connected(after_s=now_s)
        asked_s = int(str(facts.get("retry_after_ms", 0))) / 1000
        waited_s = stage.trace.streams[-1].at_s - now_s
        if waited_s < asked_s - 0.1:
            raise Failed(f"it came back after {waited_s:.2f} s, though it was asked to wait {asked_s:g} s")
        await stage.goes_on(match, 2, START_S)

    wait = f", and ask for {facts['retry_after_ms']} ms" if "retry_after_ms" in facts else ""
    situation.__doc__ = f"End the stream with {reason.value}{wait}."
    name = reason.value.lower().replace("_", "-")
    quote = "`DRAINING`, `SESSION_SILENT`, `READER_TOO_SLOW` and `RATE_LIMITED` are connected again after."
    clause(f"reconnect.{name}", title, quote, CLIENTS)(situation)


_ends_with(Reason.DRAINING, "comes back when it was asked to", retry_after_ms=2_000)
_ends_with(Reason.SESSION_SILENT, "comes back after a session that ended in silence")
_ends_with(Reason.READER_TOO_SLOW, "comes back after it read too slowly", resume_from="")
_ends_with(Reason.RATE_LIMITED, "comes back after it said too much", limit=1, retry_after_ms=1_000)


@clause(
    "reconnect.silence",
    "leaves a server that has been silent for longer than its hello says",
    "A server that is silent for longer than its hello says is left, and connected to again.",
    CLIENTS,
)
async def silence(stage: Stage) -> None:
    """Announce a silence limit of three seconds in the hello of a new stream; then keep it open, but send nothing."""
    match = await stage.match()
    await stage.goes_on(match)
    first = len(stage.trace.streams) + 1
    silent = False

    def down(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        if item.WhichOneof("item") == "hello" and not silent:
            item.hello.silence_most_ms = 3_000
        return [] if silent else [item]

    stage.bend(down)
    stage.cut()
    await stage.until(lambda: len(stage.trace.streams) >= first, "the bot's next stream", START_S)
    await match.reply()
    await stage.goes_on(match)
    silent = True
    stage.trace.note("says nothing more")
    hushed_s = stage.trace.now_s
    await stage.until(lambda: len(stage.trace.streams) > first, "the bot to leave and connect again", 3 + START_S)
    waited_s = stage.trace.streams[-1].at_s - hushed_s
    stage.front.plain()
    if waited_s < 1.5:
        raise Failed(f"it left after {waited_s:.1f} s already, of the 3 s that the hello allows")
    stage.cut()
    await stage.goes_on(match, 2, START_S)
