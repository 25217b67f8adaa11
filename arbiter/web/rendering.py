"""Pages from templates: the viewer, and values as text for people."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined, meta
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from arbiter.errors import Reason, Refusal
from arbiter.matches.match import Match
from arbiter.plain_text import plain, plain_json
from arbiter.service.gate.game_calls import seats
from arbiter.service.gate.gate import Gate
from arbiter.service.gate.rights import Action, within
from arbiter.service.ports.journal import MatchSummary
from arbiter.tournaments.standings import quarters_text
from arbiter.web.assets import assets
from arbiter.web.callers import call_of, session_of
from arbiter.web.forms import form_token
from arbiter.web.rule_pages import inline
from arbiter.web.states import result_words
from arbiter.web.tournament_tables import points

HERE: Final = Path(__file__).parent


class Viewer(NamedTuple):
    """The viewer of a page: player ('' for a visitor), scopes of its token, and the token for its forms."""

    player: str = ""
    scopes: frozenset[str] = frozenset()
    form: str = ""

    @property
    def plays(self) -> bool:
        """Whether it may play."""
        return self.may(Action.SUBMIT_MOVE)

    def may(self, action: str) -> bool:
        """Return whether its token may do something at all; pages do not offer anything else."""
        return within(self.scopes, Action(action))


VISITOR: Final = Viewer()


class Templates:
    """The templates of all pages."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._compiled: set[str] = set()
        self._environment = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            finalize=_safe,
        )
        self._environment.filters |= {
            "called": gate.accounts.shown,
            "asset": lambda path: assets()[path].address,
            "time": _time,
            "day": day,
            "instant": _instant,
            "ended": self._ended,
            "elo": _elo,
            "inline": inline,
            "json": lambda value: plain_json(orjson.dumps(value).decode()),
            "points": points,
            "quarters": quarters_text,
            "sentence": _sentence,
        }

    async def page(self, request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page for the viewer of a request."""
        viewer = values.pop("viewer", None) or await self.viewer(request)
        if template not in self._compiled:  # it takes up to tens of milliseconds, in which players would wait
            await asyncio.to_thread(self._compile, template)
        return HTMLResponse(self.text(template, viewer, path=_path(request), **values), status, _headers(viewer))

    def text(self, template: str, viewer: Viewer = VISITOR, path: str = "/", **values: Any) -> str:
        """Return a page as text. path: its address, to which the person returns after signing in."""
        return self._environment.get_template(template).render(viewer=viewer, path=path, **values)

    def _compile(self, name: str) -> None:
        """Compile a template and those that it names, which never name it. A second thread may do the same."""
        environment = self._environment
        assert environment.loader is not None
        source, _, _ = environment.loader.get_source(environment, name)
        for named in meta.find_referenced_templates(environment.parse(source)):
            if named is not None and named not in self._compiled:
                self._compile(named)
        environment.get_template(name)
        self._compiled.add(name)

    def named(self, match: Match) -> Match:
        """Return a match with its players under the names that pages show."""
        first, second = match.players
        shown = (self._gate.accounts.shown(first), self._gate.accounts.shown(second))
        return match if shown == match.players else replace(match, created=replace(match.created, players=shown))

    def _ended(self, item: Match | MatchSummary) -> str:
        """Return the result of a match in a list, or that the match is under way."""
        if isinstance(item, Match) or item.end is None:
            return "under way"
        players = [self._gate.accounts.shown(each) for each in (item.player_1, item.player_2)]
        return result_words(item.end, players, seats(item.game))

    async def secret(
        self, request: Request, what: str, secret: str, onward: str, player: str = "", scopes: str = ""
    ) -> HTMLResponse:
        """Show a secret that was just made, and is not shown again. onward: the address of the page after it."""
        page = await self.page(
            request, "secret.html", what=what, secret=secret, onward=onward, player=player, scopes=scopes
        )
        page.headers["cache-control"] = "no-store"
        return page

    async def viewer(self, request: Request) -> Viewer:
        """Return the viewer. A browser whose session has ended is a visitor."""
        if not session_of(request):
            return VISITOR
        try:
            view = await self._gate.players.get(call_of(request), "")
        except Refusal as refusal:
            if refusal.reason in (Reason.TOKEN_INVALID, Reason.PLAYER_SUSPENDED):
                return VISITOR
            raise
        return Viewer(view.player.name, view.scopes, form_token(request))


class Handlers:
    """The handlers of some pages: they call the gate, and draw with the templates."""

    def __init__(self, gate: Gate, templates: Templates) -> None:
        self._gate = gate
        self._templates = templates
        self._page = templates.page


def _safe(value: object) -> object:
    """Return what a template shows for a value: texts without characters that can't be printed, except line ends."""
    return plain(value, "\n") if isinstance(value, str) and not isinstance(value, Markup) else value


def _headers(viewer: Viewer) -> dict[str, str]:
    """Return headers that keep a person's page out of shared caches."""
    return {"cache-control": "private, no-cache", "vary": "Cookie"} if viewer.player else {"vary": "Cookie"}


def _path(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def _time(ms: float | None) -> str:
    """Return a duration as text for people: `0.4 s`, `1:05`, `–` for none."""
    if ms is None:
        return "–"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    return f"{int(ms // 60_000)}:{int(ms // 1000 % 60):02d}"


def _sentence(message: str) -> str:
    """Return a message as a sentence."""
    return message[:1].upper() + message[1:] + ("" if message.endswith((".", "?", "!")) else ".")


def day(ms: int) -> str:
    """Return an instant as text for people, '' for none: `2026-03-01 12:00 UTC`."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC") if ms else ""


def _instant(ms: int) -> str:
    """Return an instant (UTC, ms) to the millisecond."""
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S}.{ms % 1000:03d}"


def _elo(value: float) -> str:
    """Return a difference in Elo with its sign: `+12`, `−7`, `0`."""
    return f"{value:+.0f}".replace("-", "\N{MINUS SIGN}") if round(value) else "0"
