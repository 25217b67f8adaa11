"""Calls beside the pages, typed ones and those of agents: their paths, and which other sites may make them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PREFIX: Final = "/arbiter."  #: the first part of the paths of calls; no page has such a path
AGENTS: Final = "/mcp"  #: the path of language models, who speak the Model Context Protocol
ASKED_HEADERS: Final = (
    "authorization",
    "connect-accept-encoding",
    "connect-content-encoding",
    "connect-protocol-version",
    "connect-timeout-ms",
    "content-encoding",
    "content-type",
)
ANSWERED_HEADERS: Final = ("connect-content-encoding", "content-encoding")
PREFLIGHT_S: Final = 7_200  #: seconds for which a browser may remember the permitted sites


class WithCalls:
    """Passes typed calls on to one application, those of agents to another, and all other requests to the pages.

    A call has its token in the header `Authorization`, and cookies are ignored, so no other site can make calls in the
    name of a person who is signed in. A call from a page of another site is refused unless the operator's settings
    permit it.
    """

    def __init__(self, pages: ASGIApp, calls: ASGIApp, agents: ASGIApp, origins: Collection[str]) -> None:
        self._pages = pages
        self._agents = agents
        self._origins = origins
        self._calls = CORSMiddleware(
            calls,
            allow_origins=origins,
            allow_methods=("POST",),
            allow_headers=ASKED_HEADERS,
            expose_headers=ANSWERED_HEADERS,
            max_age=PREFLIGHT_S,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        path = scope["path"] if scope["type"] == "http" else ""
        of_agent = path == AGENTS
        if not of_agent and not path.startswith(PREFIX):
            return await self._pages(scope, receive, send)
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin is None or self._may_call(origin, headers.get("host", "")):
            return await (self._agents if of_agent else self._calls)(scope, receive, send)
        message = "pages of this site may not call here: the operator can name the site as web_origins"
        return await JSONResponse({"code": "permission_denied", "message": message}, 403)(scope, receive, send)

    def _may_call(self, origin: str, host: str) -> bool:
        return "*" in self._origins or origin in self._origins or origin.partition("://")[2] == host
