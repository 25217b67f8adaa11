"""Lost connections, at every point, and servers that are unavailable for a while."""

from __future__ import annotations

from arbiter_protos.v1 import play_pb2

from arbiter.conformance.bot_match import BotMatch
from arbiter.conformance.clauses import CLIENTS, clause
from arbiter.conformance.failures import Failed
from arbiter.conformance.situations.turns import one_move
from arbiter.conformance.testbed import START_S, Testbed
from arbiter.errors import Reason
from arbiter.testing.network import Network

COMES_BACK = "a bot that connects again gets the current state of everything."
AWAY_S = 5.0
RESTART_S = 2.0
MOST_TRIES = 40
SILENCE_S = 3.0  #: longer than the time between two pings of the arbiter
LAST_WORD = 4_000_001  #: the number of a ping
LARGE = b"\xca\xbb\x0f" + b"\x80\x80\x40" + b"\0" * (1 << 20)  #: an unknown field of a million bytes, encoded


async def _cut_after(testbed: Testbed, kind: str) -> BotMatch:
    """Cut the connection once, when the bot is sent an item of a kind; check that the match continues."""
    cut = False

    def down(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        nonlocal cut
        if item.WhichOneof("item") == kind and not cut:
            cut = True
            testbed.cut(after_s=0.05)
        return [item]

    testbed.proxy.down = down
    match = await testbed.match()
    await testbed.until(lambda: cut, f"the item {kind}")
    await match.goes_on(3, START_S)
    for ply in (0, 2, 4):
        one_move(testbed, match, ply)
    return match


@clause("reconnect.before-hello", "reconnects if the connection is lost before the server's hello", COMES_BACK)
async def before_hello(testbed: Testbed) -> None:
    """Cut the connection as soon as the bot has sent its hello, three times in a row, before anything is answered."""
    match = await testbed.match()
    testbed.proxy.down = lambda item: []
    testbed.proxy.mute = True
    for _ in range(3):
        now_s = testbed.trace.now_s
        testbed.cut()
        await testbed.connected(after_s=now_s)
    testbed.proxy.plain()
    testbed.cut()
    await match.goes_on(2, START_S)


@clause("reconnect.after-hello", "reconnects if the connection is lost after the server's hello", COMES_BACK)
async def after_hello(testbed: Testbed) -> None:
    """Cut the connection; on the next stream cut it again right after the server's hello."""
    match = await testbed.match()
    await match.goes_on()
    hellos = 0

    def down(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        nonlocal hellos
        if item.WhichOneof("item") == "hello":
            hellos += 1
        if hellos == 1 and item.WhichOneof("item") == "hello":
            testbed.cut(after_s=0.05)
        return [item] if hellos != 1 or item.WhichOneof("item") == "hello" else []

    testbed.proxy.down = down
    testbed.cut()
    await testbed.until(lambda: hellos > 1, "the bot's next stream", START_S)
    await match.goes_on(2, START_S)


@clause("reconnect.after-match", "reconnects if the connection is lost after a match was announced", COMES_BACK)
async def after_match(testbed: Testbed) -> None:
    """Cut the connection right after the state of a new match."""
    await _cut_after(testbed, "match")


@clause("reconnect.after-turn", "reconnects if the connection is lost at its turn", COMES_BACK)
async def after_turn(testbed: Testbed) -> None:
    """Cut the connection right after the first turn."""
    await _cut_after(testbed, "turn")


@clause("reconnect.after-answer", "reconnects if the connection is lost after an answer", COMES_BACK)
async def after_answer(testbed: Testbed) -> None:
    """Cut the connection right after the answer to the first move."""
    await _cut_after(testbed, "answer")


RESENT = "unanswered requests are sent again in their old order with their old ids."


@clause("reconnect.lost-move", "sends a move again that was lost with the connection, word for word", RESENT, CLIENTS)
async def lost_move(testbed: Testbed) -> None:
    """Lose the bot's move together with the connection, before the server gets it."""
    testbed.proxy.up = lambda act: () if act.WhichOneof("act") == "move" else (act,)
    match = await testbed.match()
    await match.move()
    await _said_again(testbed, [match])


@clause(
    "reconnect.lost-answer",
    "sends a move again whose answer was lost with the connection, word for word",
    RESENT,
    CLIENTS,
)
async def lost_answer(testbed: Testbed) -> None:
    """Play the bot's move, but lose the answer together with the connection."""
    match = await testbed.match()
    testbed.proxy.down = lambda item: [] if item.WhichOneof("item") == "answer" else [item]
    await match.move()
    await testbed.until(lambda: match.now.ply == 1, "the move to be played")
    await _said_again(testbed, [match])


@clause("reconnect.order", "sends unanswered requests again in their old order", RESENT, CLIENTS)
async def order(testbed: Testbed) -> None:
    """Lose the bot's moves in four matches together with the connection, before the server gets them."""
    testbed.proxy.up = lambda act: () if act.WhichOneof("act") == "move" else (act,)
    matches = [await testbed.match() for _ in range(4)]
    for match in matches:
        await match.move()
    await _said_again(testbed, matches)


async def _said_again(testbed: Testbed, matches: list[BotMatch]) -> None:
    """Cut the connection; check that the moves of some matches are sent again unchanged and the matches continue."""
    ids = {match.id for match in matches}
    first = [said.act for said in testbed.trace.acts("move") if said.act.match_id in ids]
    cut_s = testbed.trace.now_s
    testbed.proxy.plain()
    testbed.cut()

    def again() -> list[play_pb2.PlayAct]:
        return [said.act for said in testbed.trace.acts("move", after_s=cut_s) if said.act.match_id in ids]

    await testbed.until(lambda: len(again()) >= len(first), "unanswered moves to be sent again", START_S)
    for before, now in zip(first, again(), strict=False):
        if before.request_id != now.request_id:
            raise Failed(f"sent again was {now.request_id!r} where {before.request_id!r} was to come")
        if before != now:
            raise Failed(f"the request {before.request_id!r} was not the same when it was sent again")
    for match in matches:
        await match.goes_on(2)
        one_move(testbed, match, 0)


@clause(
    "reconnect.thinking",
    "goes on thinking although the connection is lost meanwhile",
    "If a turn is sent again while the bot is choosing for it, or while its request is unanswered, `choose` is "
    "not called again.",
    CLIENTS,
)
async def thinking(testbed: Testbed) -> None:
    """Cut the connection during the bot's turn, while the answer with its legal moves is delayed."""
    match = await testbed.match()
    await match.goes_on()
    with testbed.proxy.without_lists():
        with testbed.proxy.calls_held():
            await match.reply()
            turn = await match.thinking()
            now_s = testbed.trace.now_s
            testbed.cut()
            await testbed.connected(after_s=now_s)
        await match.goes_on(2, START_S)
    one_move(testbed, match, turn.ply)


@clause("reconnect.mid-message", "reconnects if the connection is lost in the middle of a message", COMES_BACK)
async def mid_message(testbed: Testbed) -> None:
    """Send a turn in a message of a million bytes over a slow connection, and cut it half a second later."""
    large = False

    def down(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        nonlocal large
        if item.WhichOneof("item") == "turn" and not large:
            large = True
            testbed.network.down.bytes_a_second = 100_000
            item.turn.MergeFromString(LARGE)
            testbed.cut(after_s=0.5)
        return [item]

    testbed.proxy.down = down
    streams = len(testbed.trace.streams)
    match = await testbed.match()
    await testbed.until(lambda: large, "the turn")
    began_s = testbed.trace.now_s
    await testbed.until(lambda: len(testbed.trace.streams) > streams, "the bot's next stream", START_S)
    testbed.network.down.bytes_a_second = None
    await testbed.connected(after_s=began_s)
    await match.goes_on(2, START_S)


@clause(
    "reconnect.again-and-again",
    "reconnects each time",
    "If the client was connected before, it tries for ever",
    CLIENTS,
)
async def again_and_again(testbed: Testbed) -> None:
    """Cut the connection at each of six turns."""
    match = await testbed.match()
    for _ in range(6):
        await match.turn(match.now.ply)
        now_s = testbed.trace.now_s
        testbed.cut()
        await testbed.connected(after_s=now_s)
        await match.goes_on(1, START_S)
        if match.over:
            break
        await match.reply()


@clause(
    "reconnect.backoff",
    "waits longer and longer for a server that is away, and reconnects once it is back",
    "After 0.1 s, then twice as long each time, up to 5 s, with jitter",
    CLIENTS,
    slow=True,
)
async def backoff(testbed: Testbed) -> None:
    """Be unavailable for five seconds during a turn: reset every connection. Then accept connections again."""
    match = await testbed.match()
    await match.goes_on()
    before = testbed.network.taken
    testbed.trace.note("resets every connection from now on")
    testbed.network.refusing = True
    testbed.network.cut()
    await testbed.lasts(AWAY_S)
    tries = testbed.network.taken - before
    if tries > MOST_TRIES:
        raise Failed(f"it tried {tries} times in {AWAY_S:g} s")
    await testbed.until(lambda: testbed.network.taken > before, "the bot to try to connect again")
    testbed.trace.note(f"takes connections again, after {testbed.network.taken - before} tries")
    now_s = testbed.trace.now_s
    testbed.network.refusing = False
    await testbed.connected(after_s=now_s)
    await match.goes_on(2, START_S)


@clause(
    "reconnect.restart",
    "reconnects after a restart of the server",
    "Nothing is lost with a stream: a bot that connects again gets the current state of everything.",
)
async def restart(testbed: Testbed) -> None:
    """Stop like a server that its operator restarts, with DRAINING; accept no connections for two seconds."""
    match = await testbed.match()
    await match.goes_on()
    stream = testbed.proxy.live.opened
    testbed.proxy.end_stream(Reason.DRAINING, retry_after_ms=1_000)
    await testbed.until(lambda: stream.ended_s is not None, "the stream to be over")
    testbed.network.refusing = True
    testbed.network.cut()
    await testbed.lasts(RESTART_S)
    now_s = testbed.trace.now_s
    testbed.network.refusing = False
    await testbed.connected(after_s=now_s)
    await match.goes_on(2, START_S)


def _ends_with(reason: Reason, title: str, **facts: str | int) -> None:
    async def situation(testbed: Testbed) -> None:
        match = await testbed.match()
        await match.goes_on()
        now_s = testbed.trace.now_s
        testbed.proxy.end_stream(reason, **facts)
        await testbed.connected(after_s=now_s)
        asked_s = int(str(facts.get("retry_after_ms", 0))) / 1000
        waited_s = testbed.trace.streams[-1].at_s - now_s
        if waited_s < asked_s - 0.1:
            raise Failed(f"it reconnected after {waited_s:.2f} s, though it was asked to wait {asked_s:g} s")
        await match.goes_on(2, START_S)

    wait = f", and ask for {facts['retry_after_ms']} ms" if "retry_after_ms" in facts else ""
    situation.__doc__ = f"End the stream with {reason.value}{wait}."
    name = reason.value.lower().replace("_", "-")
    quote = "After `DRAINING`, `SESSION_SILENT`, `READER_TOO_SLOW` and `RATE_LIMITED` the client connects again."
    clause(f"reconnect.{name}", title, quote, CLIENTS)(situation)


_ends_with(Reason.DRAINING, "reconnects when it was asked to", retry_after_ms=2_000)
_ends_with(Reason.SESSION_SILENT, "reconnects after a session that ended in silence", limit=1)
_ends_with(Reason.READER_TOO_SLOW, "reconnects after it read too slowly", resume_from="")
_ends_with(Reason.RATE_LIMITED, "reconnects after it sent too much", limit=1, retry_after_ms=1_000)


@clause(
    "reconnect.silence",
    "leaves a server that has been silent for longer than its hello says",
    "If the server is silent for longer than its hello allows, the client closes the connection and connects again.",
    CLIENTS,
)
async def silence(testbed: Testbed) -> None:
    """Announce a silence limit of a few seconds in the hello of a new stream; then keep it open, but send nothing."""
    match = await testbed.match()
    await match.goes_on()
    before = len(testbed.trace.streams)
    silent, silence_s = False, SILENCE_S * max(1.0, testbed.scale)

    def down(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        if item.WhichOneof("item") == "hello" and not silent:
            item.hello.silence_most_ms = round(silence_s * 1000)
        return [] if silent else [item]

    testbed.proxy.down = down
    testbed.cut()
    await testbed.until(lambda: len(testbed.trace.streams) > before, "the bot's next stream", START_S)
    await match.reply()
    await match.goes_on()
    silent = True
    last_word_s, streams = testbed.trace.now_s, len(testbed.trace.streams)
    testbed.proxy.live.ping(LAST_WORD)
    testbed.trace.note("says nothing more")
    await testbed.until(
        lambda: len(testbed.trace.streams) > streams, "the bot to leave and connect again", SILENCE_S + START_S
    )
    waited_s = testbed.trace.streams[streams].at_s - last_word_s
    testbed.proxy.plain()
    if waited_s < silence_s / 2:
        raise Failed(f"it left after {waited_s:.1f} s already, of the {silence_s:g} s that the hello allows")
    testbed.cut()
    await match.goes_on(2, START_S)


@clause(
    "reconnect.next-address",
    "goes on at the next address of the arbiter where one is gone for good",
    "If its server is gone, the client goes on at the next address at once",
    CLIENTS,
    cold=True,
)
async def next_address(testbed: Testbed) -> None:
    """Start the bot with two addresses; once its move's answer is lost, reset all connections at its own for good."""
    own, other = await testbed.start_at_two_addresses()
    before = other.taken
    match = await testbed.match()
    testbed.proxy.down = lambda item: [] if item.WhichOneof("item") == "answer" else [item]
    await match.move()
    await testbed.until(lambda: match.now.ply == 1, "the move to be played")
    testbed.trace.note("resets every connection at the bot's address from now on")
    own.refusing = True
    own.cut()
    await _said_again(testbed, [match])
    if other.taken == before:
        raise Failed("it has not connected to the other address")


@clause(
    "reconnect.draining-address",
    "goes on at the next address where a server is about to stop, and comes back to the first",
    "or if its server is about to stop (`DRAINING`). It waits only if all addresses have failed, and then tries "
    "each of them again.",
    CLIENTS,
    cold=True,
)
async def draining_address(testbed: Testbed) -> None:
    """Start the bot with two addresses; end its stream at each with DRAINING, and ask for a minute."""
    own, other = await testbed.start_at_two_addresses()
    match = await testbed.match()
    await match.goes_on()
    await _goes_on_elsewhere(testbed, match, own)
    await _goes_on_elsewhere(testbed, match, other)


async def _goes_on_elsewhere(testbed: Testbed, match: BotMatch, left: Network) -> None:
    """End the stream with DRAINING; check that the bot has left a network for the other one."""
    before = len(testbed.trace.streams)
    testbed.proxy.end_stream(Reason.DRAINING, retry_after_ms=60_000)
    await testbed.until(lambda: len(testbed.trace.streams) > before, "the bot to go on at the other address")
    stream = await testbed.connected(after_s=testbed.trace.streams[before].at_s)
    left.cut()
    await match.goes_on(2, START_S)
    if stream.opened.ended_s is not None:
        raise Failed("its stream was not at the other address")
