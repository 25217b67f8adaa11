"""Protobuf's wire format, written field by field: for messages that are sent so often that no object is made of them.

A message is its fields one after the other, each a key and a value. The functions return the bytes of one field, for
fields without explicit presence: none where the value is the default. Fields in the order of their numbers are what the
generated classes serialise to. Source: https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

from typing import Any, Final

_VARINT: Final = 0
_LENGTH: Final = 2
_SIGN: Final = 1 << 64  #: a negative number is written as its two's complement of 64 bits


def key(message: Any, field: str) -> bytes:
    """Return the key of a field of a generated class: its number and how its value is written."""
    found = message.DESCRIPTOR.fields_by_name[field]
    kind = _LENGTH if found.type in (found.TYPE_STRING, found.TYPE_BYTES, found.TYPE_MESSAGE) else _VARINT
    return varint(found.number << 3 | kind)


def number(field: bytes, value: int) -> bytes:
    """Return a field that is an integer or a bool."""
    return field + varint(value) if value else b""


def text(field: bytes, value: str) -> bytes:
    """Return a field that is a string."""
    return part(field, value.encode()) if value else b""


def part(field: bytes, data: bytes) -> bytes:
    """Return a field that is a message, whose bytes are given; an empty one is there too."""
    return b"".join((field, varint(len(data)), data))


def varint(value: int) -> bytes:
    """Return an integer in groups of seven bits, the lowest first; all groups but the last have the eighth bit set."""
    if 0 <= value < len(_SHORT):
        return _SHORT[value]
    return _long(value if value > 0 else value + _SIGN)


def _long(value: int) -> bytes:
    groups = size = 0
    while value > 127:
        groups |= (value & 127 | 128) << size
        value >>= 7
        size += 8
    return (groups | value << size).to_bytes(size // 8 + 1, "little")


_SHORT: Final = [_long(value) for value in range(1024)]
