"""The services by Connect over HTTP, with a real client of the protocol, binary and JSON: answers, streams, errors."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from arbiter_protos.v1 import game_pb2, match_pb2, play_pb2, refusal_pb2, server_pb2, tournament_pb2
from connectrpc.client import ConnectClient
from connectrpc.code import Code
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from arbiter.config import Limits
from arbiter.games.registry import game
from arbiter.rpc import connect, connect_messages
from arbiter.rpc.connect_messages import (
    MOST_COMPRESSED,
    MOST_DECOMPRESSED,
    BinaryCodec,
    BoundedGzip,
    Encoded,
    JsonCodec,
)
from arbiter.rpc.grpc_server import SERVICE_DESCRIPTORS
from arbiter.runtime.loopback import free_port
from arbiter.service.players.accounts import Scope
from arbiter.testing.served import Served, served
from arbiter.wire import json_messages
from arbiter.wire.json_messages import json_of
from tests.rpc.test_turns import Noted

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIMITS = Limits(json_bytes=2_000, message_bytes=10_000)
OTHER_SITE = "https://client.example"
CODECS: dict[str, BinaryCodec | JsonCodec] = {"proto": BinaryCodec(Limits()), "json": JsonCodec(Limits())}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[Served]:
    given = {"json_bytes": 2_000, "message_bytes": 10_000}
    async with served(web=f"127.0.0.1:{free_port()}", limits=given, web_origins=(OTHER_SITE,), public=False) as running:
        yield running


@pytest.fixture(params=list(CODECS))
def client(server: Served, request: pytest.FixtureRequest) -> Caller:
    return Caller(server, request.param)


class Caller:
    """A client that makes calls by their names."""

    def __init__(self, server: Served, codec: str) -> None:
        self._client = ConnectClient(server.running.page.rstrip("/"), codec=CODECS[codec])
        self._server = server

    async def _headers(self, player: str, *scopes: Scope) -> dict[str, str]:
        return dict(await self._server.token(player, *scopes)) if player else {}

    async def call(self, name: str, request: Any, player: str = "", *scopes: Scope) -> Any:
        headers = await self._headers(player, *scopes)
        return await self._client.execute_unary(
            request=request, method=method(name), headers=headers, timeout_ms=20_000
        )

    async def stream(self, name: str, request: Any, player: str) -> AsyncIterator[Any]:
        headers = await self._headers(player)
        async for answer in self._client.execute_server_stream(request=request, method=method(name), headers=headers):
            yield answer

    async def refused(self, name: str, request: Any, player: str = "", *scopes: Scope) -> tuple[Code, Any]:
        """Return the code and the refusal with which a call is answered."""
        with pytest.raises(ConnectError) as caught:
            await self.call(name, request, player, *scopes)
        (detail,) = caught.value.details
        assert detail.type_name == "arbiter.v1.Refusal"
        return caught.value.code, refusal_pb2.Refusal.FromString(detail.message_bytes)


def method(name: str) -> MethodInfo[Any, Any]:
    found = next(each for service in SERVICE_DESCRIPTORS for each in service.methods if each.name == name)
    return MethodInfo(
        name=name,
        service_name=found.containing_service.full_name,
        input=GetMessageClass(found.input_type),
        output=GetMessageClass(found.output_type),
        idempotency_level=IdempotencyLevel.UNKNOWN,
        stream_type=StreamType.SERVER_STREAM if found.server_streaming else StreamType.UNARY,
    )


async def new_match(client: Caller, request_id: str, game: str = "hop-it") -> match_pb2.Match:
    for player in ("alice", "bob"):
        await client._server.token(player)
    request = match_pb2.CreateMatchRequest(request_id=request_id, game=game, players=["alice", "bob"])
    made = await client.call("CreateMatch", request, "org", Scope.ORGANISE, Scope.OBSERVE)
    return made.match  # type: ignore[no-any-return]


async def test_a_call_is_answered(client: Caller) -> None:
    info = await client.call("GetServerInfo", server_pb2.GetServerInfoRequest())
    assert info.protocol_version
    assert info.limits["json_bytes"] == 2_000


async def test_web_clients_play_a_match(client: Caller, request: pytest.FixtureRequest) -> None:
    made = await new_match(client, request.node.name)
    revisions: dict[str, list[int]] = {"alice": [], "bob": []}
    started = asyncio.Event()

    async def attend(player: str) -> None:
        asked = match_pb2.ObserveRequest(match=match_pb2.ObserveMatch(match_id=made.match_id), attending=True)
        async for answer in client.stream("Observe", asked, player):
            revisions[player] += [item.event.revision for item in answer.items if item.HasField("event")]
            if any(item.event.HasField("turn_started") for item in answer.items):
                started.set()

    watching = asyncio.gather(attend("alice"), attend("bob"))
    await asyncio.wait_for(started.wait(), 240)  # both are connected
    move = match_pb2.SubmitMoveRequest(match_id=made.match_id, request_id="m", ply=0, move="b2-c2")
    assert (await client.call("SubmitMove", move, "alice")).receipt.request_id == "m"
    lines = [answer async for answer in client.stream("GetTranscript", _of(made), "eve")]
    assert b'"kind":"moved"' in b"".join(answer.lines for answer in lines)
    await client.call("Resign", match_pb2.ResignRequest(match_id=made.match_id, request_id="r"), "bob")
    await asyncio.wait_for(watching, 240)  # the stream of a match ends with the match
    assert revisions["alice"] == revisions["bob"] == list(range(1, len(revisions["bob"]) + 1))


async def test_what_a_stream_does_takes_turns_as_over_grpc(client: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    made = await new_match(client, "in turn")
    noted = Noted(monkeypatch)
    assert [answer async for answer in client.stream("GetTranscript", _of(made), "eve")]
    assert noted.run == ["page 127.0.0.1", "address 127.0.0.1"]  # whose token is not known yet


async def test_a_caller_without_the_scope_play_does_not_count_as_present(client: Caller) -> None:
    made = await new_match(client, "not there")
    asked = match_pb2.ObserveRequest(match=match_pb2.ObserveMatch(match_id=made.match_id), attending=True)
    ((_, bearer),) = await client._server.token("eve", Scope.OBSERVE)
    with pytest.raises(ConnectError) as caught:
        async for _ in client._client.execute_server_stream(
            request=asked, method=method("Observe"), headers={"authorization": bearer}
        ):
            pass
    assert caught.value.code is Code.PERMISSION_DENIED


def _of(match: match_pb2.Match) -> match_pb2.GetTranscriptRequest:
    return match_pb2.GetTranscriptRequest(match_id=match.match_id)


@pytest.mark.parametrize(
    ("name", "request_", "player", "code", "reason"),
    [
        ("GetMatch", match_pb2.GetMatchRequest(match_id="none"), "alice", Code.NOT_FOUND, "MATCH_NOT_FOUND"),
        ("GetMatch", match_pb2.GetMatchRequest(match_id="none"), "", Code.UNAUTHENTICATED, "TOKEN_INVALID"),
        ("ListMatches", match_pb2.ListMatchesRequest(game="ludo"), "alice", Code.INVALID_ARGUMENT, "GAME_UNKNOWN"),
        (
            "CreateTournament",
            tournament_pb2.CreateTournamentRequest(request_id="x"),
            "alice",
            Code.PERMISSION_DENIED,
            "SCOPE_MISSING",
        ),
    ],
)
async def test_a_refusal_has_its_code_its_name_and_its_facts(
    client: Caller, name: str, request_: Any, player: str, code: Code, reason: str
) -> None:
    found, refusal = await client.refused(name, request_, player)
    assert found is code
    assert refusal_pb2.RefusalReason.Name(refusal.reason) == f"REFUSAL_REASON_{reason}"
    assert refusal.message


async def test_a_stream_is_refused_in_the_same_way(client: Caller) -> None:
    asked = match_pb2.ObserveRequest(match=match_pb2.ObserveMatch(match_id="none"))
    with pytest.raises(ConnectError) as caught:
        _ = [answer async for answer in client.stream("Observe", asked, "alice")]
    (detail,) = caught.value.details
    assert caught.value.code is Code.NOT_FOUND
    assert refusal_pb2.Refusal.FromString(detail.message_bytes).facts["id"] == "none"


@pytest.mark.parametrize(("codec", "size"), [("json", 3_000), ("proto", 20_000)])
async def test_a_message_that_is_too_large_is_refused_by_name(server: Served, codec: str, size: int) -> None:
    request = match_pb2.GetMatchRequest(match_id="x" * size)
    code, refusal = await Caller(server, codec).refused("GetMatch", request, "alice")
    assert code is Code.RESOURCE_EXHAUSTED
    assert refusal.reason == refusal_pb2.REFUSAL_REASON_MESSAGE_TOO_LARGE


# As plain HTTP


async def post(server: Served, path: str, content: bytes, **headers: str) -> httpx.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx.AsyncClient(base_url=server.running.page) as http:
        return await http.post(path, content=content, headers=given)


INFO = "/arbiter.v1.ServerService/GetServerInfo"
MATCH = "/arbiter.v1.MatchService/GetMatch"


async def test_a_refusal_can_be_read_in_its_json(server: Served) -> None:
    ((name, bearer),) = await server.token("alice")
    answer = await post(server, MATCH, b'{"matchId": "none"}', content_type="application/json", **{name: bearer})
    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"
    assert answer.json()["details"][0]["debug"] == {"reason": "MATCH_NOT_FOUND", "facts": {"id": "none"}}


@pytest.mark.parametrize(
    ("path", "content", "kind", "status"),
    [
        (INFO, b"", "application/json", 200),
        (INFO, b"{}", "application/json; charset=utf-8", 200),
        (INFO, b"[", "application/json", 400),
        (INFO, b"\xff\xff", "application/json", 400),
        (INFO, b"[" * 1_500, "application/json", 400),
        (INFO, b"\xff", "application/proto", 400),
        (INFO, b"{}", "text/plain", 415),
        (INFO, b"", "application/grpc", 415),
        (INFO, b"", "application/grpc-web", 415),
        (INFO, b"", "application/x-www-form-urlencoded", 415),
        (INFO, b"x", "application/connect+json", 415),
        ("/arbiter.v1.ServerService/Nothing", b"{}", "application/json", 404),
        ("/arbiter.v1.PlayService/Play", b"", "application/connect+proto", 404),
    ],
)
async def test_malformed_calls_are_refused(server: Served, path: str, content: bytes, kind: str, status: int) -> None:
    answer = await post(server, path, content, content_type=kind)
    assert answer.status_code == status
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"[]", "a list"),
        (b" \n[]", "a list"),
        (b'""', "a string"),
        (b"0", "a number"),
        (b"null", "null"),
        (b"x", "no JSON"),
    ],
)
async def test_only_a_json_object_is_a_message(server: Served, content: bytes, what: str) -> None:
    answer = await post(server, INFO, content, content_type="application/json")
    assert answer.status_code == 400
    shown = answer.json()["details"][0]["debug"]
    assert shown["reason"] == "ARGUMENT_INVALID"
    assert shown["facts"] == {"what": what, "where": "the request", "allowed": "a JSON object"}


@pytest.mark.long
async def test_a_compressed_bomb_is_refused(server: Served) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    answer = await post(server, INFO, bomb, content_type="application/json", content_encoding="gzip")
    assert answer.status_code == 429


async def test_a_compressed_message_has_a_bound_of_its_own_since_it_is_made_large_in_one_step() -> None:
    most = 4 * Limits().message_bytes
    assert len(BoundedGzip().decompress(gzip.compress(bytes(MOST_DECOMPRESSED)), most)) == MOST_DECOMPRESSED
    with pytest.raises(ConnectError, match="larger than configured max"):
        BoundedGzip().decompress(gzip.compress(bytes(MOST_DECOMPRESSED + 1)), most)
    assert len(BoundedGzip().decompress(gzip.compress(bytes(100)), 100)) == 100
    with pytest.raises(ConnectError):
        BoundedGzip().decompress(gzip.compress(bytes(101)), 100)


async def test_a_long_answer_is_not_made_shorter_in_one_step() -> None:
    for size, shorter in ((MOST_COMPRESSED, True), (MOST_COMPRESSED + 1, False)):
        compressed = BoundedGzip().compress(bytes(size))
        assert gzip.decompress(compressed) == bytes(size)
        assert (len(compressed) < size) is shorter


async def test_answers_about_rules_come_encoded_in_the_form_that_the_client_reads(client: Caller) -> None:
    rules = game("circle-of-life")
    first = min(rules.moves(rules.initial()))
    line = game_pb2.LineOfPlay(game="circle-of-life", moves=[first])
    played = await client.call("PlayMoves", game_pb2.PlayMovesRequest(line=line))
    after = rules.play(rules.initial(), first)
    assert [each.position for each in played.positions] == [rules.text(rules.initial()), rules.text(after)]
    (listed,) = [chunk async for chunk in client.stream("LegalMoves", game_pb2.LegalMovesRequest(line=line), "")]
    assert [move.text for move in listed.moves] == sorted(rules.moves(after))


async def test_long_json_is_made_in_steps_and_not_kept(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    client, most = Caller(server, "json"), 100

    def short_json_of(message: Message) -> bytes:
        assert message.ByteSize() <= most
        return json_of(message)

    monkeypatch.setattr(connect_messages, "json_of", short_json_of)
    for module in (connect, json_messages):
        monkeypatch.setattr(module, "PART", most)
    made = await new_match(client, "in steps")
    abort = match_pb2.AbortMatchRequest(match_id=made.match_id, request_id="a", note="rain")
    await client.call("AbortMatch", abort, "org", Scope.ORGANISE, Scope.OBSERVE)
    kept = connect_messages._json_of.cache_info().currsize
    asked = match_pb2.ObserveRequest(match=match_pb2.ObserveMatch(match_id=made.match_id), with_record=True)
    answers = [answer async for answer in client.stream("Observe", asked, "eve")]
    assert sum(len(answer.items) for answer in answers) >= 2
    assert connect_messages._json_of.cache_info().currsize == kept


async def test_a_cookie_authenticates_no_call(server: Served) -> None:
    ((_, bearer),) = await server.token("alice")
    cookie = f"arbiter-session={bearer.partition(' ')[2]}"
    answer = await post(server, MATCH, b"{}", content_type="application/json", cookie=cookie)
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("origin", "status", "allowed"),
    [
        ("", 200, None),
        ("own", 200, None),
        (OTHER_SITE, 200, OTHER_SITE),
        ("https://evil.example", 403, None),
        ("null", 403, None),
    ],
)
async def test_other_sites_may_call_only_if_the_operator_allows_it(
    server: Served, origin: str, status: int, allowed: str | None
) -> None:
    given = {"origin": server.running.page.rstrip("/") if origin == "own" else origin} if origin else {}
    answer = await post(server, INFO, b"{}", content_type="application/json", **given)
    assert (answer.status_code, answer.headers.get("access-control-allow-origin")) == (status, allowed)
    if given and origin != "own":
        asked = {
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization,content-type",
        }
        async with httpx.AsyncClient(base_url=server.running.page) as http:
            before = await http.options(INFO, headers={**given, **asked})
        assert before.headers.get("access-control-allow-origin") == allowed
        assert (before.status_code == 200) == (allowed is not None)


async def test_a_client_that_leaves_ends_its_stream(server: Served) -> None:
    made = await new_match(Caller(server, "proto"), "left")
    asked = match_pb2.ObserveRequest(match=match_pb2.ObserveMatch(match_id=made.match_id), attending=True)
    matches = server.running.arbiter.matches
    stream = Caller(server, "proto").stream("Observe", asked, "alice")
    assert (await anext(stream)).items
    assert (await matches.match(made.match_id)).present[0]
    await stream.aclose()  # type: ignore[attr-defined]
    async with asyncio.timeout(240):
        while (await matches.match(made.match_id)).present[0]:  # noqa: ASYNC110 - the server notices it later
            await asyncio.sleep(0.01)


async def test_a_cached_message_is_converted_to_json_once() -> None:
    message = play_pb2.PlayRequest(acts=[play_pb2.PlayAct(request_id="ä")])
    encoded = Encoded(play_pb2.PlayRequest, message.SerializeToString())
    codec = JsonCodec(Limits())
    assert codec.encode(encoded) == codec.encode(message) == '{"acts": [{"requestId": "ä"}]}'.encode()
    assert codec.encode(encoded) is codec.encode(encoded)
    assert BinaryCodec(Limits()).encode(encoded) is encoded.content
