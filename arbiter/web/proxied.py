"""Pages behind a proxy, whose public address is not the one on which this server listens."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from arbiter.errors import OperatorError

SCHEMES: Final = ("http", "https")


class PublicAddress:
    """Gives every request the public address of the pages, whatever address the proxy has sent.

    So cookies are Secure if that address is https, and a form is accepted only if its origin is that address.
    """

    def __init__(self, app: ASGIApp, url: str) -> None:
        """Take the public address. Raises OperatorError if it is not the address of a site."""
        self._app = app
        self._scheme, self._host = _site(url)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, as one to the public address."""
        if scope["type"] == "http":
            others = [(name, value) for name, value in scope["headers"] if name != b"host"]
            scope = {**scope, "scheme": self._scheme, "headers": [(b"host", self._host), *others]}
        await self._app(scope, receive, send)


def _site(url: str) -> tuple[str, bytes]:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - a wrong one raises
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in SCHEMES or not parts.hostname or parts.username is not None:
        raise OperatorError(f"{url!r} is no address of a page: write it as https://arbiter.example.org")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise OperatorError(f"{url!r} has a path: the page needs a host of its own, as https://arbiter.example.org")
    if not parts.netloc.isascii():
        raise OperatorError(f"{url!r} is not ASCII: write the host as xn--…")
    return parts.scheme, parts.netloc.lower().encode()
