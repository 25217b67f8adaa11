"""Message fields encoded by hand: field numbers and enumeration numbers that no client knows yet."""

from __future__ import annotations

import base64
from typing import TypeVar

from google.protobuf.message import Message

M = TypeVar("M", bound=Message)


def encoded(message: Message) -> str:
    """Return a message's bytes in base64, identical in every run."""
    return base64.b64encode(message.SerializeToString(deterministic=True)).decode()


def number_field(number: int, value: int) -> bytes:
    """Return an encoded field that holds a number or an enumeration value."""
    return _key(number, 0) + _varint(value)


def with_newer_fields(message: M) -> M:
    """Add fields that no client knows: a number, a text, four and eight bytes. Return the message."""
    text = b"from a time to come"
    message.MergeFromString(
        number_field(1_001, 42)
        + (_key(1_002, 2) + _varint(len(text)) + text)
        + (_key(1_003, 5) + bytes(4))
        + (_key(1_004, 1) + bytes(8))
    )
    return message


def _key(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes((low | 0x80,)) + _varint(rest) if rest else bytes((low,))
