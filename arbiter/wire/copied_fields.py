"""Messages whose fields have the names of a value's attributes."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, TypeVar

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

M = TypeVar("M", bound=Message)
_NONE: Final = object()


def copied(form: type[M], source: object, **others: Any) -> M:
    """Return a message with all attributes of a value that its fields have the names of, and with these other fields.

    A field that neither has is left out. Tests compare every message with what it is made of.
    """
    for name in _names(form.DESCRIPTOR):
        if name not in others and (value := getattr(source, name, _NONE)) is not _NONE:
            others[name] = value
    return form(**others)


@cache
def _names(form: Descriptor) -> tuple[str, ...]:
    return tuple(form.fields_by_name)
