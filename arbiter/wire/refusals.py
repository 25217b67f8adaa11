"""The one table from refusals to status codes, and refusals as messages."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import grpc
from arbiter_protos.v1 import refusal_pb2
from google.protobuf import any_pb2
from google.rpc import status_pb2
from grpc_status import rpc_status

from arbiter.errors import Reason, Refusal
from arbiter.plain_text import plain

_Code = grpc.StatusCode

CODES: Final[dict[Reason, grpc.StatusCode]] = {
    # permanently wrong
    Reason.MOVE_MALFORMED: _Code.INVALID_ARGUMENT,
    Reason.REQUEST_ID_REUSED: _Code.INVALID_ARGUMENT,
    Reason.POSITION_MALFORMED: _Code.INVALID_ARGUMENT,
    Reason.GAME_UNKNOWN: _Code.INVALID_ARGUMENT,
    Reason.PARAMETER_INVALID: _Code.INVALID_ARGUMENT,
    Reason.ARGUMENT_INVALID: _Code.INVALID_ARGUMENT,
    # wrong in the current state
    Reason.MOVE_ILLEGAL: _Code.FAILED_PRECONDITION,
    Reason.NOT_YOUR_TURN: _Code.FAILED_PRECONDITION,
    Reason.MATCH_NOT_ACTIVE: _Code.FAILED_PRECONDITION,
    Reason.DRAW_NOT_AVAILABLE: _Code.FAILED_PRECONDITION,
    Reason.VERSION_UNSUPPORTED: _Code.FAILED_PRECONDITION,
    # state has changed: read it again first
    Reason.PLY_MISMATCH: _Code.ABORTED,
    Reason.SESSION_SUPERSEDED: _Code.ABORTED,
    Reason.SESSION_SILENT: _Code.ABORTED,
    Reason.READER_TOO_SLOW: _Code.ABORTED,
    # not permitted
    Reason.SEAT_NOT_YOURS: _Code.PERMISSION_DENIED,
    Reason.SCOPE_MISSING: _Code.PERMISSION_DENIED,
    Reason.PLAYER_SUSPENDED: _Code.PERMISSION_DENIED,
    Reason.REGISTRATION_CLOSED: _Code.PERMISSION_DENIED,
    Reason.TOKEN_INVALID: _Code.UNAUTHENTICATED,
    # missing, or existing already
    Reason.MATCH_NOT_FOUND: _Code.NOT_FOUND,
    Reason.PLAYER_NOT_FOUND: _Code.NOT_FOUND,
    Reason.TOKEN_NOT_FOUND: _Code.NOT_FOUND,
    Reason.CHALLENGE_NOT_FOUND: _Code.NOT_FOUND,
    Reason.TOURNAMENT_NOT_FOUND: _Code.NOT_FOUND,
    Reason.TOURNAMENT_CLOSED: _Code.FAILED_PRECONDITION,
    Reason.PLAYER_EXISTS: _Code.ALREADY_EXISTS,
    # too much
    Reason.RATE_LIMITED: _Code.RESOURCE_EXHAUSTED,
    Reason.BUDGET_SPENT: _Code.RESOURCE_EXHAUSTED,
    Reason.MESSAGE_TOO_LARGE: _Code.RESOURCE_EXHAUSTED,
    # can succeed later
    Reason.DRAINING: _Code.UNAVAILABLE,
    Reason.STORE_UNAVAILABLE: _Code.UNAVAILABLE,
    # damaged in the store: no repetition helps
    Reason.RECORD_DAMAGED: _Code.DATA_LOSS,
}

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
    details.Pack(refusal_message(Refusal(refusal.reason, message, **facts)))
    status: grpc.Status = rpc_status.to_status(
        status_pb2.Status(code=code_of(refusal.reason).value[0], message=message, details=[details])
    )
    return status


def _cut(message: str) -> str:
    while len(quote(message)) > LONGEST_STATUS:
        message = message[: len(message) * 9 // 10]
    return message
