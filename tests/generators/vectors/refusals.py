"""Refusals as transmitted, in the status of a call and as messages, and the error that a client makes of each."""

from __future__ import annotations

import base64
from typing import Any, Final

import grpc
from arbiter_protos.v1 import refusal_pb2
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import status_pb2

from arbiter.errors import Reason, Refusal
from arbiter.wire.refusal_messages import code_of, refusal_message
from tests.generators.vectors.fields import encoded, number_field, with_newer_fields

FACTS: Final[dict[Reason, dict[str, str | int]]] = {
    Reason.MOVE_MALFORMED: {"move": "e5 – what?", "game": "pods(size=5)", "strikes_left": 2},
    Reason.MOVE_ILLEGAL: {"move": "e5", "position": ".../..../...../..../... 1 0", "ply": 7, "strikes_left": 0},
    Reason.NOT_YOUR_TURN: {"seat": 1, "turn": 2},
    Reason.PLY_MISMATCH: {"expected": 8, "actual": 6},
    Reason.MATCH_NOT_ACTIVE: {"phase": "ended", "outcome": "1 resignation"},
    Reason.SEAT_NOT_YOURS: {"seat": 2},
    Reason.SCOPE_MISSING: {"scope": "organise"},
    Reason.TOKEN_INVALID: {},
    Reason.MATCH_NOT_FOUND: {"id": "m-1"},
    Reason.PLAYER_NOT_FOUND: {"id": "zoë"},
    Reason.TOKEN_NOT_FOUND: {"id": "t-1"},
    Reason.CHALLENGE_NOT_FOUND: {"id": "c-1"},
    Reason.TOURNAMENT_NOT_FOUND: {"id": "t-1"},
    Reason.TOURNAMENT_CLOSED: {"phase": "ended", "why": "it is over"},
    Reason.TOURNAMENT_CHANGED: {"revision": 12, "why": "the result of game 3 is another one"},
    Reason.RATINGS_CHANGED: {"revision": 3, "why": "the last ruling is 3"},
    Reason.REQUEST_ID_REUSED: {"request_id": "r-1"},
    Reason.POSITION_MALFORMED: {"what": "x", "where": "row d", "allowed": "P, p or ."},
    Reason.GAME_UNKNOWN: {"what": "ludo", "allowed": "circle-of-life, elevation, hop-it, pods, pondlife"},
    Reason.PARAMETER_INVALID: {"what": "99", "where": "pods(size=…)", "allowed": "a number from 3 to 10"},
    Reason.ARGUMENT_INVALID: {"what": "", "where": "request_id", "allowed": "1 to 100 characters"},
    Reason.DRAW_NOT_AVAILABLE: {"why": "the rules grant none"},
    Reason.PLAYER_EXISTS: {"id": "alice"},
    Reason.PLAYER_SUSPENDED: {"id": "mallory"},
    Reason.REGISTRATION_CLOSED: {"mode": "invitation"},
    Reason.SESSION_SUPERSEDED: {"resume_from": ""},
    Reason.SESSION_SILENT: {"limit": 45_000},
    Reason.READER_TOO_SLOW: {"resume_from": "17"},
    Reason.RATE_LIMITED: {"limit": "100 requests a second", "retry_after_ms": 250},
    Reason.BUDGET_SPENT: {"limit": "2000 ms", "retry_after_ms": 60_000},
    Reason.MESSAGE_TOO_LARGE: {"what": "5000000 bytes", "limit": 4_194_304},
    Reason.VERSION_UNSUPPORTED: {"supported": "1.0"},
    Reason.DRAINING: {"retry_after_ms": 1_000},
    Reason.STORE_UNAVAILABLE: {"retry_after_ms": 500},
    Reason.RECORD_DAMAGED: {"why": "its seal does not hold", "id": "m-1", "revision": 3},
}
"""An example of each reason's facts."""

TEMPORARY: Final = ("UNAVAILABLE", "RESOURCE_EXHAUSTED")
UNREACHED: Final = ("UNAVAILABLE", "DEADLINE_EXCEEDED")
"""Codes that say that no arbiter answered, where no refusal comes with them."""


def vectors() -> dict[str, Any]:
    """Return the content of refusals.json."""
    examples = [Refusal(reason, f"said {reason.value.lower()} – for people", **FACTS[reason]) for reason in Reason]
    known = [(refusal.reason.value, refusal_message(refusal)) for refusal in examples]
    odd = list(_odd_refusals())
    return {
        "messages": [
            {"name": name, "refusal": encoded(message), "expected": _expected(message)} for name, message in known + odd
        ],
        "statuses": [
            {
                "name": name,
                "code": _name(message.code),
                "status_message": message.message,
                "details": encoded(_status(message.code, message.message, message)),
                "expected": _expected(message),
            }
            for name, message in known + odd
        ]
        + list(_other_statuses()),
    }


