"""The pages: each asks the gate for what it shows, and renders it. Without a script they are whole, if not live."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from arbiter.drawing.palette import seat_classes
from arbiter.drawing.svg import svg
from arbiter.matches.match import Match
from arbiter.service.gate.gate import Gate
from arbiter.service.gate.matches import MatchQuery
from arbiter.service.gate.pages import PageRequest
from arbiter.service.gate.tournaments import TournamentQuery
from arbiter.service.ports.directory import Challenge
from arbiter.web.boards import Shown, board, shown, sprite, style_sheet
from arbiter.web.door import call_of
from arbiter.web.rendering import HERE, Templates
from arbiter.web.states import Played, number, positions, result_words, shown_at, shown_line, state_of
from arbiter.web.tournaments import crosstable

GRID: Final = 12  #: live boards on the front page
SHORT: Final = 10  #: rows of each list on the front page
CHUNK: Final = 40  #: positions in one answer to the script of a replay


class Pages:
    """The handlers of pages, and of what their scripts ask for."""

    def __init__(self, gate: Gate, templates: Templates) -> None:
        self._gate = gate
        self._templates = templates
        self._page = templates.page

    async def front(self, request: Request) -> Response:
        """Show what is being played now, the newest tournaments, the leaders, and what has just ended."""
        call, gate = call_of(request), self._gate
        playing = await gate.matches.list(call, MatchQuery(ended=False), PageRequest(GRID, ""))
        ended = await gate.matches.list(call, MatchQuery(ended=True), PageRequest(SHORT, ""))
        tournaments = await gate.tournaments.list(call, TournamentQuery(), PageRequest(SHORT, ""))
        leaders = await gate.ratings.leaderboard(call, "", False, PageRequest(SHORT, ""))
        live = [match for match in playing.items if isinstance(match, Match)]
        boards = [(match, await self._position(match, match.ply), self._state(match)) for match in live]
        return await self._page(
            request,
            "front.html",
            boards=[(match, _board(match, position), state) for match, position, state in boards],
            symbols=sprite(match.game for match in live),
            states=orjson.dumps([{"match": match.id, **state} for match, _, state in boards]).decode(),
            ended=ended.items,
            tournaments=tournaments.items,
            leaders=leaders.rows,
        )

    async def matches(self, request: Request) -> Response:
        """List matches, newest first."""
        wanted = MatchQuery(request.query_params.get("player", ""), request.query_params.get("game", ""))
        page = await self._gate.matches.list(
            call_of(request), wanted, PageRequest(0, request.query_params.get("page", ""))
        )
        return await self._page(request, "matches.html", page=page, wanted=wanted)

    async def match(self, request: Request) -> Response:
        """Show a match: live, or at the ply that the address names."""
        match = await self._gate.matches.get(call_of(request), request.path_params["match"])
        viewer = await self._templates.viewer(request)
        seats = [seat for seat, name in enumerate(match.players, 1) if name == viewer.player and viewer.plays]
        ply = number(request.query_params.get("ply", ""), match.ply, match.ply)
        position = await self._position(match, ply)
        state = self._state(match)
        return await self._page(
            request,
            "match.html",
            viewer=viewer,
            taken=seats,
            offers=await self._rematches(request, match) if seats else [],
            request_id=secrets.token_urlsafe(12),
            match=match,
            ply=ply,
            position=position,
            board=_board(match, position),
            symbols=sprite([match.game]),
            inks=seat_classes(match.game.facts)[1:],
            seats=[match.game.facts.seat_name(seat) for seat in (1, 2)],
            moves=await self._moves(request, match),
            state=state,
            live=orjson.dumps({"match": match.id, "at": ply, **state}).decode(),
        )

    async def plies(self, request: Request) -> Response:
        """Return the positions of a match from a ply on, for the script of a replay."""
        match = await self._gate.matches.get(call_of(request), request.path_params["match"])
        first = number(request.query_params.get("from", ""), match.ply, match.ply)
        last = min(first + CHUNK - 1, match.ply)
        found = await asyncio.to_thread(shown_line, match, first, last)
        kept = {"cache-control": "private, max-age=3600"} if match.result is not None else {}
        return JSONResponse({"from": first, "plies": [position.json() for position in found]}, headers=kept)

    async def picture(self, request: Request) -> Response:
        """Return a position of a match as an SVG file."""
        match = await self._gate.matches.get(call_of(request), request.path_params["match"])
        ply = number(request.query_params.get("ply", ""), match.ply, match.ply)
        return Response(await asyncio.to_thread(_picture, match, ply), media_type="image/svg+xml")

    async def transcript(self, request: Request) -> Response:
        """Return the record of a match as JSON Lines, with its signature once it has ended."""
        lines = [line async for line in self._lines(request)]
        return Response(b"".join(lines), media_type="application/jsonl")

    async def text(self, request: Request) -> Response:
        """Return a match as text: who played, how it ended, its moves."""
        match = await self._gate.matches.get(call_of(request), request.path_params["match"])
        return PlainTextResponse(_story(match))

    async def keys(self, request: Request) -> Response:
        """Return the public keys by which transcripts are verified."""
        keys = self._gate.server.facts().public_keys
        return JSONResponse({"keys": [{**key._asdict(), "key": key.key.hex()} for key in keys]})

    async def tournament(self, request: Request) -> Response:
        """Show a tournament: its standings, crosstable and games."""
        call, name = call_of(request), request.path_params["tournament"]
        tournament = await self._gate.tournaments.get(call, name)
        _, table = await self._gate.tournaments.standings(call, name)
        cross = crosstable(tournament, [row.player for row in table.rows])
        return await self._page(request, "tournament.html", tournament=tournament, table=table, cross=cross)

    async def leaderboard(self, request: Request) -> Response:
        """Show the ratings at a game, or at all."""
        query = request.query_params
        page = await self._gate.ratings.leaderboard(
            call_of(request), query.get("game", ""), False, PageRequest(0, query.get("page", ""))
        )
        low = min((row.low for row in page.rows), default=0.0)
        high = max((row.high for row in page.rows), default=1.0)
        games = self._gate.games.list(call_of(request), PageRequest(0, ""))
        return await self._page(
            request, "leaderboard.html", page=page, low=low, span=max(high - low, 1.0), games=games.items
        )

    async def player(self, request: Request) -> Response:
        """Show a player: what it says of itself, its ratings, its newest matches."""
        call, name = call_of(request), request.path_params["player"]
        view = await self._gate.players.get(call, name)
        ratings = await self._gate.ratings.of_player(call, name, "", 0)
        matches = await self._gate.matches.list(call, MatchQuery(player=name), PageRequest(0, ""))
        return await self._page(request, "player.html", view=view, standing=ratings.standing, items=matches.items)

    async def games(self, request: Request) -> Response:
        """List the games."""
        page = self._gate.games.list(call_of(request), PageRequest(0, ""))
        return await self._page(request, "games.html", games=page.items)

    async def game(self, request: Request) -> Response:
        """Show the rules of a game, with its board at the start."""
        game = self._gate.games.get(call_of(request), request.path_params["game"])
        start = shown(game, game.initial())
        return await self._page(
            request,
            "game.html",
            game=game,
            board=board(game, start, game.variant),
            symbols=sprite([game]),
            signs=start.signs,
        )

    async def style(self, request: Request) -> Response:
        """Return the style sheet: that of the pages, and that of boards."""
        return Response((HERE / "static" / "page.css").read_text() + style_sheet(), media_type="text/css")

    # -- parts ---------------------------------------------------------------------------------------------------

    def _state(self, match: Match) -> dict[str, Any]:
        return state_of(match, self._gate.server.facts().now_ms)

    async def _position(self, match: Match, ply: int) -> Shown:
        return await asyncio.to_thread(shown_at, match, ply)

    async def _lines(self, request: Request) -> AsyncIterator[bytes]:
        async with self._gate.matches.transcript(call_of(request), request.path_params["match"]) as parts:
            async for part in parts:
                yield part

    async def _rematches(self, request: Request, match: Match) -> list[Challenge]:
        """Return what the players of a match that is over offer each other."""
        if match.result is None:
            return []
        open_ones = await self._gate.players.list_challenges(call_of(request), PageRequest(0, ""))
        return [each for each in open_ones.items if {each.challenger, each.opponent} == set(match.players)]

    async def _moves(self, request: Request, match: Match) -> list[Played]:
        """Return the moves of a match, with the time that each took, as its record says."""
        spent: dict[int, int] = {}
        async for part in self._lines(request):
            for line in part.splitlines():
                event = orjson.loads(line)
                if event.get("kind") == "moved":
                    spent[event["ply"]] = event["ledger"]["charged"]
        return [
            Played(ply, seat, move, spent.get(ply))
            for ply, (move, seat) in enumerate(zip(match.moves, match.turns, strict=True))
        ]


def _board(match: Match, position: Shown) -> str:
    first, second = match.players
    return board(match.game, position, f"{match.game.facts.name}, {first} against {second}")


def _picture(match: Match, ply: int) -> str:
    game, line = match.game, positions(match.game, match.moves[:ply])
    steps = game.steps(line[-2], match.moves[ply - 1]) if ply else None
    return svg(game, line[-1], steps, line[-2] if ply else None)


def _story(match: Match) -> str:
    created = match.created
    head = [f"{name}: {value}" for name, value in (("match", match.id), ("game", created.game), ("time", created.time))]
    head += [f"seat {seat}: {player}" for seat, player in enumerate(match.players, 1)]
    head.append(f"result: {result_words(match.result, match.players) if match.result is not None else 'under way'}")
    return "\n".join([*head, "", *(f"{ply}. {move}" for ply, move in enumerate(match.moves, 1)), ""])
