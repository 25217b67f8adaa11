"""The pages of matches: live, at any ply, and as files. They work without scripts, but then they do not update."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from arbiter.drawing.animation import Frame, animated
from arbiter.drawing.caption import start_name
from arbiter.drawing.palette import seat_classes
from arbiter.drawing.svg import svg
from arbiter.games.contract import Game
from arbiter.games.line import numbers_itself, written
from arbiter.matches.match import Match
from arbiter.service.gate.match_calls import MatchQuery
from arbiter.service.gate.paging import PageRequest
from arbiter.service.ports.directory import Challenge
from arbiter.web.boards import Shown, has_shapes, meanings, sprite
from arbiter.web.callers import call_of, picture
from arbiter.web.charts import charts
from arbiter.web.file_stream import FileStream
from arbiter.web.grids import board_of
from arbiter.web.rendering import Handlers
from arbiter.web.states import (
    Played,
    number,
    positions,
    result_words,
    shown_at,
    shown_line,
    shown_move,
    state_of,
    written_line,
)
from arbiter.web.visits import beside

CHUNK: Final = 40  #: positions in one answer to the script of a replay


class MatchPages(Handlers):
    """The handlers of matches, and of the requests of their script."""

    async def matches(self, request: Request) -> Response:
        """List matches, newest first."""
        wanted = MatchQuery(request.query_params.get("player", ""), request.query_params.get("game", ""))
        page = await self._gate.matches.list(
            call_of(request), wanted, PageRequest(0, request.query_params.get("page", ""))
        )
        return await self._page(request, "matches.html", page=page, wanted=wanted)

    async def match(self, request: Request) -> Response:
        """Show a match: live, or at the ply in the address."""
        match = await self._gate.matches.get(call_of(request), request.path_params["match"])
        viewer = await self._templates.viewer(request)
        seats = [seat for seat, name in enumerate(match.players, 1) if name == viewer.player and viewer.plays]
        offers = await self._rematches(request, match) if seats else []
        match = self._templates.named(match)
        ply = number(request.query_params.get("ply", ""), match.ply, match.ply)
        position = await self._position(match, ply)
        state, moves = self._state(match), await self._moves(request, match)
        return await self._page(
            request,
            "match.html",
            viewer=viewer,
            taken=seats,
            ruling=await self._gate.tournaments.ruling_on(call_of(request), match),
            unrated=await self._gate.ratings.ruling_on(call_of(request), match),
            offers=offers,
            request_id=secrets.token_urlsafe(12),
            match=match,
            ply=ply,
            position=position,
            board=board_of(match, position),
            symbols=sprite([match.game]),
            shaped=has_shapes(match.game),
            meanings=meanings(match.game),
            inks=seat_classes(match.game.facts)[1:],
            seats=[match.game.facts.seat_name(seat) for seat in (1, 2)],
            start=start_name(match.game, match.created.position) if match.created.position else "",
            moves=moves,
            own_numbers=numbers_itself(match.game),
            timed=[{"ply": move.ply, "seat": move.seat, "spent_ms": move.spent_ms} for move in moves if move.spent_ms],
            charts=charts(match, moves, ply),
            state=state,
            live=orjson.dumps({"match": match.id, "at": ply, **state}).decode(),
        )

    async def plies(self, request: Request) -> Response:
        """Return the positions of a match from a given ply on, for the script of a replay."""
        match = await self._gate.matches.get(call_of(request), request.path_params["match"])
        first = number(request.query_params.get("from", ""), match.ply, match.ply)
        last = min(first + CHUNK - 1, match.ply)
        found = await beside(shown_line, match, first, last)
        kept = {"cache-control": "private, max-age=3600"} if match.result is not None else {}
        return JSONResponse({"from": first, "plies": [position.json() for position in found]}, headers=kept)

    async def picture(self, request: Request) -> Response:
        """Return a position of a match as an SVG file."""
        match = await self._gate.matches.get(call_of(request), request.path_params["match"])
        ply = number(request.query_params.get("ply", ""), match.ply, match.ply)
        return picture(await beside(_picture, match, ply))

    async def animation(self, request: Request) -> Response:
        """Return a match as an animated SVG file."""
        match = await self._gate.matches.get(call_of(request), request.path_params["match"])
        return picture(await beside(_animation, self._templates.named(match)))

    async def transcript(self, request: Request) -> Response:
        """Return the record of a match as JSON Lines, with its signature once it has ended."""
        return FileStream(self._file(request))

    async def text(self, request: Request) -> Response:
        """Return a match as text: players, result, moves."""
        match = await self._gate.matches.get(call_of(request), request.path_params["match"])
        return PlainTextResponse(await beside(_story, self._templates.named(match)))

    # -- parts ---------------------------------------------------------------------------------------------------

    def _state(self, match: Match) -> dict[str, Any]:
        return state_of(match, self._gate.server.facts().now_ms)

    async def _position(self, match: Match, ply: int) -> Shown:
        return await beside(shown_at, match, ply)

    def _file(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._gate.matches.transcript(call_of(request), request.path_params["match"])

    async def _rematches(self, request: Request, match: Match) -> list[Challenge]:
        """Return the open challenges between the players of a match that is over."""
        if match.result is None:
            return []
        open_ones = await self._gate.players.list_challenges(call_of(request), PageRequest(0, ""))
        return [each for each in open_ones.items if {each.challenger, each.opponent} == set(match.players)]

    async def _moves(self, request: Request, match: Match) -> list[Played]:
        """Return the moves of a match, with the time of each according to the record."""
        ledgers: dict[int, tuple[int, int]] = {}
        async with self._file(request) as parts:
            async for part in parts:
                for line in part.splitlines():
                    event = orjson.loads(line)
                    if event.get("kind") == "moved":
                        ledgers[event["ply"]] = event["ledger"]["charged"], event["ledger"]["credited"]
        names = await beside(_names, match)
        found = []
        for ply, (move, seat) in enumerate(zip(match.moves, match.turns, strict=True)):
            spent_ms, credited_ms = ledgers.get(ply, (None, None))
            found.append(Played(ply, seat, move, spent_ms, credited_ms, names[ply]))
        return found


def _names(match: Match) -> tuple[str, ...]:
    """Return the moves of a match as people read them."""
    game = match.game
    if type(game).notation is Game.notation and not numbers_itself(game):
        return match.moves
    return tuple(written_line(match, shown_move))


def _written(match: Match) -> list[str]:
    """Return the moves of a match as people read them, each with its number."""
    return written_line(match, written)


def _animation(match: Match) -> str:
    shown = shown_line(match, 0, match.ply)
    said = ["the start", *_written(match)]
    if match.result is not None:
        said[-1] = f"{said[-1]} – {result_words(match.result, match.players, match.game.facts.seats)}"
    frames = [Frame(position.contents, words) for position, words in zip(shown, said, strict=True)]
    return animated(match.game, match.players, frames)


def _picture(match: Match, ply: int) -> str:
    game, line = match.game, positions(match.game, match.created.position, match.moves[:ply])
    steps = game.steps(line[-2], match.moves[ply - 1]) if ply else None
    return svg(game, line[-1], steps, line[-2] if ply else None)


def _story(match: Match) -> str:
    created = match.created
    head = [f"{name}: {value}" for name, value in (("match", match.id), ("game", created.game), ("time", created.time))]
    head += [f"seat {seat}: {player}" for seat, player in enumerate(match.players, 1)]
    end, seats = match.result, match.game.facts.seats
    head.append(f"result: {result_words(end, match.players, seats) if end is not None else 'under way'}")
    return "\n".join([*head, "", *_written(match), ""])
