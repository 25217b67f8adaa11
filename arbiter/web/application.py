"""The application of the pages: the handler of each path, the form of a refusal, and the headers of all responses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arbiter.config import Limits, Settings
from arbiter.errors import Refusal, RulesAwaited, RulesFailed, failure_of
from arbiter.service.gate.gate import Gate
from arbiter.service.gate.turns import Waiting
from arbiter.service.ports.meter import NO_METER, Meter
from arbiter.web.assets import assets
from arbiter.web.calendars import Calendars
from arbiter.web.call_paths import WithCalls
from arbiter.web.callers import HEADERS, session_of, set_cookie, status_of
from arbiter.web.feeds import Feeds
from arbiter.web.match_pages import MatchPages
from arbiter.web.organising import OrganiserPages
from arbiter.web.own_bot import OwnBotPages
from arbiter.web.page_updates import Live
from arbiter.web.pages import Pages
from arbiter.web.play_pages import PlayPages
from arbiter.web.proxied import PublicAddress
from arbiter.web.rating_pages import RatingPages
from arbiter.web.rendering import VISITOR, Templates
from arbiter.web.ruling_page import RulingPages
from arbiter.web.signing_in import AccountPages
from arbiter.web.table_files import TableFiles
from arbiter.web.token_pages import TokenPages
from arbiter.web.tournament_pages import TournamentPages
from arbiter.web.visits import PageTime, Visits

Handler = Callable[[Request], Awaitable[Response]]

LEAST_PACKED: Final = 1_000  #: bytes; smaller responses are not compressed


class Calls(NamedTuple):
    """The applications beside the pages: typed calls, and the calls of agents."""

    typed: ASGIApp
    of_agents: ASGIApp


def application(
    gate: Gate,
    settings: Settings,
    calls: Calls | None = None,
    meter: Meter = NO_METER,
    time: PageTime | None = None,
) -> ASGIApp:
    """Return the application: the pages of a gate, and calls. Raises OperatorError for a wrong `web_url`.

    `meter` counts refusals. time: shared with what accepts the connections.
    """
    time = time or PageTime(settings.limits, settings.has_page_alone)
    app: ASGIApp = _pages(gate, settings, meter)
    if calls is not None:
        app = WithCalls(app, calls.typed, calls.of_agents, settings.web_origins)
    app = Visits(_Headers(app), gate.background, time, settings.limits, meter)
    return PublicAddress(app, settings.web_url) if settings.web_url else app


def _pages(gate: Gate, settings: Settings, meter: Meter) -> Starlette:
    templates = Templates(gate)
    routes, refusals = _Routes(gate, templates, settings.limits), _Refusals(templates, meter)
    most_s = 2 * settings.limits.rules_ms / 1_000
    return Starlette(
        routes=[
            *(
                Route(path, _answering(with_rules(handler, most_s), gate.turns.waiting), methods=["GET"])
                for path, handler in routes.read().items()
            ),
            *(
                Route(path, _answering(handler, gate.turns.waiting), methods=["POST"])
                for path, handler in routes.written().items()
            ),
        ],
        exception_handlers={
            Refusal: refusals.refused,
            RulesAwaited: refusals.refused,
            RulesFailed: refusals.failed,
            HTTPException: refusals.missing,
        },
        middleware=[Middleware(GZipMiddleware, minimum_size=LEAST_PACKED)],
    )


def _answering(handler: Handler, waiting: Waiting) -> Handler:
    """Return a handler whose work is refused if it waits while the server is cut off from its store."""

    async def answer(request: Request) -> Response:
        async with waiting():
            return await handler(request)

    return answer


def with_rules(handler: Handler, most_s: float) -> Handler:
    """Return a handler that waits for rules in another process, and begins again when they have answered.

    It waits for `most_s` in all, and raises RulesAwaited after that.
    """

    async def answer(request: Request) -> Response:
        until = asyncio.get_running_loop().time() + most_s
        while True:
            try:
                return await handler(request)
            except RulesAwaited as awaited:
                try:
                    async with asyncio.timeout_at(until):
                        await _until_answered(awaited)
                except TimeoutError:
                    raise awaited from None

    return answer


async def _until_answered(awaited: RulesAwaited) -> None:
    """Return as soon as rules in another process have answered."""
    loop, there = asyncio.get_running_loop(), asyncio.Event()
    awaited.then(lambda: None if loop.is_closed() else loop.call_soon_threadsafe(there.set))
    await there.wait()


class _Routes:
    """The handler of each path."""

    def __init__(self, gate: Gate, templates: Templates, limits: Limits) -> None:
        self._pages, self._live = Pages(gate, templates), Live(gate, limits)
        self._matches, self._ratings = MatchPages(gate, templates), RatingPages(gate, templates)
        self._accounts, self._play = AccountPages(gate, templates), PlayPages(gate, templates)
        self._tournaments = TournamentPages(gate, templates)
        self._tables, self._feeds, self._calendars = TableFiles(gate), Feeds(gate), Calendars(gate)
        self._organising = OrganiserPages(gate, templates, self._tournaments)
        self._rulings = RulingPages(gate, templates)
        self._tokens, self._bot = TokenPages(gate, templates), OwnBotPages(gate, templates)

    def read(self) -> dict[str, Handler]:
        """Return the handlers of GET by path."""
        return {
            "/": self._pages.front,
            "/matches": self._matches.matches,
            "/matches/{match}": self._matches.match,
            "/matches/{match}/events": self._live.of_match,
            "/matches/{match}/plies": self._matches.plies,
            "/matches/{match}/log": self._bot.log,
            "/matches/{match}/picture.svg": self._matches.picture,
            "/matches/{match}/animation.svg": self._matches.animation,
            "/matches/{match}/transcript.jsonl": self._matches.transcript,
            "/matches/{match}/moves.txt": self._matches.text,
            "/live": self._live.of_several,
            "/tournaments": self._organising.tournaments,
            "/tournaments/new": self._organising.new,
            "/tournaments.ics": self._calendars.all,
            "/tournaments/{tournament}": self._tournaments.tournament,
            "/tournaments/{tournament}/series": self._tournaments.series,
            "/tournaments/{tournament}/results.atom": self._feeds.tournament,
            "/tournaments/{tournament}/calendar.ics": self._calendars.tournament,
            "/tournaments/{tournament}/tournament.log": self._tournaments.file,
            "/tournaments/{tournament}/{table}.{form}": self._tables.file,
            "/leaderboard": self._ratings.leaderboard,
            "/leaderboard/history.svg": self._ratings.leaders_history,
            "/rulings": self._rulings.rulings,
            "/players/{player}": self._ratings.player,
            "/players/{player}/results.atom": self._feeds.player,
            "/players/{player}/calendar.ics": self._calendars.player,
            "/players/{player}/history.svg": self._ratings.player_history,
            "/games": self._pages.games,
            "/games/{game}": self._pages.game,
            "/keys.json": self._pages.keys,
            **{path: asset.answer for path, asset in assets().items()},
            "/sign-in": self._accounts.sign_in,
            "/register": self._accounts.register,
            "/play": self._play.play,
            "/challenges/{challenge}": self._play.waiting,
            "/matches/{match}/choices": self._play.of_match,
            "/games/{game}/line": self._play.of_line,
            "/tokens": self._tokens.tokens,
            "/bot": self._bot.bot,
        }

    def written(self) -> dict[str, Handler]:
        """Return the handlers of POST by path: the forms of the pages."""
        return {
            "/sign-in": self._accounts.sign_in,
            "/register": self._accounts.register,
            "/sign-out": self._accounts.sign_out,
            "/challenges": self._play.challenge,
            "/challenges/{challenge}": self._play.answer,
            "/matches/{match}/moves": self._play.move,
            "/matches/{match}/acts": self._play.act,
            "/tournaments": self._organising.create,
            "/tournaments/{tournament}": self._organising.act,
            "/players/{player}": self._ratings.change,
            "/rulings": self._rulings.rule,
            "/tokens": self._tokens.create,
            "/sign-out-everywhere": self._accounts.sign_out_everywhere,
            "/tokens/{token}": self._tokens.revoke,
            "/invitations": self._tokens.invite,
        }


class _Refusals:
    """The responses to refused requests and to unknown paths."""

    def __init__(self, templates: Templates, meter: Meter) -> None:
        self._templates = templates
        self._meter = meter

    async def refused(self, request: Request, error: Exception) -> Response:
        """Return the response to a refused request, and count it."""
        assert isinstance(error, (Refusal, RulesAwaited))
        refusal = error if isinstance(error, Refusal) else error.refusal()
        self._meter.refused(refusal)
        return await self._answer(request, status_of(refusal), refusal.message)

    async def failed(self, request: Request, error: Exception) -> Response:
        """Return the response to a request at which the rules of a plug-in have failed."""
        return await self._answer(request, 500, failure_of(error))

    async def missing(self, request: Request, error: Exception) -> Response:
        """Return the response to a path without a page."""
        assert isinstance(error, HTTPException)
        return await self._answer(request, error.status_code, error.detail)

    async def _answer(self, request: Request, status: int, message: str) -> Response:
        if "application/json" in request.headers.get("accept", ""):
            return JSONResponse({"message": message}, status)
        if status == 401 and session_of(request):  # the session's token was revoked elsewhere
            answer: Response = RedirectResponse(str(request.url) if request.method == "GET" else "/sign-in", 303)
            set_cookie(request, answer, "session", "", 0)
            return answer
        templates = self._templates
        viewer = VISITOR if status == 429 else await templates.viewer(request)  # or this page is refused too
        return await templates.page(request, "refused.html", status, viewer=viewer, message=message, code=status)


class _Headers:
    """Adds `HEADERS` to every response."""

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
