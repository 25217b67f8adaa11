"""The HTTP server: its routes, its address, and its life beside the gRPC server in one event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arbiter.config import Settings
from arbiter.errors import OperatorError, Refusal
from arbiter.service.gate.addresses import host_and_port, is_loopback
from arbiter.service.gate.gate import Gate
from arbiter.service.ports.meter import NO_METER, Meter
from arbiter.web.accounts import AccountPages
from arbiter.web.calls import WithCalls
from arbiter.web.connections import Connection
from arbiter.web.door import HEADERS, session_of, set_cookie, status_of
from arbiter.web.live import Live
from arbiter.web.match_pages import MatchPages
from arbiter.web.organising import OrganiserPages
from arbiter.web.own_bot import OwnBotPages
from arbiter.web.pages import Pages
from arbiter.web.play import PlayPages
from arbiter.web.proxied import Reached
from arbiter.web.rating_pages import RatingPages
from arbiter.web.rendering import HERE, VISITOR, Templates
from arbiter.web.tokens import TokenPages
from arbiter.web.tournament_pages import TournamentPages

Handler = Callable[[Request], Awaitable[Response]]

WAITING: int = 1_024  #: connections that wait to be accepted
GRACE_S: int = 2  #: seconds for answers to end when the server stops


def application(gate: Gate, settings: Settings, calls: ASGIApp | None = None, meter: Meter = NO_METER) -> ASGIApp:
    """Return the pages over a gate, and the typed calls beside them. `meter` counts what is refused.

    Raises OperatorError for a wrong `web_url`.
    """
    app: ASGIApp = _pages(gate, settings, meter)
    if calls is not None:
        app = WithCalls(app, calls, settings.web_origins)
    app = _Headers(app)
    return Reached(app, settings.web_url) if settings.web_url else app


def _pages(gate: Gate, settings: Settings, meter: Meter) -> Starlette:
    templates = Templates(gate)
    pages, live = Pages(gate, templates), Live(gate, settings.limits)
    matches, ratings = MatchPages(gate, templates), RatingPages(gate, templates)
    accounts, play = AccountPages(gate, templates), PlayPages(gate, templates)
    tournaments = TournamentPages(gate, templates)
    organising = OrganiserPages(gate, templates, tournaments)
    tokens, bot = TokenPages(gate, templates), OwnBotPages(gate, templates)
    page: dict[str, Handler] = {
        "/": pages.front,
        "/matches": matches.matches,
        "/matches/{match}": matches.match,
        "/matches/{match}/events": live.of_match,
        "/matches/{match}/plies": matches.plies,
        "/matches/{match}/log": bot.log,
        "/matches/{match}/picture.svg": matches.picture,
        "/matches/{match}/animation.svg": matches.animation,
        "/matches/{match}/transcript.jsonl": matches.transcript,
        "/matches/{match}/moves.txt": matches.text,
        "/live": live.of_several,
        "/tournaments": organising.tournaments,
        "/tournaments/new": organising.new,
        "/tournaments/{tournament}": tournaments.tournament,
        "/leaderboard": ratings.leaderboard,
        "/leaderboard/history.svg": ratings.leaders_history,
        "/players/{player}": ratings.player,
        "/players/{player}/history.svg": ratings.player_history,
        "/games": pages.games,
        "/games/{game}": pages.game,
        "/keys.json": pages.keys,
        "/static/page.css": pages.style,
        "/static/page.js": _script,
        "/static/icon.svg": _icon,
        "/sign-in": accounts.sign_in,
        "/register": accounts.register,
        "/play": play.play,
        "/challenges/{challenge}": play.waiting,
        "/matches/{match}/choices": play.of_match,
        "/games/{game}/line": play.of_line,
        "/tokens": tokens.tokens,
        "/bot": bot.bot,
    }
    form: dict[str, Handler] = {
        "/sign-in": accounts.sign_in,
        "/register": accounts.register,
        "/sign-out": accounts.sign_out,
        "/challenges": play.challenge,
        "/challenges/{challenge}": play.answer,
        "/matches/{match}/moves": play.move,
        "/matches/{match}/acts": play.act,
        "/tournaments": organising.create,
        "/tournaments/{tournament}": organising.act,
        "/tokens": tokens.create,
        "/tokens/{token}": tokens.revoke,
        "/invitations": tokens.invite,
    }

    async def refusal(request: Request, status: int, message: str) -> Response:
        if "application/json" in request.headers.get("accept", ""):
            return JSONResponse({"message": message}, status)
        if status == 401 and session_of(request):  # the session has been ended elsewhere
            answer: Response = RedirectResponse(str(request.url) if request.method == "GET" else "/sign-in", 303)
            set_cookie(request, answer, "session", "", 0)
            return answer
        viewer = VISITOR if status == 429 else await templates.viewer(request)  # else the answer is refused as well
        return await templates.page(request, "refused.html", status, viewer=viewer, message=message, code=status)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refusal)
        meter.refused(error)
        status = status_of(error)
        return await refusal(request, status, error.message)

    async def missing(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return await refusal(request, error.status_code, error.detail)

    return Starlette(
        routes=[
            *(Route(path, handler, methods=["GET"]) for path, handler in page.items()),
            *(Route(path, handler, methods=["POST"]) for path, handler in form.items()),
        ],
        exception_handlers={Refusal: refused, HTTPException: missing},
        middleware=[Middleware(GZipMiddleware, minimum_size=1_000)],
    )


async def _script(request: Request) -> Response:
    return FileResponse(HERE / "static" / "page.js", media_type="text/javascript")


async def _icon(request: Request) -> Response:
    return FileResponse(HERE / "static" / "icon.svg", media_type="image/svg+xml")


class _Headers:
    """Adds the headers of `HEADERS` to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name for name, _ in message["headers"]}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(each for each in more if each[0] not in there)]
            await send(message)

        await self._app(scope, receive, with_headers)


