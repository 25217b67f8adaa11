"""Refusals as messages and as status codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

import grpc
from arbiter_protos.v1 import refusal_pb2
from google.protobuf import any_pb2
from google.rpc import status_pb2
from grpc_status import rpc_status

from arbiter.errors import Reason, Refusal
from arbiter.plain_text import plain

CODES: Final[Mapping[Reason, grpc.StatusCode]] = {reason: grpc.StatusCode[reason.code] for reason in Reason}

LONGEST_STATUS = 900  #: bytes of an encoded status message: it travels in a header, where a non-ASCII byte takes three
#: characters of a fact in a status; all headers together may have 8 KB. On a stream facts are not cut.
LONGEST_FACT = 400


def code_of(reason: Reason) -> grpc.StatusCode:
    """Return the status code of a reason."""
    return CODES[reason]


def refusal_message(refusal: Refusal) -> refusal_pb2.Refusal:
    """Return a refusal as a message."""
    return refusal_pb2.Refusal(
        reason=refusal_pb2.RefusalReason.Value(f"REFUSAL_REASON_{refusal.reason.value}"),
        code=code_of(refusal.reason).value[0],
        message=plain(refusal.message),
        facts={name: plain(fact) for name, fact in refusal.facts.items()},
    )


def refusal_status(refusal: Refusal) -> grpc.Status:
    """Return a refusal as a call's final status, cut to the size of trailers. The message is in its details."""
    message = _cut(plain(refusal.message))
    facts = {name: plain(fact)[:LONGEST_FACT] for name, fact in refusal.facts.items()}
    details = any_pb2.Any()
    details.Pack(refusal_message(Refusal.said(refusal.reason, message, facts)))
    status: grpc.Status = rpc_status.to_status(
        status_pb2.Status(code=code_of(refusal.reason).value[0], message=message, details=[details])
    )
    return status


def _cut(message: str) -> str:
    while len(quote(message)) > LONGEST_STATUS:
        message = message[: len(message) * 9 // 10]
    return message
