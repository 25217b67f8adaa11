"""Fuzzed calls: messages drawn from the descriptors of the services, and which results a call may have."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from arbiter_protos.v1 import refusal_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st

from arbiter.errors import Reason
from arbiter.testing.served import Served
from arbiter.wire.refusal_messages import CODES
from tests.fuzz import sendable, texts
from tests.rpc.calls import Metadata, refusal_in

LONGEST = 20_000  #: characters of a drawn text: other tests send larger messages
DEEPEST = 4  #: depth of nested messages that are drawn
ANSWER_S = 120.0  #: seconds after which an unanswered call counts as hanging
OVERTAKEN = "Internal error from Core"  #: gRPC's client reports this if the server ends a stream while it writes
CONTRACT = Path(__file__).parents[2] / "protos" / "arbiter" / "v1"

Words = Mapping[str, Sequence[str]]
"""Likely texts by the name of a field; '' for all other fields."""

_BITS = {
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.TYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_UINT64: (0, 2**64 - 1),
}


# -- messages ----------------------------------------------------------------------------------------------------------


def messages(kind: Descriptor, words: Words, depth: int = DEEPEST) -> st.SearchStrategy[Any]:
    """Return messages of a type: most with likely values in most fields, the others with arbitrary ones."""
    return st.sampled_from((True, True, False)).flatmap(lambda careful: _messages(kind, words, careful, depth))


def _messages(kind: Descriptor, words: Words, careful: bool, depth: int) -> st.SearchStrategy[Any]:
    make = GetMessageClass(kind)

    @st.composite
    def drawn(draw: st.DrawFn) -> Message:
        message: Message = make()
        chosen = {oneof.name: draw(st.sampled_from(list(oneof.fields))).name for oneof in kind.oneofs}
        for field in kind.fields:
            oneof = field.containing_oneof
            if (oneof is None or chosen[oneof.name] == field.name) and draw(st.integers(0, 9)) < (9 if careful else 7):
                _fill(draw, message, field, words, careful, depth)
        return message

    return drawn()


def _fill(draw: st.DrawFn, message: Message, field: FieldDescriptor, words: Words, careful: bool, depth: int) -> None:
    held = field.message_type
    if held is not None and held.GetOptions().map_entry:
        key, value = (_scalars(held.fields_by_name[name], words, careful) for name in ("key", "value"))
        getattr(message, field.name).update(draw(st.dictionaries(key, value, max_size=3)))
    elif held is not None and depth == 0:
        return
    elif field.is_repeated:
        each = _scalars(field, words, careful) if held is None else _messages(held, words, careful, depth - 1)
        size = draw(st.sampled_from((2, 2, 1)) if careful else st.integers(0, 4))
        getattr(message, field.name).extend(draw(st.lists(each, min_size=size, max_size=size)))
    elif held is not None:
        part = getattr(message, field.name)
        part.SetInParent()
        part.CopyFrom(draw(_messages(held, words, careful, depth - 1)))
    else:
        setattr(message, field.name, draw(_scalars(field, words, careful)))


def _scalars(field: FieldDescriptor, words: Words, careful: bool) -> st.SearchStrategy[Any]:
    likely: st.SearchStrategy[Any]
    anything: st.SearchStrategy[Any]
    match field.type:
        case FieldDescriptor.TYPE_STRING:
            known = tuple(words.get(field.name, words[""]))
            likely, anything = st.sampled_from(known), texts(known).map(lambda text: sendable(text[:LONGEST]))
        case FieldDescriptor.TYPE_BYTES:
            likely = anything = st.binary(max_size=40)
        case FieldDescriptor.TYPE_BOOL:
            likely = anything = st.booleans()
        case FieldDescriptor.TYPE_ENUM:
            assert field.enum_type is not None
            numbers = [value.number for value in field.enum_type.values]
            likely, anything = st.sampled_from(numbers), st.sampled_from((*numbers, -1, 77, 2**31 - 1))
        case FieldDescriptor.TYPE_DOUBLE:
            likely, anything = st.sampled_from((0.0, 0.05, 10.0)), st.floats()
        case _:
            least, most = _BITS[field.type]  # a KeyError here: a numeric type that the protocol did not use before
            likely, anything = st.integers(0, 2), st.sampled_from((least, most)) | st.integers(least, most)
    return st.integers(0, 9).flatmap(lambda lot: likely if lot < (9 if careful else 4) else anything)


def garbage() -> st.SearchStrategy[bytes]:
    """Return bytes that mostly are no message: arbitrary ones, deeply nested messages, wrong lengths."""
    nested = st.integers(1, 2_000).map(_nested)
    lying = st.integers(1, 15).map(lambda number: bytes([number << 3 | 2]) + b"\xff\xff\xff\xff\x07abc")
    return st.one_of(st.binary(max_size=60), st.binary(min_size=1_000, max_size=4_000), nested, lying)


def _nested(depth: int) -> bytes:
    """Return field 1 in field 1 in field 1 …, nested this deep."""
    data = b""
    for _ in range(depth):
        length, size = len(data), b""
        while length > 0x7F:
            size += bytes([length & 0x7F | 0x80])
            length >>= 7
        data = b"\x0a" + size + bytes([length]) + data
    return data


# -- results of a call -------------------------------------------------------------------------------------------------


class Documented(NamedTuple):
    """The facts of a reason, as `refusal.proto` lists them: always present, or only in a match or a line of play."""

    always: frozenset[str]
    also: frozenset[str]


@cache
def documented() -> dict[str, Documented]:
    """Return the facts of every reason by its name in the protocol, read from `refusal.proto` itself."""
    found = {}
    comment = ""
    for line in (CONTRACT / "refusal.proto").read_text().splitlines():
        if words := re.match(r"\s*// (.*)", line):
            comment += words[1] + " "
        elif value := re.match(r"\s*(REFUSAL_REASON_\w+) = ", line):
            facts = re.search(r"Facts: ([^.]*)\.", comment)
            always, *also = (facts[1] if facts else "").split(";")
            more = (_names(part.partition(" also ")[2]) for part in also)
            found[value[1]] = Documented(_names(always), frozenset().union(*more))
            comment = ""
        else:
            comment = ""
    return found


def _names(listed: str) -> frozenset[str]:
    return frozenset(re.sub(r"\(.*?\)", "", name).strip() for name in listed.split(",") if name.strip())


def check_refusal(refusal: refusal_pb2.Refusal) -> None:
    """Assert that a refusal has a documented reason, its code, its facts and no others."""
    name = refusal_pb2.RefusalReason.Name(refusal.reason)
    facts = documented()[name]
    assert refusal.code == CODES[Reason[name.removeprefix("REFUSAL_REASON_")]].value[0], refusal
    assert facts.always <= set(refusal.facts) <= facts.always | facts.also, refusal
    assert refusal.message, refusal
    assert "\n" not in refusal.message, refusal
    assert "Traceback" not in refusal.message, refusal


def check_status(error: grpc.aio.AioRpcError) -> str:
    """Assert that a call ended with a documented refusal; return its name."""
    assert error.code() not in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN), error
    refusal = refusal_in(error)
    assert error.code().value[0] == refusal.code, refusal
    check_refusal(refusal)
    return refusal_pb2.RefusalReason.Name(refusal.reason)


def refusals_in(message: Message) -> Iterator[refusal_pb2.Refusal]:
    """Yield the refusals in a message, at any depth."""
    if isinstance(message, refusal_pb2.Refusal):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for part in value if field.is_repeated else (value,):
                yield from refusals_in(part)


class Method(NamedTuple):
    """A method of a service: its path, and whether its requests and answers are streams."""

    path: str
    client_streams: bool
    server_streams: bool
    answer: type[Message]


async def call(served: Served, method: Method, requests: Sequence[bytes], metadata: Metadata) -> str:
    """Make a call with these messages and read all answers; return the refusal that ended it, or ''.

    A stream without an end is read until its first bookmark.
    """
    channel: Any = served.channel
    try:
        async with asyncio.timeout(ANSWER_S):
            if not method.client_streams and not method.server_streams:
                answers = [await channel.unary_unary(method.path)(requests[0], metadata=metadata)]
            else:
                answers = [answer async for answer in _streamed(channel, method, requests, metadata)]
    except grpc.aio.AioRpcError as error:
        if error.details() == OVERTAKEN and requests:
            return await call(served, method, requests[:-1], metadata)
        return check_status(error)
    for answer in answers:
        for refusal in refusals_in(method.answer.FromString(answer)):
            check_refusal(refusal)
    return ""


async def _streamed(
    channel: Any, method: Method, requests: Sequence[bytes], metadata: Metadata
) -> AsyncIterator[bytes]:
    if method.client_streams:
        stream = channel.stream_stream(method.path)(iter(requests), metadata=metadata)
    else:
        stream = channel.unary_stream(method.path)(requests[0], metadata=metadata)
    async for answer in stream:
        yield answer
        message: Any = method.answer.FromString(answer)
        if any(item.HasField("bookmark") for item in getattr(message, "items", ()) if hasattr(item, "bookmark")):
            stream.cancel()
            return
