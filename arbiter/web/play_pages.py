"""Playing as a person: opponents, challenges, moves, draws, resignation. Every action is a call to the gate."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from arbiter.errors import argument_invalid
from arbiter.games.contract import AnyGame, Step
from arbiter.matches.match import Match
from arbiter.service.gate.admission import Call
from arbiter.service.gate.game_calls import At, LineAt, MatchAt
from arbiter.service.gate.match_calls import MatchQuery
from arbiter.service.gate.paging import PageRequest
from arbiter.web.boards import shown
from arbiter.web.callers import call_of
from arbiter.web.choices import choices
from arbiter.web.forms import fields, local
from arbiter.web.rendering import Handlers
from arbiter.web.states import claim_of, number, positions
from arbiter.web.visits import beside

MOST_BOTS: Final = 50  #: bots in the list of opponents
MOST_OFFERS: Final = 100  #: challenges and seeks that are shown
MOST_MATCHES: Final = 20  #: matches of the person
TIMES: Final = ("1m+1s", "3m+2s", "5m+3s", "10m+5s", "30m+10s", "none")
#: how long a player may be away, in milliseconds; '' as the server says
ABSENCES: Final = {
    "": "the usual time",
    "300000": "5 minutes",
    "3600000": "an hour",
    "0": "as long as the clock allows",
}
SEATS: Final = {"0": "drawn by lot", "1": "seat 1, which moves first", "2": "seat 2"}


class PlayPages(Handlers):
    """The handlers of a person's challenges and matches."""

    # -- an opponent -----------------------------------------------------------------------------------------------

    async def play(self, request: Request) -> Response:
        """Show the possible opponents, the open offers, and the person's own matches."""
        viewer = await self._templates.viewer(request)
        if not viewer.player:
            return RedirectResponse("/sign-in?onward=/play", 303)
        call, gate = call_of(request), self._gate
        own = await gate.matches.list(call, MatchQuery(viewer.player, ended=False), PageRequest(MOST_MATCHES, ""))
        offers = await gate.players.list_challenges(call, PageRequest(MOST_OFFERS, "")) if viewer.plays else None
        bots = await gate.players.connected(call, MOST_BOTS)
        variant, position = await self._from_here(call, request.query_params)
        return await self._page(
            request,
            "play.html",
            viewer=viewer,
            own=own.items,
            offers=offers.items if offers is not None else [],
            bots=[view for view in bots if view.player.name != viewer.player],
            games=gate.games.list(call, PageRequest(0, "")).items,
            times=TIMES,
            seats=SEATS,
            absences=ABSENCES,
            wanted=request.query_params,
            wanted_game=variant.partition("(")[0],
            wanted_parameters=variant.partition("(")[2].removesuffix(")"),
            position=position,
            request_id=secrets.token_urlsafe(12),
        )

    async def _from_here(self, call: Call, query: Mapping[str, str]) -> tuple[str, str]:
        """Return the variant and the position that a page asks to play from: of a match at a ply, or after moves."""
        if "match" in query:
            match = await self._gate.matches.get(call, query["match"])
            game, start, moves = match.game, match.created.position, match.moves
            moves = moves[: number(query.get("ply", ""), match.ply, match.ply)]
        elif "game" in query:
            game, start, moves = self._gate.games.get(call, query["game"]), "", tuple(query.get("moves", "").split())
        else:
            return "", ""
        if not moves and not start:
            return game.variant, ""
        line = await beside(positions, game, start, moves)
        return game.variant, game.text(line[-1])

    async def challenge(self, request: Request) -> Response:
        """Challenge a player, or seek one; redirect to the page that waits for the answer."""
        sent = await fields(request)
        opponent = sent.get("named", "").strip() or sent.get("opponent", "")
        parameters = sent.get("parameters", "").strip()
        game = sent.get("game", "") + (f"({parameters})" if parameters else "")
        seat = number(sent.get("seat", ""), 0, 2)
        position = sent.get("position", "").strip()
        absence = sent.get("absence", "")
        if absence not in ABSENCES:
            raise argument_invalid(absence, "absence", f"one of {', '.join(filter(None, ABSENCES))}")
        abandon_ms = int(absence) if absence else None
        terms = self._gate.players.terms(game, sent.get("time", ""), "rated" in sent, seat, position, abandon_ms)
        players, request_id = self._gate.players, sent.get("request", "")
        made = (
            await players.challenge(call_of(request), request_id, opponent, terms)
            if opponent
            else await players.seek(call_of(request), request_id, terms)
        )
        return RedirectResponse(f"/challenges/{made.challenge_id}", 303)

    async def waiting(self, request: Request) -> Response:
        """Show a challenge until it is accepted; then redirect to its match."""
        viewer, challenge_id = await self._templates.viewer(request), request.path_params["challenge"]
        call, gate = call_of(request), self._gate
        if not viewer.player:
            return RedirectResponse(f"/sign-in?onward={request.url.path}", 303)
        offers = await gate.players.list_challenges(call, PageRequest(MOST_OFFERS, ""))
        challenge = next((each for each in offers.items if each.challenge_id == challenge_id), None)
        if challenge is None and (match := await self._made(call, viewer.player, challenge_id)):
            return RedirectResponse(f"/matches/{match}", 303)
        return await self._page(request, "waiting.html", viewer=viewer, challenge=challenge)

    async def answer(self, request: Request) -> Response:
        """Accept a challenge, and redirect to its match; or decline it, or withdraw the person's own."""
        sent, challenge_id = await fields(request), request.path_params["challenge"]
        if sent.get("answer") == "accept":
            match = await self._gate.players.accept_challenge(call_of(request), challenge_id)
            return RedirectResponse(f"/matches/{match.id}", 303)
        await self._gate.players.decline_challenge(call_of(request), challenge_id, sent.get("reason", ""))
        return RedirectResponse(local(sent.get("onward", "/play")), 303)

    async def _made(self, call: Call, player: str, challenge_id: str) -> str:
        """Return the id of the match that a player's challenge has led to, or ''."""
        for ended in (False, True):
            page = await self._gate.matches.list(call, MatchQuery(player, ended=ended), PageRequest(MOST_MATCHES, ""))
            for item in page.items:
                match = item if isinstance(item, Match) else await self._gate.matches.get(call, item.match_id)
                if match.created.request == f"challenge {challenge_id}":
                    return match.id
        return ""

    # -- a match ---------------------------------------------------------------------------------------------------

    async def move(self, request: Request) -> Response:
        """Play a move of the person."""
        sent, match_id = await fields(request), request.path_params["match"]
        ply = number(sent.get("ply", ""), -1, 1_000_000)
        await self._gate.matches.submit(
            call_of(request), match_id, sent.get("request", ""), ply, sent.get("move", "").strip(), None
        )
        return _done(request, match_id)

    async def act(self, request: Request) -> Response:
        """Offer, accept, decline or claim a draw, or resign."""
        sent, match_id = await fields(request), request.path_params["match"]
        call, matches, asked = call_of(request), self._gate.matches, sent.get("request", "")
        match sent.get("act", ""):
            case "offer":
                await matches.offer_draw(call, match_id, asked)
            case "accept" | "decline" as answer:
                await matches.answer_draw(call, match_id, asked, answer == "accept")
            case "claim":
                await matches.claim_draw(call, match_id, asked)
            case "resign":
                await matches.resign(call, match_id, asked)
            case _:
                raise HTTPException(400, "A player offers, accepts, declines or claims a draw, or resigns")
        return _done(request, match_id)

    async def of_match(self, request: Request) -> Response:
        """Return the legal moves of a match at a ply, as sequences of picks."""
        call, match_id = call_of(request), request.path_params["match"]
        match = await self._gate.matches.get(call, match_id)
        ply = number(request.query_params.get("ply", ""), match.ply, match.ply)
        found = await self._choices(call, match.game, MatchAt(match_id, ply))
        claim = await beside(claim_of, match) if ply == match.ply else ""
        return JSONResponse({"ply": ply, "claim": claim, **found})

    async def of_line(self, request: Request) -> Response:
        """Return the position at the end of a line of play, with its legal moves."""
        call, name = call_of(request), request.path_params["game"]
        game, moves = self._gate.games.get(call, name), request.query_params.get("moves", "").split()
        found = await self._choices(call, game, LineAt(name, "", moves))
        position = await beside(_end_of, game, moves)
        return JSONResponse({"ply": len(moves), "claim": "", **position, **found})

    async def _choices(self, call: Call, game: AnyGame, at: At) -> dict[str, Any]:
        async with self._gate.games.legal_moves(call, at, with_steps=True) as found:
            return await beside(_read, game, found.chunks)


def _read(game: AnyGame, chunks: Iterable[Sequence[Any]]) -> dict[str, Any]:
    return choices(game, ((move.text, [Step(*step) for step in move.steps]) for chunk in chunks for move in chunk))


def _end_of(game: AnyGame, moves: Sequence[str]) -> dict[str, Any]:
    line = positions(game, "", moves)
    steps = game.steps(line[-2], moves[-1]) if moves else None
    return shown(game, line[-1], steps, line[-2] if moves else None).json()


def _done(request: Request, match_id: str) -> Response:
    """Return the response to an action: JSON for the script, a redirect for a form."""
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({})
    return RedirectResponse(f"/matches/{match_id}", 303)
