"""From values to messages: the way back of `arbiter_client.values.reading`, for what a client says at length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from google.protobuf.message import Message

M = TypeVar("M", bound=Message)


def write(value: Any, message: M) -> M:
    """Set the fields of a message to those of a value, by their names; None leaves a field unset. Returns the message.

    Raises TypeError and ValueError, as protobuf does, for what a field can't hold.
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
