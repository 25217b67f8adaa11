"""The jobs of the workers for rules whose answers the API passes on as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from arbiter_protos.v1 import game_pb2 as pb

from arbiter.wire.json_messages import json_of
from arbiter.wire.rules_messages import line_parts, list_messages
from arbiter.workers import rules_worker
from arbiter.workers.process import Jobs


def encoded_moves(as_json: bool, *arguments: Any) -> Iterator[bytes | None]:
    """Yield the messages with the moves of a `listing`, then None."""
    for message in list_messages(rules_worker.listing(*arguments)):
        yield json_of(pb.LegalMovesResponse.FromString(message)) if as_json else message
    yield None


def encoded_line(as_json: bool, *arguments: Any) -> Iterator[bytes | None]:
    """Yield the message with the positions of a `played_line` in parts, then None."""
    parts = line_parts(rules_worker.played_line(*arguments))
    if as_json:
        yield json_of(pb.PlayMovesResponse.FromString(b"".join(parts)))
    else:
        yield from parts
    yield None


def jobs() -> Jobs:
    """Return the job handlers, by kind; see `arbiter.workers.rules_worker.jobs`."""
    return {**rules_worker.jobs(), "encoded_moves": encoded_moves, "encoded_line": encoded_line}