class _Uvicorn(uvicorn.Server):
    """A server that leaves signals to the process that it is a part of."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class WebServer:
    """The HTTP server. It is bound to its address when it is made."""

    def __init__(self, gate: Gate, settings: Settings, calls: ASGIApp, meter: Meter) -> None:
        """Bind to the address. Raises OperatorError if that fails, or if the address needs TLS and there is none."""
        app = application(gate, settings, calls, meter)
        self._socket = _bound(settings)
        self.port: int = self._socket.getsockname()[1]
        self.scheme = "https" if settings.tls_certificate else "http"

        class InTime(Connection):
            patience_s = settings.limits.request_ms / 1000

        config = uvicorn.Config(
            app,
            http=InTime,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=bool(settings.web_proxies),
            forwarded_allow_ips=list(settings.web_proxies),
            backlog=WAITING,
            limit_concurrency=settings.limits.connections,
            timeout_graceful_shutdown=GRACE_S,
            ssl_certfile=settings.tls_certificate,
            ssl_keyfile=settings.tls_key,
        )
        self._server = _Uvicorn(config)
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Accept connections: those that come before the server's first turn wait for it."""
        self._socket.listen(WAITING)
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._socket]))

    async def stop(self) -> None:
        """Accept no more connections, and end those that are open."""
        self._server.should_exit = True
        if self._serving is not None:
            await self._serving
        self._socket.close()


def _bound(settings: Settings) -> socket.socket:
    """Return a socket that is bound to the address of the page. Raises OperatorError."""
    host, port = host_and_port(settings.web, "for the page", "127.0.0.1:7480")
    if not settings.tls_certificate and not is_loopback(host) and not settings.insecure:
        raise OperatorError(
            f"a page on {settings.web} without TLS could be changed on its way: "
            "give --tls-certificate and --tls-key, or say --insecure"
        )
    address = host.removeprefix("[").removesuffix("]")
    try:
        family, kind, number, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, number)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(place)
        except OSError:
            bound.close()
            raise
    except OSError:
        raise OperatorError(
            f"can't serve the page on {settings.web}: the port is taken, or the address is not this machine's"
        ) from None
    return bound
