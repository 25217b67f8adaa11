"""Canonical JSON: exactly one sequence of bytes for a value, by RFC 8785 (JSON Canonicalization Scheme).

Records use a subset of JSON for which the scheme is simple: strings, integers within ±(2^53 − 1), booleans, null, lists
and objects with string keys. Fractions are refused, so the scheme's number formatting is never needed.

For such values Python's own encoder already follows section 3.2.2 (shortest escapes with lower-case digits, no spaces).
This module adds the order of keys by UTF-16 code units (section 3.2.3), and UTF-8. It also has the errors of records.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

import orjson

from arbiter.event_json.numbers import LARGEST_INTEGER as LARGEST_INTEGER
from arbiter.event_json.numbers import are_integers

Json = str | int | bool | None | Sequence["Json"] | Mapping[str, "Json"]
"""A value that has a canonical form: lists are `list` or `tuple`, objects are `dict`."""

_BASIC_PLANE_END: Final = "\uffff"
_EMPTY: Final = sha256()


class NotCanonicalError(ValueError):
    """A value without a canonical form, or bytes that are not JSON of the subset described above."""


class RecordError(ValueError):
    """A match's record is not what the arbiter wrote."""


class MalformedRecordError(RecordError):
    """A record that is not canonical JSON, lacks a field, or has a field with a wrong value."""


class UnknownKindError(MalformedRecordError):
    """A record with an event of a kind that this version does not know."""


def encode(value: Json) -> bytes:
    """Return the canonical bytes of a value.

    Raises TypeError for a type that is not listed above (for example a float). Raises NotCanonicalError (a ValueError)
    for an integer out of range, a lone surrogate, or too deep nesting.
    """
    try:
        plain = _check(value)
        text = _sorted_dumps(value) if plain else _dumps(_in_order(value))
        return text.encode()
    except UnicodeEncodeError as error:
        raise NotCanonicalError(f"a lone surrogate has no UTF-8 form: {error.reason}") from None
    except RecursionError:
        raise NotCanonicalError("lists or objects are nested too deep") from None


def encode_plain(value: Json) -> bytes:
    """Return what `encode` returns, for a value that is known to be plain: no floats, and only ASCII keys.

    It is many times as fast, which matters because every move is written. It does not detect a float. Raises
    NotCanonicalError for an integer out of range and a lone surrogate, TypeError for other types.
    """
    try:
        return orjson.dumps(value, option=_PLAIN)
    except orjson.JSONEncodeError as error:
        if "integer" in str(error).lower() or "utf-8" in str(error).lower():
            raise NotCanonicalError(str(error)) from None
        raise TypeError(str(error)) from None


def decode(data: bytes) -> Any:
    """Return the value of JSON bytes, which need not be in canonical form.

    To check the canonical form too, compare `encode(decode(data))` with the data. That also detects repeated keys.
    Raises NotCanonicalError for anything but UTF-8 JSON without fractions and with integers in range.
    """
    value = parsed(data)
    try:
        if type(value) is not dict or not are_integers(value):
            _check(value)
    except TypeError:  # JSON has no other types
        raise NotCanonicalError("a number is not an integer, or beyond ±(2^53 − 1)") from None
    return value


def parsed(data: bytes) -> Any:
    """Return the value of JSON bytes as `decode` does, but with any numbers: the caller checks those that it takes.

    Raises NotCanonicalError for anything but UTF-8 JSON.
    """
    try:
        return orjson.loads(data)
    except ValueError as error:  # malformed UTF-8, malformed JSON, or too deep nesting
        raise NotCanonicalError(str(error)) from None


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes as 64 lower-case hexadecimal digits."""
    state = _EMPTY.copy()  # OpenSSL looks the algorithm up for each new one, which takes longer than a move's bytes
    state.update(data)
    return state.hexdigest()


# ASCII keys have the same order by code points and by UTF-16 code units.
_PLAIN: Final = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER

_sorted_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, check_circular=False).encode
_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def _check(value: Any) -> bool:
    """Return whether Python's order of keys (code points) is the scheme's; raise for a value without canonical form."""
    if isinstance(value, dict):
        return _check_object(value)
    if isinstance(value, list | tuple):
        return False not in [_check(item) for item in value]
    if type(value) is int:
        if not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
            raise NotCanonicalError("an integer is beyond ±(2^53 − 1)")
    elif not isinstance(value, str | bool) and value is not None:
        raise TypeError(f"{type(value).__name__} has no canonical form")
    return True


def _check_object(value: dict[Any, Any]) -> bool:
    plain = True
    for key, item in value.items():
        if not isinstance(key, str):
            raise TypeError(f"keys of objects are strings, not {type(key).__name__}")
        if not key.isascii() and max(key) > _BASIC_PLANE_END:
            plain = False
        kind = type(item)  # most items are strings and small integers: avoid a function call for them
        if kind is str or (kind is int and -LARGEST_INTEGER <= item <= LARGEST_INTEGER):
            continue
        if not _check(item):
            plain = False
    return plain


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return {key: _in_order(value[key]) for key in keys}
    if isinstance(value, list | tuple):
        return [_in_order(item) for item in value]
    return value