def _odd_refusals() -> list[tuple[str, refusal_pb2.Refusal]]:
    """Return refusals that no arbiter sends today, but that a client must understand."""
    draining = code_of(Reason.DRAINING).value[0]
    rows: list[tuple[str, int, int, dict[str, str]]] = [
        ("an unknown reason", 9_999, 9, {"limit": "3"}),
        ("an unknown reason of a temporary refusal", 9_999, 14, {"retry_after_ms": "20"}),
        ("no reason", 0, 5, {}),
        ("an unknown code", 9, 99, {"id": "m-1"}),
        ("no code", 9, 0, {}),
        ("retry_after_ms is 0", 28, draining, {"retry_after_ms": "0"}),
        ("retry_after_ms is a word", 28, draining, {"retry_after_ms": "soon"}),
        ("retry_after_ms is negative", 28, draining, {"retry_after_ms": "-5"}),
        ("retry_after_ms is a fraction", 28, draining, {"retry_after_ms": "1.5"}),
        ("retry_after_ms has digits of another script", 28, draining, {"retry_after_ms": "٣"}),
        ("facts of other names", 28, draining, {"": "", "retry_after": "9", "ключ": "значение"}),
    ]
    odd = []
    for name, reason, code, facts in rows:
        message = refusal_pb2.Refusal(code=code, message=f"said so: {name}", facts=facts)
        message.MergeFromString(number_field(1, reason))  # an open enumeration may get new numbers
        odd.append((name, message))
    more = refusal_pb2.Refusal(reason=refusal_pb2.REFUSAL_REASON_TOKEN_INVALID, code=16, message="with fields to come")
    return [*odd, ("unknown fields", with_newer_fields(more))]


def _other_statuses() -> list[dict[str, Any]]:
    """Return statuses without a refusal in their details, and what a client makes of the code alone."""
    garbage = any_pb2.Any(type_url=f"type.googleapis.com/{refusal_pb2.Refusal.DESCRIPTOR.full_name}", value=b"\xff\xff")
    other = duration_pb2.Duration(seconds=3)
    refused = refusal_message(Refusal(Reason.TOKEN_INVALID, "behind another detail"))
    cases: list[tuple[str, str, bytes | None]] = [
        *((f"no details: {code.name}", code.name, None) for code in grpc.StatusCode if code.value[0]),
        ("empty details", "NOT_FOUND", b""),
        ("garbage details", "NOT_FOUND", b"\xff\xfe no status at all"),
        ("cut off details", "NOT_FOUND", _bytes(_status(5, "cut off", refused))[:-3]),
        ("a status without details", "PERMISSION_DENIED", _bytes(_status(7, "nothing within"))),
        ("details of another type", "INVALID_ARGUMENT", _bytes(_status(3, "another type", other))),
        ("a refusal of garbage", "NOT_FOUND", _bytes(status_pb2.Status(code=5, details=[garbage]))),
    ]
    found = [
        {
            "name": name,
            "code": code,
            "status_message": f"said so: {name}",
            "details": None if details is None else base64.b64encode(details).decode(),
            "expected": _unexplained(code, f"said so: {name}"),
        }
        for name, code, details in cases
    ]
    details = encoded(_status(16, "behind another detail", other, refused))
    return [
        *found,
        {
            "name": "a refusal behind a detail of another type",
            "code": "UNAUTHENTICATED",
            "status_message": "behind another detail",
            "details": details,
            "expected": _expected(refused),
        },
    ]


def _expected(message: refusal_pb2.Refusal) -> dict[str, Any]:
    number = message.reason
    known = number and number in refusal_pb2.RefusalReason.values()
    asked = message.facts.get("retry_after_ms", "")
    code = _name(message.code)
    return {
        "error": "ArbiterError",
        "reason": refusal_pb2.RefusalReason.Name(number).removeprefix("REFUSAL_REASON_") if known else "UNKNOWN",
        "code": code,
        "message": message.message,
        "facts": dict(message.facts),
        "temporary": code in TEMPORARY,
        "retry_after_ms": int(asked) if asked.isascii() and asked.isdigit() else 0,
    }


def _unexplained(code: str, said: str) -> dict[str, Any]:
    if code in UNREACHED:
        return {"error": "ConnectionFailed"}
    message = None if code == "UNIMPLEMENTED" else said  # here a client says more: this server is not an arbiter
    temporary = code in TEMPORARY
    return {
        "error": "ArbiterError",
        "reason": "UNKNOWN",
        "code": code,
        "message": message,
        "facts": {},
        "temporary": temporary,
        "retry_after_ms": 0,
    }


def _name(code: int) -> str:
    names = {status.value[0]: status.name for status in grpc.StatusCode if status.value[0]}
    return names.get(code, "UNKNOWN")


def _status(code: int, message: str, *details: Message) -> status_pb2.Status:
    packed = []
    for detail in details:
        packed.append(any_pb2.Any())
        packed[-1].Pack(detail, deterministic=True)
    return status_pb2.Status(code=code, message=message, details=packed)


def _bytes(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)
