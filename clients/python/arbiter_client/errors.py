"""Errors: refusals of the arbiter, failures to reach it, and failures of the bot."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import grpc
from arbiter_protos.v1.refusal_pb2 import Refusal, RefusalReason
from google.protobuf.message import DecodeError
from google.rpc import status_pb2

_CODES: Final[dict[int, str]] = {status.value[0]: status.name for status in grpc.StatusCode if status.value[0]}


PASSING: Final = (
    *("UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"),
    *("INTERNAL", "UNKNOWN", "CANCELLED", "DEADLINE_EXCEEDED"),
)
"""Codes after which another stream, or another attempt, may succeed."""

_MOST_DIGITS: Final = 15  #: of a pause in milliseconds; an honest server does not ask for a longer one


class ClientError(Exception):
    """The base class of this package's errors. Its text is a sentence for people."""


class Reason(StrEnum):
    """Why a request was refused; the facts of each reason are in the protocol (refusal.proto)."""

    UNKNOWN = "UNKNOWN"  #: newer than this client, or not from the arbiter: decide by the code
    MOVE_MALFORMED = "MOVE_MALFORMED"
    MOVE_ILLEGAL = "MOVE_ILLEGAL"
    NOT_YOUR_TURN = "NOT_YOUR_TURN"
    PLY_MISMATCH = "PLY_MISMATCH"
    MATCH_NOT_ACTIVE = "MATCH_NOT_ACTIVE"
    SEAT_NOT_YOURS = "SEAT_NOT_YOURS"
    SCOPE_MISSING = "SCOPE_MISSING"
    TOKEN_INVALID = "TOKEN_INVALID"
    MATCH_NOT_FOUND = "MATCH_NOT_FOUND"
    PLAYER_NOT_FOUND = "PLAYER_NOT_FOUND"
    TOKEN_NOT_FOUND = "TOKEN_NOT_FOUND"
    CHALLENGE_NOT_FOUND = "CHALLENGE_NOT_FOUND"
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED"
    POSITION_MALFORMED = "POSITION_MALFORMED"
    GAME_UNKNOWN = "GAME_UNKNOWN"
    PARAMETER_INVALID = "PARAMETER_INVALID"
    ARGUMENT_INVALID = "ARGUMENT_INVALID"
    DRAW_NOT_AVAILABLE = "DRAW_NOT_AVAILABLE"
    PLAYER_EXISTS = "PLAYER_EXISTS"
    PLAYER_SUSPENDED = "PLAYER_SUSPENDED"
    REGISTRATION_CLOSED = "REGISTRATION_CLOSED"
    SESSION_SUPERSEDED = "SESSION_SUPERSEDED"
    READER_TOO_SLOW = "READER_TOO_SLOW"
    RATE_LIMITED = "RATE_LIMITED"
    BUDGET_SPENT = "BUDGET_SPENT"
    MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE"
    VERSION_UNSUPPORTED = "VERSION_UNSUPPORTED"
    DRAINING = "DRAINING"
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    SESSION_SILENT = "SESSION_SILENT"
    TOURNAMENT_CLOSED = "TOURNAMENT_CLOSED"
    TOURNAMENT_NOT_FOUND = "TOURNAMENT_NOT_FOUND"
    RECORD_DAMAGED = "RECORD_DAMAGED"
    TOURNAMENT_CHANGED = "TOURNAMENT_CHANGED"
    RATINGS_CHANGED = "RATINGS_CHANGED"


class ArbiterError(ClientError):
    """A refusal of the arbiter: a reason, a sentence for people, and facts for programs.

    `code` is the name of the status code (`NOT_FOUND`, …); decide by it if the reason is UNKNOWN.
    """

    def __init__(self, reason: Reason, message: str, code: str, facts: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.code = code
        self.facts: Mapping[str, str] = dict(facts or {})

    @property
    def temporary(self) -> bool:
        """Whether the same request may succeed later."""
        return self.code in ("UNAVAILABLE", "RESOURCE_EXHAUSTED")

    @property
    def retry_after_s(self) -> float:
        """The pause that the arbiter asks for before the same request again, in seconds; 0 if it asks for none."""
        text = self.facts.get("retry_after_ms", "")
        honest = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
        return int(text) / 1000 if honest else 0.0


class ConnectionFailed(ClientError):
    """No arbiter answers; the text says where, why, and what to do. The same request may succeed later."""


class CredentialsError(ClientError):
    """A token, certificate or credentials file can't be used; the text says which, and what to do."""


class BotFailed(ClientError):
    """A bot raised an exception or returned something that is not a move; the exception is its `__cause__`."""


def from_refusal(refusal: Refusal) -> ArbiterError:
    """Return the error that a refusal describes."""
    return ArbiterError(reason_of(refusal.reason), refusal.message, _code(refusal.code), refusal.facts)


def away(error: BaseException) -> bool:
    """Return whether an error, or one behind it, shows that the arbiter was away or busy, so that a retry may succeed.

    The errors behind an error are its cause, its context, and the members of a group.
    """
    left, seen = [error], set[int]()
    while left:
        error = left.pop()
        if isinstance(error, ConnectionFailed) or (isinstance(error, ArbiterError) and error.temporary):
            return True
        seen.add(id(error))
        behind = [error.__cause__, error.__context__]
        behind += error.exceptions if isinstance(error, BaseExceptionGroup) else ()
        left += [each for each in behind if each is not None and id(each) not in seen]
    return False


def level_of(error: BaseException) -> int:
    """Return how much the error of a call matters in the log: the session says once that the arbiter is away."""
    return logging.DEBUG if isinstance(error, ConnectionFailed) else logging.WARNING


def from_rpc(error: grpc.aio.AioRpcError, address: str) -> ArbiterError | ConnectionFailed:
    """Return the error for a failed call to the server at an address; its `__cause__` is gRPC's error."""
    meant = _meant(error, address)
    meant.__cause__ = error
    return meant


def _meant(error: grpc.aio.AioRpcError, address: str) -> ArbiterError | ConnectionFailed:
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            refusal = _refusal_in(value)
            if refusal is not None:
                return from_refusal(refusal)
    details = error.details() or "no further word"
    code = error.code()
    if code == grpc.StatusCode.UNAVAILABLE:
        hint = "is it running there, are host and port right, and does it speak TLS or not as you do?"
        return ConnectionFailed(f"no arbiter answers at {address}: {hint} ({details})")
    if code == grpc.StatusCode.DEADLINE_EXCEEDED:
        return ConnectionFailed(f"the arbiter at {address} did not answer in time: try again ({details})")
    if code == grpc.StatusCode.UNIMPLEMENTED:
        message = f"what answers at {address} is no arbiter, or one of another version: is the port right? ({details})"
        return ArbiterError(Reason.UNKNOWN, message, code.name)
    return ArbiterError(Reason.UNKNOWN, details, code.name)


def _refusal_in(details: bytes) -> Refusal | None:
    refusal = Refusal()
    try:
        status = status_pb2.Status.FromString(details)
        found = any(detail.Unpack(refusal) for detail in status.details)
    except DecodeError:
        return None
    return refusal if found else None


def reason_of(number: int) -> Reason:
    """Return the reason with a number of the protocol; UNKNOWN if it is newer than this client."""
    if number not in RefusalReason.values():
        return Reason.UNKNOWN
    name = RefusalReason.Name(RefusalReason.ValueType(number)).removeprefix("REFUSAL_REASON_")
    return Reason(name) if name in Reason.__members__ else Reason.UNKNOWN


def _code(number: int) -> str:
    return _CODES.get(number, "UNKNOWN")
