"""The pages of ratings and of players, with charts of the ratings over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from arbiter.drawing.chart import Curve, Mark, chart_svg
from arbiter.errors import Refusal, argument_invalid
from arbiter.games.contract import Facts
from arbiter.ratings.rating_results import Row
from arbiter.service.gate.account_calls import AccountChange
from arbiter.service.gate.match_calls import MatchQuery
from arbiter.service.gate.paging import PageRequest
from arbiter.web.callers import call_of, picture
from arbiter.web.forms import fields
from arbiter.web.player_pages import form, results, ticks
from arbiter.web.rendering import Handlers, day

CURVES: Final = 6  #: players in the chart of a leaderboard's history
RETIRES: Final = {"retire": True, "back": False}  #: the buttons of the page of a player
HIDES: Final = {"hide": True, "show": False}
POINTS: Final = 24  #: instants in a history; the ratings are computed for each


class RatingPages(Handlers):
    """The handlers of the leaderboard and of players."""

    async def leaderboard(self, request: Request) -> Response:
        """Show the ratings for one game, or for all games together."""
        query = request.query_params
        page = await self._gate.ratings.leaderboard(
            call_of(request), query.get("game", ""), False, PageRequest(0, query.get("page", ""))
        )
        low = min((row.low for row in page.rows), default=0.0)
        high = max((row.high for row in page.rows), default=1.0)
        return await self._page(
            request,
            "leaderboard.html",
            page=page,
            places=places(page.rows, not query.get("page"), not page.next_token),
            low=low,
            span=max(high - low, 1.0),
            games=self._facts(request),
            curves=CURVES,
        )

    async def leaders_history(self, request: Request) -> Response:
        """Return a chart of the leaders' ratings over time (SVG)."""
        call, game = call_of(request), request.query_params.get("game", "")
        page = await self._gate.ratings.leaderboard(call, game, False, PageRequest(CURVES, ""))
        curves = []
        for row in page.rows:
            name, _, version = row.player.partition("@")
            found = await self._gate.ratings.of_player(call, name, game, POINTS)
            histories = {held.partition("@")[2]: marks for held, marks in found.standing.history}
            marks = histories.get(version, ())
            curves.append(Curve(row.player, [Mark(mark.at_ms, mark.rating, mark.low, mark.high) for mark in marks]))
        return _chart("Ratings of the leaders over time", curves, with_bands=False)

    async def player(self, request: Request, wrong: str = "") -> Response:
        """Show a player: its description, its ratings, its results, its newest matches. wrong: why it was not changed.

        Every name of a player leads to its page.
        """
        call, asked = call_of(request), request.path_params["player"]
        view = await self._gate.players.get(call, asked)
        name = view.player.name
        if asked != view.player.shown and request.method == "GET":
            return RedirectResponse(f"/players/{view.player.shown}", 302)
        viewer = await self._templates.viewer(request)
        ratings = await self._gate.ratings.of_player(call, view.player.shown, "", 0)
        matches = await self._gate.matches.list(call, MatchQuery(player=name), PageRequest(0, ""))
        counted = await self._gate.matches.results_by_kind(call, name)
        rows = ratings.standing.versions
        low = min((row.low for row in rows), default=0.0)
        return await self._page(
            request,
            "player.html",
            view=view,
            standing=ratings.standing,
            low=low,
            span=max(max((row.high for row in rows), default=0.0) - low, 1.0),
            viewer=viewer,
            wrong=wrong,
            owns=not view.player.deleted
            and ("admin" in viewer.scopes or (viewer.player == name and viewer.may("change_player"))),
            results=results(name, counted, lambda game, seat: self._seat_name(request, game, seat)),
            form=form(name, matches.items),
            page=matches,
        )

    async def player_history(self, request: Request) -> Response:
        """Return a chart of the ratings of a player's versions over time (SVG)."""
        call, name = call_of(request), request.path_params["player"]
        shown = self._gate.accounts.shown(self._gate.accounts.recorded(name))
        found = await self._gate.ratings.of_player(call, name, request.query_params.get("game", ""), POINTS)
        curves = [
            Curve(
                shown + version[len(version.partition("@")[0]) :],
                [Mark(mark.at_ms, mark.rating, mark.low, mark.high) for mark in marks],
            )
            for version, marks in found.standing.history
        ]
        return _chart(f"Rating of {shown} over time", curves)

    async def change(self, request: Request) -> Response:
        """Rename, retire, hide or delete a player, as its owner asks."""
        sent, call, name = await fields(request), call_of(request), request.path_params["player"]
        act, given, accounts = sent.get("act", ""), sent.get("name", "").strip(), self._gate.accounts
        try:
            if act == "delete":
                known = (await self._gate.players.get(call, name)).player.shown
                if given != known:
                    raise argument_invalid(given, "name", f"{known}, to confirm that it is to be deleted")
                view = await accounts.delete(call, name)
            else:
                wanted = AccountChange(given if act == "rename" else None, RETIRES.get(act), HIDES.get(act))
                view = await accounts.change(call, name, wanted)
        except Refusal as refusal:
            return await self.player(request, refusal.message)
        return RedirectResponse(f"/players/{view.player.shown}", 303)

    def _facts(self, request: Request) -> Sequence[Facts]:
        return self._gate.games.list(call_of(request), PageRequest(0, "")).items

    def _seat_name(self, request: Request, game: str, seat: int) -> str:
        try:
            return self._gate.games.get(call_of(request), game).facts.seat_name(seat)
        except Refusal:  # this server no longer has the game
            return f"seat {seat}"


def places(rows: Sequence[Row], first_page: bool, last_page: bool) -> list[str]:
    """Return the place of each row as text: `1`, or `2–5` for a group of players whose order is not known.

    The text has `…` for an end of a group that may be on another page.
    """
    written = []
    for row in rows:
        group = [each.place for each in rows if each.group == row.group]
        first = "…" if not first_page and row.group == rows[0].group else str(group[0])
        last = "…" if not last_page and row.group == rows[-1].group else str(group[-1])
        written.append(first if first == last else f"{first}–{last}")
    return written


def _chart(title: str, curves: Sequence[Curve], with_bands: bool = True) -> Response:
    instants = [mark.at for curve in curves for mark in curve.marks]
    named = ticks(int(min(instants)), int(max(instants)), day) if instants else []
    return picture(chart_svg(title, curves, named, adapts=True, with_bands=with_bands))
