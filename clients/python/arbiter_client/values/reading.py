"""From messages to values: a reader for each class, built once from the class's annotations.

The fields of a value class have the names of the fields of its message. A field is a number, a text, a truth value or
bytes; an enumeration, in which numbers that this client does not know become its member 0; a value class; a tuple or
mapping of these; or any of these `| None`, where None means that the message does not set the field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import IntEnum
from operator import attrgetter
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from google.protobuf.message import Message

V = TypeVar("V")

_PLAIN = (int, float, str, bool, bytes)

ELSEWHERE = {"elsewhere": True}
"""Metadata of a field that is not in the message: the reader of the message sets it."""


class OpenEnum(IntEnum):
    """An enumeration of the protocol. A number that is newer than this client becomes member 0."""

    @classmethod
    def _missing_(cls, value: object) -> OpenEnum | None:
        return cls(0) if isinstance(value, int) and value else None


def read(kind: type[V], message: Message, **elsewhere: Any) -> V:
    """Return the value of class `kind` that a message describes, with values of fields that are not in the message.

    Unknown fields of the message are left out.
    """
    parts = _PARTS.get(kind) or _PARTS.setdefault(kind, _parts(kind))
    return kind(**{name: part(message) for name, part in parts}, **elsewhere)


_PARTS: dict[type[Any], list[tuple[str, Callable[[Message], Any]]]] = {}
"""By class, the readers of its fields."""


def _parts(kind: type[Any]) -> list[tuple[str, Callable[[Message], Any]]]:
    hints = get_type_hints(kind)
    return [(name, _field_reader(name, hints[name])) for name in _names(kind)]


def _names(kind: type[Any]) -> list[str]:
    """Return the names of the fields that are in the message."""
    return [field.name for field in fields(kind) if not field.metadata.get("elsewhere")]


def _field_reader(name: str, hint: Any) -> Callable[[Message], Any]:
    arms = [arm for arm in get_args(hint) if arm is not NoneType]
    if NoneType in get_args(hint):
        convert = _converter(arms[0])
        return lambda message: convert(getattr(message, name)) if message.HasField(name) else None
    if hint in _PLAIN:
        return attrgetter(name)
    convert = _converter(hint)
    return lambda message: convert(getattr(message, name))


def _converter(hint: Any) -> Callable[[Any], Any]:
    origin = get_origin(hint)
    if origin is tuple:
        item = _converter(get_args(hint)[0])
        return lambda items: tuple([item(each) for each in items]) if items else ()
    if origin is Mapping:
        return dict
    if hint in _PLAIN or issubclass(hint, OpenEnum):
        plain: Callable[[Any], Any] = hint
        return plain
    # Fields that are not in the message have a default, and are the last.
    names, hints = _names(hint), get_type_hints(hint)
    if len(names) > 1 and all(hints[name] in _PLAIN for name in names):
        plain_fields = attrgetter(*names)
        return lambda message: hint(*plain_fields(message))
    parts = [part for _, part in _parts(hint)]
    return lambda message: hint(*[part(message) for part in parts])
