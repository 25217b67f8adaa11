"""The tables of a tournament as files, at addresses that stay: standings, crosstable, games and pairings.

`/tournaments/TOURNAMENT/standings.csv`, `.json` and `.md`, and so the others; `?round=N` leaves the games and pairings
of one round, `?category=NAME` the standings of a category, and `teams.csv` has those of teams. `tournament.trf` is the
report of a Swiss or a round robin
(`arbiter.tournaments.trf`).
`series.csv` and so on have the table over a series after the tournament.
`arbiter.table_text` has the forms. Points are numbers, and half a point is 0.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from arbiter.service.gate.gate import Gate
from arbiter.service.tournaments.series_tables import Series
from arbiter.table_text import Cell, Columns, TableForm, table_text
from arbiter.tournaments import trf, trf_report
from arbiter.tournaments.game_rulings import change_in_words
from arbiter.tournaments.standings import StandingsRow, Table
from arbiter.tournaments.state_copy import copied
from arbiter.tournaments.team_standings import TeamTable
from arbiter.tournaments.tournament import Tournament
from arbiter.web.callers import call_of
from arbiter.web.states import number
from arbiter.web.tournament_tables import crosstable
from arbiter.web.visits import beside

MOST_IN_FILE: Final = 300  #: players; a crosstable has the square of them
MOST_GAMES: Final = 20_000  #: of a ladder whose files have all games; reading these takes seconds
LARGEST_ROUND: Final = 10**9
SERIES: Final = "series"  #: the name of the file with the table over a series

MEDIA_TYPES: Final = {
    TableForm.CSV: "text/csv",
    TableForm.JSON: "application/json",
    TableForm.MARKDOWN: "text/markdown",
}
FAULTS: Final = {"timeouts": "on time", "crashes": "absent", "violations": "by violation", "walkovers": "by walkover"}


def standings_columns(tournament: Tournament, table: Table, round_: int = 0) -> Columns:
    """Return the standings, with the columns of `arbiter tournament standings`."""
    reached, teams = any(row.reached for row in table.rows), table.teams is not None
    prizes = any(row.prize_place for row in table.rows)
    headings = (
        *("place", *(("prize",) if prizes else ()), "player", *(("team",) if teams else ())),
        *(*(("reached",) if reached else ()), "points"),
        *(each.value.replace("_", " ") for each in table.tie_breaks),
        *("games", "won", "drawn", "lost", *FAULTS.values()),
        *("left early", "rating", "low", "high", "provisional", "group", "withdrawn", "disqualified"),
    )
    rows = [
        (
            *(row.place, *((row.prize_place or None,) if prizes else ()), row.player),
            *((row.team,) if teams else ()),
            *(*((row.reached,) if reached else ()), _points(row)),
            *(value / 4 for value in row.values),
            *(row.games, row.wins, row.draws, row.losses, *(getattr(row.faults, name) for name in FAULTS)),
            *(_word(row.left_early), *_rating(row), _word(row.withdrawn), _word(row.disqualified)),
        )
        for row in table.rows
    ]
    return Columns(headings, rows)


def team_columns(tournament: Tournament, table: Table, round_: int = 0) -> Columns:
    """Return the standings of the teams, with the columns of `arbiter tournament standings`; no rows without teams."""
    teams = table.teams or TeamTable((), ())
    headings = (
        *("place", "team", "match points", "board points"),
        *(each.value.replace("_", " ") for each in teams.columns.values()),
        *("matches", "won", "drawn", "lost", "players"),
    )
    return Columns(
        headings,
        [
            (
                *(row.place, row.team, row.match_points, row.board_points / 2),
                *(row.values[at] / 4 for at in teams.columns),
                *(row.matches, row.wins, row.draws, row.losses, " ".join(row.players)),
            )
            for row in teams.rows
        ],
    )


def crosstable_columns(tournament: Tournament, table: Table, round_: int = 0) -> Columns:
    """Return the points of each player against each other one, whose columns are numbered by place.

    `1.5/2` are one and a half points in two games; brackets are around points that do not count, because the other has
    left early. There are no rows for more players than MOST_IN_FILE.
    """
    cross = crosstable(tournament, [row.player for row in table.rows], MOST_IN_FILE)
    headings = ("number", "player", "points", *(str(column) for column in range(1, len(cross) + 1)))
    rows: list[tuple[Cell, ...]] = []
    for at, (row, line) in enumerate(zip(table.rows, cross, strict=False), 1):
        cells: list[Cell] = []
        for pairing in line:
            if pairing is None:
                cells.append(None)
                continue
            score: Cell = pairing.half_points / 2
            if pairing.games > 1:
                score = f"{pairing.half_points / 2:g}/{pairing.games}"
            cells.append(score if pairing.counts else f"({score:g})" if isinstance(score, float) else f"({score})")
        rows.append((at, row.player, _points(row), *cells))
    return Columns(headings, rows)


def game_columns(tournament: Tournament, table: Table, round_: int = 0) -> Columns:
    """Return the games in the order of their numbers. round_: of one round only; 0 for all."""
    headings = (
        *("game", "round", "player 1", "player 2", "variant", "match", "state"),
        *("points 1", "points 2", "reason", "cause", "ruling"),
    )
    rows: list[tuple[Cell, ...]] = []
    for game in tournament.games:
        meeting = tournament.meetings[game.meeting - 1]
        if round_ not in (0, meeting.round):
            continue
        result, running = tournament.results.get(game.number), tournament.running.get(game.number)
        state = "ended" if result is not None else "under way" if running is not None else "to be played"
        match = result.match if result is not None else running.match if running is not None else ""
        ends: tuple[Cell, ...] = (None, None, "", "", "")
        if result is not None:
            void = result.void
            points = [None if void else result.half_points(seat) / 2 for seat in (1, 2)]
            ends = (*points, result.reason, result.cause, change_in_words(tournament, game.number))
        rows.append((game.number, meeting.round, game.seat1, game.seat2, game.game, match, state, *ends))
    return Columns(headings, rows)


def pairing_columns(tournament: Tournament, table: Table, round_: int = 0) -> Columns:
    """Return who meets whom, round by round, and at the end of a round who has a bye. round_: as in `game_columns`."""
    headings = ("round", "pairing", "player 1", "player 2", "tie", "games", "points 1", "points 2", "state")
    rows: list[tuple[Cell, ...]] = []
    rounds = sorted({meeting.round for meeting in tournament.meetings} | tournament.byes.keys())
    by_round: dict[int, list[tuple[Cell, ...]]] = {each: [] for each in rounds}
    for meeting in tournament.meetings:
        decided = tournament.decided(meeting)
        begun = decided or any(game.number in tournament.results for game in meeting.games)
        scores = [
            tournament.score(meeting, player) / 2 if begun else None for player in (meeting.first, meeting.second)
        ]
        state = "ended" if decided else "under way" if begun else "to be played"
        row = (meeting.round, meeting.number, meeting.first, meeting.second, meeting.place, len(meeting.games))
        by_round[meeting.round].append((*row, *scores, state))
    for each, paired in by_round.items():
        if round_ in (0, each):
            rows += paired
            rows += [(each, None, player, "", "", 0, None, None, "bye") for player in tournament.byes.get(each, ())]
    return Columns(headings, rows)


def series_columns(series: Series) -> Columns:
    """Return the table over a series, with a column for each tournament. Results in brackets do not count."""
    rows: list[tuple[Cell, ...]] = []
    for row in series.rows:
        cells: list[Cell] = [None] * len(series.tournaments)
        for each in row.results:
            cells[each.tournament] = each.points / 2 if each.counts else f"({each.points / 2:g})"
        rows.append((row.place, row.player, row.points / 2, *cells))
    return Columns(("place", "player", "points", *(each.tournament_id for each in series.tournaments)), rows)


TABLES: Final[dict[str, Callable[[Tournament, Table, int], Columns]]] = {
    "standings": standings_columns,
    "teams": team_columns,
    "crosstable": crosstable_columns,
    "games": game_columns,
    "pairings": pairing_columns,
}
"""The tables of a tournament, by the name of the file."""
EVERY_GAME: Final = frozenset({"games", "pairings"})  #: those that have old games of a ladder too, up to MOST_GAMES


class TableFiles:
    """The handler of these files."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def file(self, request: Request) -> Response:
        """Return a table of a tournament in one of the forms."""
        call, path = call_of(request), request.path_params
        if (path["table"], path["form"]) == ("tournament", "trf"):
            return await self._report(request)
        if path["table"] not in (*TABLES, SERIES) or path["form"] not in [*TableForm]:
            raise HTTPException(404)
        form = TableForm(path["form"])
        if path["table"] == SERIES:
            series = await self._gate.series.get(call, path["tournament"])
            return _answer(SERIES, form, table_text(form, {"": series_columns(series)}))
        tournament = await self._gate.tournaments.get(call, path["tournament"])
        if path["table"] in EVERY_GAME and tournament.old and len(tournament.games) <= MOST_GAMES:
            tournament = await self._gate.tournaments.get(call, tournament.id, whole=True)
        category = request.query_params.get("category", "") if path["table"] == "standings" else ""
        _, table = await self._gate.tournaments.standings(call, path["tournament"], category)
        round_ = number(request.query_params.get("round", ""), 0, LARGEST_ROUND)
        text = await beside(_text, form, path["table"], copied(tournament), table, round_)
        return _answer(path["table"], form, text)

    async def _report(self, request: Request) -> Response:
        """Return a Swiss or a round robin that has begun as a report for other pairing programs."""
        call, name = call_of(request), request.path_params["tournament"]
        tournament = await self._gate.tournaments.get(call, name)
        if not trf_report.is_reported(tournament):
            raise HTTPException(404, "there are reports of a Swiss and of a round robin, from their start on")
        _, table = await self._gate.tournaments.standings(call, name)
        text = await beside(_report_text, copied(tournament), table)
        return Response(
            text, media_type="text/plain", headers={"content-disposition": 'inline; filename="tournament.trf"'}
        )


def _answer(name: str, form: TableForm, text: str) -> Response:
    kind = "attachment" if form is TableForm.CSV else "inline"
    named = f'{kind}; filename="{name}.{form.value}"'
    return Response(text, media_type=MEDIA_TYPES[form], headers={"content-disposition": named})


def _text(form: TableForm, name: str, tournament: Tournament, table: Table, round_: int) -> str:
    return table_text(form, {"": TABLES[name](tournament, table, round_)})


def _report_text(tournament: Tournament, table: Table) -> str:
    return trf.write(trf_report.report_of(tournament, table))


def _points(row: StandingsRow) -> float:
    return row.points / 2 if row.arena_points is None else row.arena_points


def _rating(row: StandingsRow) -> Iterator[Cell]:
    rating = row.rating
    if rating is None:
        yield from (None,) * 5
        return
    yield from (round(value, 3) for value in (rating.elo, rating.low, rating.high))
    yield _word(rating.provisional)
    yield rating.group


def _word(value: bool) -> str:
    return "yes" if value else "no"
