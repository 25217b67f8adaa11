"""FIDE's tournament report (TRF16): a Swiss or a round robin as text that other pairing programs read, and back.

Source: FIDE Handbook C.04, Annex 2 (TRF16). Columns count from 1.

| record | what | here |
| --- | --- | --- |
| 012 | the tournament's name | read and written |
| 001 | a player: number (5–8), name (15–47), rating (49–52), points (81–84), rank (86–89) | read and written |
| 001, from column 92, ten for each round | opponent (4), colour (6), result (8) | read and written |
| XXR | how many rounds are planned, an extension of pairing programs | read and written |
| others | sex, title, federation, dates, arbiters, teams, accelerations, forbidden pairs | left out when reading |

Results: `1 = 0` played, `W D L` played and not rated, `+ -` a forfeit, `U` the pairing-allocated bye, `F H Z` a bye for
the whole point, half a point and none, a blank for a game without a result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from arbiter.plain_text import plain
from arbiter.tournaments import formats
from arbiter.tournaments.game_ends import DRAW, LOSS, WIN
from arbiter.tournaments.meetings import Meeting
from arbiter.tournaments.standings import Table
from arbiter.tournaments.tournament import Tournament

FIRST: Final = 91  #: the place, from 0, at which the rounds begin
WIDTH: Final = 10  #: of a round
NAME: Final = 33  #: characters of a name
MOST_PLAYERS: Final = 9_999
RESULTS: Final = "1=0WDL+-UFHZ "


class TrfError(ValueError):
    """A text that is no report. `line` and `column` count from 1."""

    def __init__(self, line: int, column: int, problem: str) -> None:
        super().__init__(f"line {line}, column {column}: {problem}")
        self.line = line
        self.column = column


class Cell(NamedTuple):
    """A round of a player. opponent: its number, 0 for none; colour: `w`, `b` or `-`; result: one of `RESULTS`."""

    opponent: int = 0
    colour: str = "-"
    result: str = "Z"


class ReportedPlayer(NamedTuple):
    """A player of a report. half_points: its points, twice; rating and rank: 0 for none."""

    number: int
    name: str
    rating: int = 0
    half_points: int = 0
    rank: int = 0
    cells: tuple[Cell, ...] = ()


class Report(NamedTuple):
    """A tournament: its players by their numbers in the report, and how many rounds are planned (0: not said)."""

    name: str
    players: tuple[ReportedPlayer, ...]
    planned: int = 0


def write(report: Report) -> str:
    """Return a report as text, with a line feed at the end of each line."""
    lines = [f"012 {plain(report.name)}"]
    for each in report.players:
        head = f"001 {each.number:4} {'':5}{plain(each.name)[:NAME]:{NAME}} {each.rating or '':4}"
        points = f"{each.half_points / 2:4.1f} {each.rank or '':4}"
        cells = "".join(f"  {cell.opponent:04} {cell.colour} {cell.result}" for cell in each.cells)
        lines.append(f"{head:80}{points}{cells}".rstrip())
    lines += [f"XXR {report.planned}"] if report.planned else []
    return "".join(f"{line}\n" for line in lines)


def read(text: str) -> Report:
    """Return the tournament of a report; rounds that are missing at the end of a line are blank. Raises TrfError."""
    name, planned = "", 0
    players: dict[int, ReportedPlayer] = {}
    lines: dict[int, int] = {}
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        if line.startswith("012"):
            name = line[4:].strip()
        elif line.startswith("XXR"):
            planned = _number(line, number, 4, len(line), "how many rounds are planned")
        elif line.startswith("001"):
            player = _player(line, number)
            if player.number in players:
                raise TrfError(number, 5, f"player {player.number} has line {lines[player.number]} already: remove one")
            players[player.number], lines[player.number] = player, number
    if not players:
        raise TrfError(1, 1, "no line begins with 001, which is a player's: this is no tournament report")
    rounds = max(len(each.cells) for each in players.values())
    blank = (Cell(0, "-", " "),)
    filled = [each._replace(cells=each.cells + blank * (rounds - len(each.cells))) for each in players.values()]
    for each in filled:
        for round_, cell in enumerate(each.cells):
            if cell.opponent and cell.opponent not in players:
                place = FIRST + WIDTH * round_ + 1
                unknown = f"there is no player {cell.opponent}: add its line or write 0000"
                raise TrfError(lines[each.number], place, unknown)
    return Report(name, tuple(filled), planned)


def _player(line: str, number: int) -> ReportedPlayer:
    rank = _number(line, number, 4, 8, "a player's number")
    if not rank:
        raise TrfError(number, 5, "expected a player's number, from 1")
    points = line[80:84].strip() or "0"
    if not re.fullmatch(r"-?\d{1,3}([.,][05]0?)?", points, re.ASCII):
        raise TrfError(number, 81, f"{plain(points)!r} are no points: write them as 4.5")
    halves = round(2 * float(points.replace(",", ".")))
    body = line[FIRST:].rstrip()
    cells = tuple(_cell(line, number, FIRST + start) for start in range(0, len(body), WIDTH))
    rating, place = _number(line, number, 48, 52, "a rating"), _number(line, number, 85, 89, "a rank")
    return ReportedPlayer(rank, line[14:47].strip(), rating, halves, place, cells)


def _cell(line: str, number: int, start: int) -> Cell:
    text = line[start : start + WIDTH].ljust(WIDTH)
    colour, result = text[5].lower(), text[7].upper()
    if colour not in "wb- ":
        raise TrfError(number, start + 6, f"{plain(colour)!r} is no colour: write w, b or -")
    if result not in RESULTS:
        raise TrfError(number, start + 8, f"{plain(result)!r} is no result: write one of {RESULTS.strip()}, or a blank")
    return Cell(_number(line, number, start, start + 4, "an opponent's number"), colour.replace(" ", "-"), result)


def _number(line: str, number: int, start: int, end: int, what: str) -> int:
    text = line[start:end].strip()
    if not re.fullmatch(r"\d{0,9}", text, re.ASCII):
        raise TrfError(number, start + 1, f"expected {what}, and found {plain(text)!r}: is the line in its columns?")
    return int(text or 0)


# -- a tournament of ours ----------------------------------------------------------------------------------------------


def is_reported(tournament: Tournament) -> bool:
    """Return whether there is a report of a tournament: of a Swiss or a round robin that has begun."""
    return formats.of(tournament.spec).reported and 0 < len(tournament.seeds) <= MOST_PLAYERS


def report_of(tournament: Tournament, table: Table) -> Report:
    """Return the report of a Swiss or a round robin that has begun; players are numbered by their seeds.

    A round of a Swiss is one of the report: the points of a meeting are its result. Each game of a round robin has a
    round of its own, since its games are what counts there. A void game is written as none.
    """
    numbers = {player: number for number, player in enumerate(tournament.seeds, 1)}
    by_game = not formats.of(tournament.spec).in_rounds
    each_round = max((len(meeting.games) for meeting in tournament.meetings), default=1) if by_game else 1
    blank = Cell(0, "-", "Z")
    cells = {player: [blank] * (tournament.rounds * each_round) for player in tournament.seeds}
    for meeting in tournament.meetings:
        first = (meeting.round - 1) * each_round
        for player in (meeting.first, meeting.second):
            found = _games(tournament, meeting, player, numbers) if by_game else []
            found = found or [_met(tournament, meeting, player, numbers)]
            cells[player][first : first + len(found)] = found
    if not by_game:
        for player, byes in _byes(tournament).items():
            for round_, result in byes.items():
                cells[player][round_ - 1] = Cell(0, "-", result)
    rows = {row.player: row for row in table.rows}
    players = [
        ReportedPlayer(
            numbers[player],
            player[:NAME],
            tournament.entrants[player].rating,
            rows[player].points,
            rows[player].place,
            tuple(cells[player]),
        )
        for player in tournament.seeds
    ]
    planned = tournament.spec.options.rounds
    return Report(tournament.spec.name, tuple(players), planned)


def _met(tournament: Tournament, meeting: Meeting, player: str, numbers: Mapping[str, int]) -> Cell:
    """Return the cell of a meeting as a whole."""
    first = meeting.first == player
    opponent, colour = numbers[meeting.second if first else meeting.first], "w" if first else "b"
    if not tournament.decided(meeting):
        return Cell(opponent, colour, " ")
    results = [tournament.results[game.number] for game in meeting.games]
    if all(each.void for each in results):
        return Cell()
    played = any(each.played for each in results)
    return Cell(opponent, colour, _result(tournament.meeting_points(meeting, player), played))


def _games(tournament: Tournament, meeting: Meeting, player: str, numbers: Mapping[str, int]) -> list[Cell]:
    """Return a cell for each game of a meeting."""
    found = []
    for game in meeting.games:
        first, result = game.seat1 == player, tournament.results.get(game.number)
        opponent, colour = numbers[game.seat2 if first else game.seat1], "w" if first else "b"
        if result is None:
            found.append(Cell(opponent, colour, " "))
        elif result.void:
            found.append(Cell())
        else:
            found.append(Cell(opponent, colour, _result(result.half_points(1 if first else 2), result.played)))
    return found


def _result(half_points: int, played: bool) -> str:
    if played:
        return {WIN: "1", DRAW: "=", LOSS: "0"}[half_points]
    return {WIN: "+", DRAW: "=", LOSS: "-"}[half_points]


def _byes(tournament: Tournament) -> dict[str, dict[int, str]]:
    """Return the byes of each player by round: allocated ones, and requested ones from its first round on."""
    found: dict[str, dict[int, str]] = {player: {} for player in tournament.seeds}
    paired: Iterable[tuple[str, int]] = {
        (player, each.round) for each in tournament.meetings for player in each.players
    }
    for player in tournament.seeds:
        entrant = tournament.entrants[player]
        requested = [round_ for round_ in entrant.byes if entrant.joined <= round_ <= tournament.rounds]
        found[player] = {round_: "H" for round_ in requested if (player, round_) not in paired}
    for round_, players in tournament.byes.items():
        for player in players:
            found[player][round_] = "U"
    return found
