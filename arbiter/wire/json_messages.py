"""Messages as the JSON of Protocol Buffers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from google.protobuf import json_format
from google.protobuf.message import Message

PART: Final = 2_048  #: bytes that become JSON in about a millisecond


class JsonBytes(bytes):
    """A message that is JSON already."""


def json_of(message: Message) -> bytes:
    """Return a message as JSON."""
    return json_format.MessageToJson(message, indent=None, ensure_ascii=False).encode()


def json_parts(message: Message) -> Iterator[bytes]:
    """Yield the same JSON in parts of about PART bytes."""
    made = bytearray()
    for piece in _pieces(message):
        made += piece
        if len(made) >= PART:
            yield bytes(made)
            made.clear()
    yield bytes(made)


def _pieces(message: Message) -> Iterator[bytes]:
    if message.ByteSize() <= PART:
        yield json_of(message)
        return
    between = b"{"
    for field, value in message.ListFields():
        held = field.message_type
        if held is None or held.GetOptions().map_entry:
            yield between + json_of(type(message)(**{field.name: value}))[1:-1]
        else:
            yield between + f'"{field.json_name}": {"[" if field.is_repeated else ""}'.encode()
            for number, each in enumerate(value if field.is_repeated else (value,)):
                yield b", " if number else b""
                yield from _pieces(each)
            yield b"]" if field.is_repeated else b""
        between = b", "
    yield b"}"
