"""Newer servers: fields, items, enum values and capabilities that no client knows yet."""

from __future__ import annotations

from collections.abc import Callable

from arbiter_protos.v1 import play_pb2, player_pb2, tournament_pb2

from arbiter.conformance.clauses import CLIENTS, PROTOS, REFUSAL, SERVER, clause
from arbiter.conformance.testbed import START_S, Testbed

UNKNOWN_TEXT = b"\xfa\xff\x01\x06future"  #: field 4095, a text
UNKNOWN_NUMBER = b"\xf0\xff\x01\x2a"  #: field 4094, a number
UNKNOWN_ITEM = b"\xfa\x7d\x06future"  #: field 2015, the form of an item of another kind
PASSED_OVER = "are ignored; a newer refusal reason is treated by its status code."


@clause("newer.fields", "passes over fields that it does not know", PASSED_OVER, CLIENTS)
async def fields(testbed: Testbed) -> None:
    """Add unknown fields to every item and everything inside it, from a new hello on."""

    def down(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        inner = getattr(item, item.WhichOneof("item") or "ping")
        inner.MergeFromString(UNKNOWN_TEXT + UNKNOWN_NUMBER)
        item.MergeFromString(UNKNOWN_TEXT + UNKNOWN_NUMBER)
        return [item]

    await _plays_on(testbed, down)


@clause("newer.items", "passes over items that it does not know", "Clients ignore items that they do not know.")
async def items(testbed: Testbed) -> None:
    """Send an item of an unknown kind, and an empty one, before every item."""

    def down(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        future = play_pb2.PlayItem()
        future.MergeFromString(UNKNOWN_ITEM)
        return [future, play_pb2.PlayItem(), item] if item.WhichOneof("item") != "hello" else [item, future]

    await _plays_on(testbed, down)


@clause(
    "newer.enums",
    "plays on where an enum has a value that it does not know",
    "Readers ignore elements that they do not know",
    PROTOS,
)
async def enums(testbed: Testbed) -> None:
    """Send matches in an unknown phase, and an end with an unknown kind, cause and party."""

    def down(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        if item.WhichOneof("item") == "match":
            item.match.phase = 99  # type: ignore[assignment]
        return [item]

    testbed.proxy.down = down
    match = await testbed.match()
    await match.goes_on()
    strange = play_pb2.PlayItem()
    strange.match.match_id = "m-of-the-future"
    strange.match.game = match.now.created.game
    strange.match.players.extend([testbed.player, "somebody"])
    strange.match.phase = 99  # type: ignore[assignment]
    ended = play_pb2.PlayItem()
    ended.ended.match_id = "m-of-the-future"
    ended.ended.game = match.now.created.game
    ended.ended.seat = 1
    ended.ended.cursor = "0"
    ended.ended.result.kind = 98  # type: ignore[assignment]
    ended.ended.result.cause = 97  # type: ignore[assignment]
    ended.ended.result.party = 96  # type: ignore[assignment]
    testbed.proxy.live.send(strange, ended)
    await match.goes_on(3)


@clause(
    "newer.hello",
    "plays with a server of a later minor version",
    'Version of this protocol, "1.MINOR"; clients with the same major version can use this server.',
    SERVER,
)
async def hello(testbed: Testbed) -> None:
    """Announce version 1.7 and unknown capabilities in the hello of a new stream."""

    def down(item: play_pb2.PlayItem) -> list[play_pb2.PlayItem]:
        if item.WhichOneof("item") == "hello":
            item.hello.protocol_version = "1.7"
            item.hello.capabilities.extend(["telepathy", "time-travel"])
        return [item]

    await _plays_on(testbed, down)


@clause(
    "newer.notice",
    "plays on after a notice whose reason it does not know",
    "A reason that a client does not know is treated by its status code.",
    REFUSAL,
)
async def notice(testbed: Testbed) -> None:
    """Send a notice with an unknown reason and the code UNAVAILABLE; continue for a while, then end the stream."""
    match = await testbed.match()
    await match.goes_on()
    item = play_pb2.PlayItem()
    item.notice.reason = 9_999  # type: ignore[assignment]
    item.notice.code = 14
    item.notice.message = "for a reason that does not exist yet"
    testbed.proxy.live.send(item)
    await match.reply()
    await match.goes_on()
    now_s = testbed.trace.now_s
    testbed.proxy.live.end()
    await testbed.connected(after_s=now_s)
    await match.goes_on(2, START_S)


@clause("newer.offers", "plays on when seeks and tournaments are announced", PASSED_OVER, CLIENTS)
async def offers(testbed: Testbed) -> None:
    """Send a seek and a tournament, which the bot may accept or ignore."""
    match = await testbed.match()
    terms = player_pb2.Terms(game=match.now.created.game, time_control="1m+1s")
    seek = player_pb2.Challenge(challenge_id="c-nobody", challenger="somebody", terms=terms, created_ms=1)
    call = play_pb2.TournamentCall(
        tournament_id="t-nobody", name="A cup", format=tournament_pb2.TOURNAMENT_FORMAT_SWISS, games=["pods"]
    )
    testbed.proxy.live.send(play_pb2.PlayItem(seek=seek), play_pb2.PlayItem(tournament=call))
    await match.goes_on(3)


async def _plays_on(testbed: Testbed, down: Callable[[play_pb2.PlayItem], list[play_pb2.PlayItem]]) -> None:
    """Change every item to the bot from a new hello on, and play with it."""
    testbed.proxy.down = down
    now_s = testbed.trace.now_s
    testbed.cut()
    await testbed.connected(after_s=now_s)
    match = await testbed.match()
    await match.goes_on(3, START_S)
