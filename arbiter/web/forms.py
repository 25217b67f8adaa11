"""Forms that people send: limited in size and time, and accepted only from pages of this server.

A browser adds cookies to the forms of every site. So each form here contains a token that is made from a cookie of the
browser, which no other site can read or set. The browser also has to name this site as the origin of the form.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from arbiter.web.callers import cookie_name, session_of, set_cookie

MOST_BYTES: Final = 16_384  #: of a form
MOST_FIELDS: Final = 120
KIND: Final = "application/x-www-form-urlencoded"
VISIT_S: Final = 3_600  #: seconds for which a visitor's form is valid

_OLD: Final = "This form is older than your session, or your browser keeps no cookies: load its page again"


def form_token(request: Request) -> str:
    """Return the token for the forms of a page; '' for a browser without cookies."""
    return _token(session_of(request) or request.cookies.get(cookie_name(request, "visit"), ""))


def visitor_token(request: Request) -> tuple[str, str]:
    """Return the token for a visitor's form, and the value of the cookie from which it is made."""
    visit = request.cookies.get(cookie_name(request, "visit"), "") or secrets.token_urlsafe(32)
    return _token(visit), visit


def keep_visit(request: Request, response: Response, visit: str) -> None:
    """Set the cookie from which the token of a visitor's form is made."""
    set_cookie(request, response, "visit", visit, VISIT_S)


async def fields(request: Request) -> Mapping[str, str]:
    """Return the fields of a form that was sent. Raises HTTPException 403 for a forged one, 413, 415, 400."""
    if request.headers.get("origin", "").partition("://")[2] != request.headers.get("host", ""):
        raise HTTPException(403, "This form was sent from another site, or your browser does not say from where")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != KIND:
        raise HTTPException(415, f"A form is sent as {KIND}")
    body = await _body(request)
    try:
        found = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"))
    except ValueError:
        raise HTTPException(400, "This form can't be read") from None
    accepted = {_token(session_of(request)), _token(request.cookies.get(cookie_name(request, "visit"), ""))} - {""}
    if not any(hmac.compare_digest(found.get("form", "").encode(), each.encode()) for each in accepted):
        raise HTTPException(403, _OLD)
    return found


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                raise HTTPException(413, f"This form is too large: at most {MOST_BYTES} bytes")
    except ClientDisconnect:  # the browser has disconnected: nobody reads the answer
        raise HTTPException(400, "This form did not arrive whole") from None
    return bytes(body)


def local(address: str) -> str:
    """Return an address if it is a path on this site, `/` otherwise."""
    ours = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if ours else "/"


def _token(cookie: str) -> str:
    return sha256(f"form\n{cookie}".encode()).hexdigest() if cookie else ""
