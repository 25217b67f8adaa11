"""Messages as the JSON of Protocol Buffers."""

from __future__ import annotations

from google.protobuf import json_format
from google.protobuf.message import Message


class JsonBytes(bytes):
    """A message that is JSON already."""


def json_of(message: Message) -> bytes:
    """Return a message as JSON."""
    return json_format.MessageToJson(message, indent=None, ensure_ascii=False).encode()
