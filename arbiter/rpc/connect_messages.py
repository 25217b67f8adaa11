"""Messages and refusals of the Connect protocol: the same ones as over gRPC, as binary messages or as JSON."""

from __future__ import annotations

import gzip
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, cast

from connectrpc.code import Code
from connectrpc.compression.gzip import GzipCompression
from connectrpc.errors import ConnectError, ErrorDetail
from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from protobuf.wkt import Any as AnyMessage
from protobuf.wkt import Struct

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal, argument_invalid
from arbiter.wire.json_messages import JsonBytes, json_of
from arbiter.wire.refusal_messages import code_of, refusal_message

_JSON_SPACE: Final = b" \t\n\r"  #: what RFC 8259 allows around a JSON text
JSON_KEPT: Final = 512  #: short messages of streams whose JSON is kept: every observer of a match gets the same ones

MOST_DECOMPRESSED: Final = 1_048_576  #: bytes of a compressed message, which takes 4 ms; 16 MiB would take 50
MOST_COMPRESSED: Final = 4_194_304  #: bytes of an answer that is made shorter, which takes 7 ms


class BoundedGzip(GzipCompression):
    """Compresses quickly, and only short answers, and decompresses little: each takes one step of the event loop."""

    def __init__(self) -> None:
        super().__init__(level=1)

    def compress(self, data: bytes | bytearray | memoryview) -> bytes:
        """Return the bytes in the format of gzip."""
        return super().compress(data) if len(data) <= MOST_COMPRESSED else gzip.compress(data, 0)

    def decompress(self, data: bytes | bytearray | memoryview, read_max_bytes: int | None = None) -> bytes:
        """Return the bytes. Raises ConnectError RESOURCE_EXHAUSTED for too many."""
        most = MOST_DECOMPRESSED if read_max_bytes is None else min(MOST_DECOMPRESSED, read_max_bytes)
        return super().decompress(data, most)


class Encoded(NamedTuple):
    """A message that has been serialized before, with its type."""

    type: type[Message]
    content: bytes


Outgoing: TypeAlias = Message | Encoded


class Codec(Protocol):
    """Reads and writes messages: the interface of a codec in the library."""

    def name(self) -> str:
        """Return the name of the codec in content types."""
        ...

    def encode(self, message: Outgoing) -> bytes:
        """Return a message as bytes."""
        ...

    def decode(self, data: bytes | bytearray, message_class: type[Any]) -> Any:
        """Return the message of some bytes. Raises ConnectError."""
        ...


class BinaryCodec:
    """Messages in the binary format of Protocol Buffers."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.message_bytes

    def name(self) -> str:
        return "proto"

    def encode(self, message: Outgoing) -> bytes:
        return message.content if isinstance(message, Encoded) else message.SerializeToString()

    def decode(self, data: bytes | bytearray, message_class: type[Any]) -> Any:
        """Return the message of some bytes. Raises ConnectError ARGUMENT_INVALID, MESSAGE_TOO_LARGE."""
        _check_size(len(data), self._most)
        try:
            return message_class.FromString(bytes(data))
        except DecodeError:
            raise _unreadable(len(data)) from None


class JsonCodec:
    """Messages as the JSON of Protocol Buffers. Their largest size is smaller, since reading them takes long."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.json_bytes

    def name(self) -> str:
        return "json"

    def encode(self, message: Outgoing) -> bytes:
        if not isinstance(message, Encoded):
            return json_of(message)
        content = message.content
        return content if isinstance(content, JsonBytes) else _json_of(cast("Any", message.type), content)

    def decode(self, data: bytes | bytearray, message_class: type[Any]) -> Any:
        """Return the message of some bytes. Raises ConnectError ARGUMENT_INVALID, MESSAGE_TOO_LARGE."""
        _check_size(len(data), self._most)
        text = bytes(data).strip(_JSON_SPACE) or b"{}"
        if not text.startswith(b"{"):  # json_format takes an empty list for an empty message
            raise connect_error(argument_invalid(_kind_of(text), "the request", "a JSON object"))
        try:
            return json_format.Parse(text, message_class(), ignore_unknown_fields=True)
        except (json_format.ParseError, UnicodeDecodeError, RecursionError):
            raise _unreadable(len(data)) from None


def connect_error(refusal: Refusal) -> ConnectError:
    """Return a refusal as an error of Connect: its status code, and the message `Refusal` as its only detail."""
    message = refusal_message(refusal)
    code = Code[{"CANCELLED": "CANCELED"}.get(name := code_of(refusal.reason).name, name)]
    return ConnectError(code, refusal.message, [_RefusalDetail(message, refusal)])


class _RefusalDetail(ErrorDetail):
    """A refusal as the detail of an error; the JSON of an error also has it in readable form, as `debug`."""

    def __init__(self, message: Message, refusal: Refusal) -> None:
        name = message.DESCRIPTOR.full_name
        super().__init__(AnyMessage(type_url=f"type.googleapis.com/{name}", value=message.SerializeToString()))
        self._shown = Struct.from_python({"reason": refusal.reason.value, "facts": dict(refusal.facts)})

    def value(self, *_: Any) -> Any:
        return self._shown


@lru_cache(maxsize=JSON_KEPT)
def _json_of(kind: type[Message], content: bytes) -> bytes:
    return json_of(kind.FromString(content))


def _kind_of(text: bytes) -> str:
    """Return what a JSON text that is no object begins as."""
    kinds = {b"[": "a list", b'"': "a string", b"t": "true", b"f": "false", b"n": "null"}
    return kinds.get(text[:1], "a number" if text[:1] in b"-0123456789" else "no JSON")


def _check_size(size: int, most: int) -> None:
    if size > most:
        message = f"a message of {size} bytes is too large: at most {most} are taken"
        raise connect_error(Refusal(Reason.MESSAGE_TOO_LARGE, message, what=size, limit=most))


def _unreadable(size: int) -> ConnectError:
    return connect_error(argument_invalid(f"{size} bytes", "the request", "a message of this call's type"))
