"""The page of a tournament: live boards, bracket, standings, crosstable, and games by round."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from arbiter.errors import Refusal
from arbiter.service.tournaments.deciding import Decided
from arbiter.table_text import TableForm
from arbiter.tournaments import formats, trf_report
from arbiter.tournaments.corrections import in_words
from arbiter.tournaments.entry import EntryChange, allowed
from arbiter.tournaments.game_rulings import RESULTS
from arbiter.tournaments.game_rulings import in_words as ruling_in_words
from arbiter.tournaments.league import in_words as in_words_of_league
from arbiter.tournaments.standings import StandingsRow
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from arbiter.web.brackets import bracket
from arbiter.web.callers import call_of, status_of
from arbiter.web.correction_forms import NOTHING, choices
from arbiter.web.file_stream import FileStream
from arbiter.web.grids import MOST, BoardGrid, grid
from arbiter.web.rendering import Handlers
from arbiter.web.states import number
from arbiter.web.table_files import TABLES
from arbiter.web.tournament_tables import TIE_BREAKS, crosstable, game_list

LARGEST = 10**9  #: largest number of a round or a game in an address

MOST_CONNECTED = 100  #: connected bots in the list for an organiser

RULINGS = tuple((name, ruling_in_words(*ruling)) for name, ruling in RESULTS.items())
"""What an organiser can rule: the value in a form, and its words."""

NO_RULING = {"game": "", "result": "", "note": ""}  #: the fields of the form for a ruling

PHASES = {"entry": "open for entries", "running": "under way", "paused": "paused", "ended": "over"}


class Scale(NamedTuple):
    """The range of the intervals in a picture, in Elo."""

    low: float
    span: float


class TournamentPages(Handlers):
    """The handler of tournaments."""

    async def tournament(
        self, request: Request, refusal: Refusal | None = None, preview: tuple[Decided, Mapping[str, str]] | None = None
    ) -> Response:
        """Show a tournament, with the actions that its viewer may take.

        refusal: the answer to the last action. preview: what a ruling would change, and the form that asks for it.
        """
        call, name, query = call_of(request), request.path_params["tournament"], request.query_params
        tournament = await self._gate.tournaments.get(call, name)
        category = query.get("category", "")
        _, table = await self._gate.tournaments.standings(call, name, category)
        of = [self._gate.accounts.recorded(query[each]) for each in ("player", "other") if query.get(each)]
        before, round_ = (number(query.get(each, ""), 0, LARGEST) for each in ("before", "round"))
        games = game_list(tournament, round_, before, of, self._gate.accounts.shown)
        viewer = await self._templates.viewer(request)
        powers = self._gate.tournaments.powers(viewer.player, viewer.scopes, tournament)
        connected = await self._gate.players.connected(call, MOST_CONNECTED) if powers.enters_others else []
        coming = powers.runs and tournament.phase is TournamentPhase.ENTRY
        return await self._page(
            request,
            "tournament.html",
            status_of(refusal) if refusal is not None else 200,
            viewer=viewer,
            powers=powers,
            changes={change.name for change in EntryChange if allowed(tournament, change)},
            cautions=await self._gate.tournaments.cautions(tournament) if coming else (),
            connected=[view.player.shown for view in connected],
            hooks=await self._gate.web_hooks.list(call, name) if powers.runs else (),
            wrong=refusal.message if refusal is not None else "",
            request_id=secrets.token_urlsafe(12),
            ruled={**NO_RULING, **(preview[1] if preview is not None else {})},
            corrected={**NOTHING, **(preview[1] if preview is not None else {})},
            **_would_change(preview[0] if preview is not None else None),
            corrections=choices(tournament) if powers.runs else (),
            decisions=[(in_words(each.what, self._gate.accounts.shown), each) for each in tournament.corrections],
            rulings=RULINGS if tournament.results and not formats.of(tournament.spec).ends_by_test else (),
            tournament=tournament,
            files=[name for name in TABLES if table.teams is not None or name != "teams"],
            reported=trf_report.is_reported(tournament),
            forms=[form.value for form in TableForm],
            phases=PHASES,
            format_title=formats.of(tournament.spec).title,
            table=table,
            category=category,
            categories=list(tournament.categories),
            tie_breaks=[TIE_BREAKS[each.value] for each in table.tie_breaks],
            tie_break_names=TIE_BREAKS,
            scale=scale_of(table.rows),
            cross=crosstable(tournament, [row.player for row in table.rows]),
            stages=bracket(tournament),
            shown=await self._grid(request, tournament),
            games=games,
            in_rounds=formats.of(tournament.spec).by_round,
            of=of,
            older={**dict(zip(("player", "other"), of, strict=False)), "before": games.older},
            byes=tournament.byes.get(games.round, ()),
        )

    async def series(self, request: Request) -> Response:
        """Show the table over a series after one of its tournaments."""
        series = await self._gate.series.get(call_of(request), request.path_params["tournament"])
        return await self._page(
            request,
            "series.html",
            series=series,
            moves=in_words_of_league(
                {name: [self._gate.accounts.shown(each) for each in players] for name, players in series.moves.items()}
            ),
            lines=[(row, {each.tournament: each for each in row.results}) for row in series.rows],
            forms=[form.value for form in TableForm],
        )

    async def file(self, request: Request) -> Response:
        """Return the log of a tournament as JSON Lines, with its standings and the signature once it has ended."""
        return FileStream(self._gate.tournaments.file(call_of(request), request.path_params["tournament"]))

    async def _grid(self, request: Request, tournament: Tournament) -> BoardGrid:
        """Return the live boards of the games that have begun most recently."""
        call = call_of(request)
        running = [tournament.running[game].match for game in sorted(tournament.running, reverse=True)[:MOST]]
        matches = [await self._gate.matches.get(call, match) for match in running]
        live = [self._templates.named(match) for match in matches if match.result is None]
        return await grid(live, self._gate.server.facts().now_ms, tournament.id)


def scale_of(rows: tuple[StandingsRow, ...]) -> Scale:
    """Return the range of the intervals in a table of standings."""
    rated = [row.rating for row in rows if row.rating is not None]
    low = min((rating.low for rating in rated), default=0.0)
    return Scale(low, max(max((rating.high for rating in rated), default=0.0) - low, 1.0))


def _would_change(decided: Decided | None) -> dict[str, Any]:
    """Return what a decision would change, as the page shows it; None: nobody has asked."""
    if decided is None:
        return {"would": None, "later": (), "paired": None, "breaks": (), "ratings_changed": ()}
    return {
        "would": decided.changes,
        "later": decided.later,
        "paired": decided.paired,
        "breaks": decided.breaks,
        "ratings_changed": decided.ratings_changed,
    }
