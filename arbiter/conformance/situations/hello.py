"""How a stream begins: the token, the hello, and waiting for the server's hello."""

from __future__ import annotations

from arbiter_protos.v1 import play_pb2

from arbiter.conformance.clauses import CLIENTS, PLAYER, clause
from arbiter.conformance.failures import Failed
from arbiter.conformance.stage import Stage
from arbiter.conformance.trace import shown


@clause("hello.first", "its first message is its hello", "The bot's first message is its hello.", cold=True)
async def first(stage: Stage) -> None:
    """Start the bot, and check its first message."""
    await stage.start()
    await stage.until(lambda: bool(stage.trace.said), "the bot's first message", 30)
    act = stage.trace.said[0].act
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
async def token(stage: Stage) -> None:
    """Play two moves; send turns without legal moves, so that the bot may have to request them."""
    with stage.without_lists():
        match = await stage.match()
        await stage.goes_on(match, 2)
    wanted = f"Bearer {stage.token}"
    for stream in stage.trace.streams:
        if stream.token.casefold() != wanted.casefold():
            raise Failed(f"stream {stream.number} was opened with authorization {_hidden(stream.token)}")
    for call in stage.trace.called:
        open_to_all = call.method.startswith(("GameService/", "ServerService/"))
        if call.token.casefold() != wanted.casefold() and not (open_to_all and not call.token):
            raise Failed(f"{call.method} was called with authorization {_hidden(call.token)}")


def _hidden(token: str) -> str:
    return f"{token[:12]}…" if token else "none at all"


@clause(
    "hello.patience",
    "nothing but the hello is said before the server's hello",
    "nothing else until the server's hello",
    CLIENTS,
)
async def patience(stage: Stage) -> None:
    """Leave a move unanswered and cut the connection; on the new stream delay the server's hello."""
    stage.front.up = lambda act: () if act.WhichOneof("act") == "move" else (act,)
    match = await stage.match()
    await stage.move(match)
    held: list[play_pb2.PlayItem] = []

    def hold(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        held.append(item)
        return []

    stage.front.down = hold
    stage.trace.note("holds back all that the arbiter says")
    cut_s = stage.trace.now_s
    stage.cut()
    await stage.connected(after_s=cut_s)
    number = stage.live.opened.number
    await stage.until(lambda: bool(held), "the arbiter's hello")

    def more() -> bool:
        return any(said.stream == number and said.act.WhichOneof("act") != "hello" for said in stage.trace.said)

    if await stage.quiet(more, 1.0):
        raise Failed(f"before the server's hello the bot said {shown(stage.trace.said[-1].act)}")
    stage.front.plain()
    stage.live.tell(*held)
    await stage.goes_on(match)
