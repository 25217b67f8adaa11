"""The caller of a request, the headers and cookies of a response, and the status of a refusal, for all pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from arbiter.errors import Refusal
from arbiter.service.gate.admission import Call
from arbiter.wire.refusal_messages import code_of

STATUSES: Final[Mapping[str, int]] = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ABORTED": 409,
    "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429,
    "DATA_LOSS": 500,
    "UNAVAILABLE": 503,
}
"""The HTTP status for each gRPC status code of a refusal, by the mapping in google.rpc.Code."""

HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""Headers of every response: pages may use only scripts and styles of this server, and no other site may frame them."""


def call_of(request: Request) -> Call:
    """Return the caller: its token from the header `Authorization: Bearer TOKEN` or the session cookie, its address."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    address = request.client.host if request.client is not None else ""
    given = secret.strip() if kind.lower() == "bearer" else session_of(request)
    return Call(given or None, address, counted=True)


def session_of(request: Request) -> str:
    """Return the token in the session cookie; '' without one."""
    return request.cookies.get(cookie_name(request, "session"), "")


def cookie_name(request: Request, what: str) -> str:
    """Return the name of a cookie. With TLS its prefix makes browsers accept it only from this host, as Secure."""
    return f"{'__Host-' if request.url.scheme == 'https' else ''}arbiter-{what}"


def set_cookie(request: Request, response: Response, what: str, value: str, seconds: int) -> None:
    """Set a cookie that no script can read and that requests of other sites do not carry; '' deletes it."""
    response.set_cookie(
        cookie_name(request, what),
        value,
        max_age=seconds if value else 0,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )


def picture(svg: str) -> Response:
    """Return an SVG file. If it is opened as a page, it may use its own styles, and nothing else."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    return Response(svg, media_type="image/svg+xml", headers={"content-security-policy": policy})


def status_of(refusal: Refusal) -> int:
    """Return the HTTP status of a refusal."""
    return STATUSES[code_of(refusal.reason).name]
