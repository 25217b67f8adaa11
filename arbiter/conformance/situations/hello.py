"""How a stream begins: the token, the hello, and waiting for the server's hello."""

from __future__ import annotations

from arbiter_protos.v1 import play_pb2

from arbiter.conformance.clauses import CLIENTS, PLAYER, clause
from arbiter.conformance.failures import Failed
from arbiter.conformance.testbed import Testbed
from arbiter.conformance.trace import shown


@clause("hello.first", "its first message is its hello", "The bot's first message is its hello.", cold=True)
async def first(testbed: Testbed) -> None:
    """Start the bot, and check its first message."""
    await testbed.start()
    await testbed.until(lambda: bool(testbed.trace.said), "the bot's first message", 30)
    act = testbed.trace.said[0].act
    if act.WhichOneof("act") != "hello":
        raise Failed(f"the first message is no hello but {shown(act)}")
    hello = act.hello
    if hello.protocol_version.partition(".")[0] != "1":
        raise Failed(f"the hello names protocol version {hello.protocol_version!r}, not 1.0")
    if not hello.software:
        raise Failed("the hello does not name the client software")


@clause(
    "hello.token",
    "every call carries the token",
    'A call carries its token as metadata "authorization: Bearer TOKEN".',
    PLAYER,
)
async def token(testbed: Testbed) -> None:
    """Play two moves; send turns without legal moves, so that the bot may have to request them."""
    with testbed.proxy.without_lists():
        match = await testbed.match()
        await match.goes_on(2)
    wanted = f"Bearer {testbed.token}"
    for stream in testbed.trace.streams:
        if stream.token.casefold() != wanted.casefold():
            raise Failed(f"stream {stream.number} was opened with authorization {_hidden(stream.token)}")
    for call in testbed.trace.called:
        open_to_all = call.method.startswith(("GameService/", "ServerService/"))
        if call.token.casefold() != wanted.casefold() and not (open_to_all and not call.token):
            raise Failed(f"{call.method} was called with authorization {_hidden(call.token)}")


def _hidden(token: str) -> str:
    return f"{token[:12]}…" if token else "none at all"


@clause(
    "hello.patience",
    "nothing but the hello is sent before the server's hello",
    "nothing else until the server's hello",
    CLIENTS,
)
async def patience(testbed: Testbed) -> None:
    """Leave a move unanswered and cut the connection; on the new stream delay the server's hello."""
    testbed.proxy.up = lambda act: () if act.WhichOneof("act") == "move" else (act,)
    match = await testbed.match()
    await match.move()
    held: list[play_pb2.PlayItem] = []

    def hold(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        held.append(item)
        return []

    testbed.proxy.down = hold
    testbed.trace.note("holds back all that the arbiter sends")
    cut_s = testbed.trace.now_s
    testbed.cut()
    await testbed.connected(after_s=cut_s)
    number = testbed.proxy.live.opened.number
    await testbed.until(lambda: bool(held), "the arbiter's hello")

    def more() -> bool:
        return any(said.stream == number and said.act.WhichOneof("act") != "hello" for said in testbed.trace.said)

    if await testbed.quiet(more, 1.0):
        raise Failed(f"before the server's hello the bot sent {shown(testbed.trace.said[-1].act)}")
    testbed.proxy.plain()
    testbed.proxy.live.send(*held)
    await match.goes_on()
