"""Every text of every request, hostile: it is refused, or nobody ever sees what a terminal would obey."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import match_pb2, player_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from arbiter.config import Limits
from arbiter.service.players.accounts import Scope
from arbiter.testing.served import served
from tests.rpc.calls import Stubs, refusal_in
from tests.rpc.methods import METHODS
from tests.rpc.test_rights import TABLE, Factory, make_request
from tests.test_plain_text import HOSTILE

AS_IT_CAME = {
    *("MoveAnswer.request_id", "MoveAnswer.match_id"),  # told to the caller alone, so that it finds its request
}
LINES = {"GetGameResponse.rules_text"}  #: several lines, which the game's author wrote
Path = tuple[FieldDescriptor, ...]


@pytest.fixture
async def factory() -> AsyncIterator[Factory]:
    limits = Limits(open_tournaments=1_000, open_matches=1_000, calls_a_second=100_000, open_matches_of_player=1_000)
    async with served(limits=limits) as running:
        made = await Factory(Stubs(running)).enter()
        _, made.own = await made.new_token("carol", *Scope)
        yield made


def _paths(kind: Descriptor, depth: int = 4) -> Iterator[Path]:
    """Yield the way to every text in a message of a kind."""
    for field in kind.fields:
        if field.type == FieldDescriptor.TYPE_STRING:
            yield (field,)
        elif field.message_type is not None and depth and not field.message_type.GetOptions().map_entry:
            yield from ((field, *rest) for rest in _paths(field.message_type, depth - 1))
        elif field.message_type is not None and depth:
            yield (field,)


def _spoiled(message: Message, path: Path) -> Message:
    """Return a copy of a message with one hostile text."""
    copy = type(message)()
    copy.CopyFrom(message)
    at: Any = copy
    for field in path[:-1]:
        part = getattr(at, field.name)
        if field.is_repeated:
            at = part[0] if len(part) else part.add()
        else:
            part.SetInParent()
            at = part
    last = path[-1]
    if last.message_type is not None:
        getattr(at, last.name)[HOSTILE] = HOSTILE
    elif last.is_repeated:
        getattr(at, last.name).append(HOSTILE)
    else:
        setattr(at, last.name, f"a{HOSTILE}z")
    return copy


def _seen(message: Message) -> Iterator[tuple[str, str]]:
    """Yield all texts in a message, each with the name of its field."""
    for field, value in message.ListFields():
        name = f"{message.DESCRIPTOR.name}.{field.name}"
        for each in (
            value.items()
            if field.message_type is not None and field.message_type.GetOptions().map_entry
            else (value if field.is_repeated else [value])
        ):
            for part in each if isinstance(each, tuple) else (each,):
                if isinstance(part, str):
                    yield name, part
                elif isinstance(part, Message):
                    yield from _seen(part)


def _check(answer: Message, about: str) -> None:
    for name, text in _seen(answer):
        if name not in AS_IT_CAME:
            assert (text.replace("\n", "") if name in LINES else text).isprintable(), (about, name, text)


async def _call(factory: Factory, name: str, request: Message) -> bool:
    """Make a call, check all texts of its answer, and return whether it was carried out."""
    method = METHODS[name]
    path = f"/{method.containing_service.full_name}/{method.name}"
    answer = GetMessageClass(method.output_type).FromString
    channel: Any = factory.stubs.served.channel
    try:
        if method.client_streaming:
            call = channel.stream_stream(path, type(request).SerializeToString, answer)(metadata=factory.own)
            await call.write(request)
            _check(await call.read(), name)
            call.cancel()
        elif method.server_streaming:
            call = channel.unary_stream(path, type(request).SerializeToString, answer)(request, metadata=factory.own)
            _check(await call.read(), name)
            call.cancel()
        else:
            made = channel.unary_unary(path, type(request).SerializeToString, answer)
            _check(await made(request, metadata=factory.own), name)
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.INTERNAL:  # the stream ended while our gRPC was writing
            _check(refusal_in(error), name)
        return False
    return True


async def _read_everything(factory: Factory) -> None:
    """Check all texts of all lists, and of all events on record."""
    for name in METHODS:
        if name.partition(".")[2].startswith("List"):
            request = await make_request(factory, name, "own" if "own" in TABLE[name] else "any")
            if "page_size" in METHODS[name].input_type.fields_by_name:
                request.page_size = 100  # type: ignore[attr-defined]
            assert await _call(factory, name, request), name
    every = match_pb2.ObserveRequest(all=match_pb2.ObserveAll(after_token="0"))
    stream = factory.stubs.matches.Observe(every, metadata=factory.own)
    async for answer in stream:
        _check(answer, "the record")
        if any(item.HasField("bookmark") for item in answer.items):
            break
    stream.cancel()


@pytest.mark.long
@pytest.mark.parametrize("service", sorted({name.partition(".")[0] for name in TABLE}))
async def test_no_text_that_is_not_printed_reaches_anybody(factory: Factory, service: str) -> None:
    for name in (name for name in TABLE if name.startswith(f"{service}.")):
        relation = "own" if "own" in TABLE[name] else "any"
        for path in _paths(METHODS[name].input_type):
            request = await make_request(factory, name, relation)
            await _call(factory, name, _spoiled(request, path))
    await _read_everything(factory)


async def test_texts_of_accounts_are_refused_by_the_name_of_their_field(factory: Factory) -> None:
    players = factory.stubs.players
    for call, request, field in (
        (players.RegisterPlayer, player_pb2.RegisterPlayerRequest(name="n1", about=HOSTILE), "about"),
        (players.UpdateProfile, player_pb2.UpdateProfileRequest(about=HOSTILE), "about"),
        (players.CreateToken, player_pb2.CreateTokenRequest(note=HOSTILE), "note"),
        (players.GrantBadge, player_pb2.GrantBadgeRequest(player="carol", bot_version=HOSTILE), "bot_version"),
        (
            players.DeclineChallenge,
            player_pb2.DeclineChallengeRequest(challenge_id=await factory.challenge("own"), reason=HOSTILE),
            "reason",
        ),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call(request, metadata=factory.own if field != "bot_version" else factory.stubs.admin)
        assert refusal_in(refused.value).facts["where"] == field
