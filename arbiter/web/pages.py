"""The front page and the pages of games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from arbiter.errors import Refusal
from arbiter.games.contract import AnyGame
from arbiter.matches.match import Match
from arbiter.service.gate.admission import Call
from arbiter.service.gate.gate import Gate
from arbiter.service.gate.match_calls import MatchQuery
from arbiter.service.gate.paging import PageRequest
from arbiter.service.gate.tournament_calls import TournamentQuery
from arbiter.web.boards import board, ground_of, has_shapes, meanings, shown, sprite
from arbiter.web.callers import call_of
from arbiter.web.grids import grid, live_matches
from arbiter.web.rating_pages import places
from arbiter.web.rendering import Handlers, Templates
from arbiter.web.rule_pages import rules_page
from arbiter.web.tournament_pages import PHASES
from arbiter.web.visits import beside

SHORT: Final = 10  #: rows of each list on the front page

Drawn: TypeAlias = tuple[Sequence[tuple[AnyGame, Markup]], Markup]
"""Games with their boards at the start, and the symbols of all boards."""


class Pages(Handlers):
    """The handlers of these pages, and of the public keys."""

    def __init__(self, gate: Gate, templates: Templates) -> None:
        super().__init__(gate, templates)
        self._drawn: dict[tuple[str, ...], Drawn] = {}  # by the names of the games

    async def front(self, request: Request) -> Response:
        """Show the live matches, the newest tournaments, the leaders, and the matches that ended last."""
        call, gate = call_of(request), self._gate
        live = [self._templates.named(match) for match in await live_matches(gate, call)]
        ended = await gate.matches.list(call, MatchQuery(ended=True), PageRequest(SHORT, ""))
        tournaments = await gate.tournaments.list(call, TournamentQuery(), PageRequest(SHORT, ""))
        leaders = await gate.ratings.leaderboard(call, "", False, PageRequest(SHORT, ""))
        return await self._page(
            request,
            "front.html",
            shown=await grid(live, gate.server.facts().now_ms),
            ended=ended.items,
            tournaments=tournaments.items,
            phases=PHASES,
            leaders=leaders.rows,
            places=places(leaders.rows, first_page=True, last_page=not leaders.next_token),
        )

    async def keys(self, request: Request) -> Response:
        """Return the public keys by which transcripts are verified."""
        keys = self._gate.server.facts().public_keys
        return JSONResponse({"keys": [{**key._asdict(), "key": key.key.hex()} for key in keys]})

    async def games(self, request: Request) -> Response:
        """List the games, each with its board at the start."""
        call = call_of(request)
        names = tuple(facts.id for facts in self._gate.games.list(call, PageRequest(0, "")).items)
        drawn = self._drawn.get(names)
        if drawn is None:  # it takes 50 ms, and for each game of a package a question to its process
            drawn = await beside(self._starts, call, names)
            self._drawn = {names: drawn}
        games, symbols = drawn
        return await self._page(request, "games.html", games=games, symbols=symbols)

    def _starts(self, call: Call, names: Sequence[str]) -> Drawn:
        games = [self._gate.games.get(call, name) for name in names]
        return [(game, board(game, shown(game, game.initial()), game.facts.name)) for game in games], sprite(games)

    async def game(self, request: Request) -> Response:
        """Show the rules of a game, with its board at the start; matches alone if its rules are not installed."""
        call, name = call_of(request), request.path_params["game"]
        try:
            game = self._gate.games.get(call, name)
        except Refusal:
            found = await self._gate.matches.list(call, MatchQuery(variants_of=name), PageRequest(SHORT, ""))
            if not found.items:
                raise
            played = [item.created.game if isinstance(item, Match) else item.game for item in found.items]
            variants = dict.fromkeys(played)
            return await self._page(request, "missing_game.html", game=name, page=found, variants=variants)
        start = shown(game, game.initial())
        rules = await beside(rules_page, game, self._gate.games.rules_text(game))
        return await self._page(
            request,
            "game.html",
            game=game,
            board=board(game, start, game.variant),
            symbols=sprite([game]) + ground_of(game),
            shaped=has_shapes(game),
            meanings=meanings(game),
            rules=rules,
            signs=start.signs,
        )
