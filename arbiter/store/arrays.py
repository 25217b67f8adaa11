"""Encodes arrays of PostgreSQL in its binary format, as parameters of a statement.

Every move passes through this module, in the writer's thread. The driver takes several times as long for lists, since
it looks for the type of each element. So this module is compiled.

Source of the format: `array_recv` and the receive functions of the elements' types, in PostgreSQL's `src/backend/utils/
adt`. All numbers are big-endian.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from struct import pack
from typing import Final

_BOOLEAN: Final = 16
_BYTES: Final = 17
_BIGINT: Final = 20
_TEXT: Final = 25
_NULL: Final = b"\xff\xff\xff\xff"  # a length of -1
_TRUE: Final = b"\x00\x00\x00\x01\x01"
_FALSE: Final = b"\x00\x00\x00\x01\x00"


def bigints(values: Sequence[int]) -> bytes:
    """Return a bigint[]. Raises struct.error for a value that has no room in 8 bytes."""
    return _head(_BIGINT, len(values)) + pack(f">{'iq' * len(values)}", *chain.from_iterable(zip(repeat(8), values)))


def booleans(values: Sequence[bool]) -> bytes:
    """Return a boolean[]."""
    return _head(_BOOLEAN, len(values)) + b"".join([_TRUE if value else _FALSE for value in values])


def texts(values: Sequence[str]) -> bytes:
    """Return a text[], for a client encoding of UTF-8. Raises UnicodeEncodeError."""
    parts = [_head(_TEXT, len(values))]
    for value in values:
        encoded = value.encode()
        parts.append(len(encoded).to_bytes(4, "big"))
        parts.append(encoded)
    return b"".join(parts)


def byte_strings(values: Sequence[bytes | None]) -> bytes:
    """Return a bytea[]; None is null."""
    parts = [_head(_BYTES, len(values))]
    for value in values:
        if value is None:
            parts.append(_NULL)
        else:
            parts.append(len(value).to_bytes(4, "big"))
            parts.append(value)
    return b"".join(parts)


def _head(kind: int, count: int) -> bytes:
    """Return what comes before the elements: of one dimension, which begins at 1, or of none if there are none."""
    return pack(">iiiii", 1, 1, kind, count, 1) if count else pack(">iii", 0, 0, kind)
