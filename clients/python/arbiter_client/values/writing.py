"""From values to messages: the inverse of `arbiter_client.values.reading`, for long messages of a client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from google.protobuf.message import Message

M = TypeVar("M", bound=Message)


def write(value: Any, message: M) -> M:
    """Set the fields of a message to those of a value, by name; None leaves a field unset. Returns the message.

    Raises TypeError and ValueError, as protobuf does, for a value that does not fit into a field.
    """
    for field in fields(value):
        said = getattr(value, field.name)
        if said is None:
            continue
        place = getattr(message, field.name)
        if is_dataclass(said):
            place.SetInParent()
            write(said, place)
        elif isinstance(said, Mapping):
            place.update(said)
        elif isinstance(said, tuple | list):
            for item in said:
                if is_dataclass(item):
                    write(item, place.add())
                else:
                    place.append(item)
        else:
            setattr(message, field.name, said)
    return message
