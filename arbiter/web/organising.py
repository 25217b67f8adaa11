"""The pages of organisers, which create and run tournaments, enter players and rule on games, through the gate."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from arbiter.errors import Refusal, argument_invalid
from arbiter.service.gate.admission import Call
from arbiter.service.gate.entries import EntryCorrection, EntryRequest
from arbiter.service.gate.gate import Gate
from arbiter.service.gate.paging import PageRequest
from arbiter.service.gate.tournament_calls import Change, TournamentQuery
from arbiter.tournaments.spec import Format
from arbiter.web.callers import call_of, status_of
from arbiter.web.correction_forms import correction_of, is_number, ruling_of
from arbiter.web.forms import fields
from arbiter.web.rendering import Handlers, Templates
from arbiter.web.spec_form import FORMATS, place_of, sections, spec_of
from arbiter.web.tournament_pages import TournamentPages

MOST_OPEN: Final = 100  #: running or coming tournaments in their list
MOST_ENTERED: Final = 200  #: players in one form for entry or withdrawal


class OrganiserPages(Handlers):
    """The handlers of tournaments for organisers, and of the entry of a player by itself."""

    def __init__(self, gate: Gate, templates: Templates, pages: TournamentPages) -> None:
        super().__init__(gate, templates)
        self._pages = pages

    async def tournaments(self, request: Request) -> Response:
        """List the tournaments that are under way, those that can be entered, and those that have ended."""
        call, token = call_of(request), request.query_params.get("page", "")
        opened = await self._gate.tournaments.list(call, TournamentQuery(ended=False), PageRequest(MOST_OPEN, ""))
        ended = await self._gate.tournaments.list(call, TournamentQuery(ended=True), PageRequest(0, token))
        return await self._page(request, "tournaments.html", opened=opened.items, ended=ended, formats=FORMATS)

    async def new(self, request: Request) -> Response:
        """Show the form for a new tournament of the format in the address."""
        return await self._form(request, _format(request.query_params.get("format", "")), {})

    async def create(self, request: Request) -> Response:
        """Create a tournament, and redirect to its page; or show the form again, with the error at its field."""
        sent = await fields(request)
        try:
            made = await self._gate.tournaments.create(
                call_of(request), sent.get("request", ""), partial(spec_of, sent)
            )
        except Refusal as refusal:
            return await self._form(request, _format(sent.get("format", "")), sent, refusal)
        return RedirectResponse(f"/tournaments/{made.tournament.id}", 303)

    async def act(self, request: Request) -> Response:
        """Start, pause, resume or cancel a tournament, enter or withdraw players, rule on a game; show its page."""
        sent, tournament_id = await fields(request), request.path_params["tournament"]
        try:
            if sent.get("act", "") in ("rule", "preview", "correct", "preview-correct"):
                return await self._decide(request, sent)
            if sent.get("act", "") in ("create-hook", "retry-hook", "delete-hook"):
                return await self._change_hooks(request, sent)
            await self._act(call_of(request), tournament_id, sent)
        except Refusal as refusal:
            return await self._pages.tournament(request, refusal)
        return RedirectResponse(f"/tournaments/{tournament_id}", 303)

    async def _decide(self, request: Request, sent: Mapping[str, str]) -> Response:
        """Rule on a game or correct the tournament, or show what that would change."""
        tournament_id, act = request.path_params["tournament"], sent.get("act", "")
        change, preview = Change(tournament_id, sent.get("request", "")), act.startswith("preview")
        if act.endswith("correct"):
            wanted = partial(correction_of, sent)
            too = bool(sent.get("ratings_too"))
            decided = await self._gate.tournaments.correct(call_of(request), change, wanted, preview, too)
        else:
            decided = await self._gate.tournaments.rule(call_of(request), change, partial(ruling_of, sent), preview)
        if not preview:
            return RedirectResponse(f"/tournaments/{tournament_id}", 303)
        return await self._pages.tournament(request, preview=(decided, sent))

    async def _change_hooks(self, request: Request, sent: Mapping[str, str]) -> Response:
        """Make a web hook and show its secret; or let one be tried again, or remove it."""
        call, hooks, tournament_id = call_of(request), self._gate.web_hooks, request.path_params["tournament"]
        page = f"/tournaments/{tournament_id}"
        if sent["act"] == "create-hook":
            made = await hooks.create(call, tournament_id, sent.get("url", "").strip(), sent.get("request", ""))
            return await self._templates.secret(request, "web hook", made.secret, page)
        change = hooks.retry if sent["act"] == "retry-hook" else hooks.delete
        await change(call, tournament_id, sent.get("hook", ""))
        return RedirectResponse(page, 303)

    async def _act(self, call: Call, tournament_id: str, sent: Mapping[str, str]) -> None:
        tournaments, change = self._gate.tournaments, Change(tournament_id, sent.get("request", ""))
        match sent.get("act", ""):
            case "start":
                await tournaments.start(call, change)
            case "pause":
                await tournaments.pause(call, change)
            case "resume":
                await tournaments.resume(call, change)
            case "cancel":
                goes_on = bool(sent.get("series_goes_on"))
                await tournaments.cancel(call, change, sent.get("note", "").strip(), series_goes_on=goes_on)
            case "enter":
                await tournaments.enter(call, change, EntryRequest())
            case "withdraw":
                await tournaments.withdraw(call, change, "")
            case "change":
                await tournaments.change_entry(call, change, _correction(sent))
            case "enter-all" | "withdraw-all" as act:
                for entry in _entries(sent):
                    each = change._replace(request_id=f"{change.request_id} {entry.player}")
                    if act == "enter-all":
                        await tournaments.enter(call, each, entry)
                    else:
                        await tournaments.withdraw(call, each, entry.player)
            case _:
                raise HTTPException(
                    400, "A tournament is started, paused, resumed, cancelled, entered, changed or left"
                )

    async def _form(
        self, request: Request, format_: Format, sent: Mapping[str, str], refusal: Refusal | None = None
    ) -> Response:
        viewer = await self._templates.viewer(request)
        if not viewer.player:
            return RedirectResponse("/sign-in?onward=/tournaments/new", 303)
        return await self._page(
            request,
            "new_tournament.html",
            status_of(refusal) if refusal is not None else 200,
            viewer=viewer,
            format=format_,
            formats=FORMATS,
            sections=sections(format_),
            games=self._gate.games.list(call_of(request), PageRequest(0, "")).items,
            sent=sent,
            place=place_of(refusal, format_) if refusal is not None else "",
            wrong=refusal.message if refusal is not None else "",
            request_id=sent.get("request") or secrets.token_urlsafe(12),
        )


def _format(word: str) -> Format:
    return Format(word) if word in tuple(Format) else next(iter(Format))


def _entries(sent: Mapping[str, str]) -> Sequence[EntryRequest]:
    """Return the players that a form names, with the ratings for seeding, the team and the category that it gives.

    Raises ARGUMENT_INVALID.
    """
    words = sent.get("names", "").replace(",", " ").split()
    if not 1 <= len(words) <= MOST_ENTERED:
        raise argument_invalid(
            f"{len(words)} names", "names", f"1 to {MOST_ENTERED} names of players, as alice bob=1800"
        )
    team, category = (sent.get(name, "").strip() for name in ("team", "category"))
    return [_entry(word)._replace(team=team, category=category) for word in words]


def _correction(sent: Mapping[str, str]) -> EntryCorrection:
    """Return the change of an entry that a form asks for: an empty rating is unchanged. Raises ARGUMENT_INVALID."""
    rating = sent.get("rating", "").strip()
    if rating and not is_number(rating):
        raise argument_invalid(rating, "rating", "whole Elo points, as 1800")
    rounds = sent["byes"].replace(",", " ").split() if "byes" in sent else None
    if rounds and not all(map(is_number, rounds)):
        raise argument_invalid(sent["byes"], "byes", "the numbers of rounds, as 2 5")
    byes = None if rounds is None else [int(each) for each in rounds]
    return EntryCorrection(sent.get("player", "").strip(), int(rating) if rating else None, byes)


def _entry(word: str) -> EntryRequest:
    name, _, rating = word.partition("=")
    if not name or (rating and not is_number(rating)):
        raise argument_invalid(word, "names", "a name, or a name and whole Elo points, as bob=1800")
    return EntryRequest(name, int(rating or 0))
