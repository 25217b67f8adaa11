"""FIDE's tournament report (TRF16, with the records of TRF26 that pairing needs): a Swiss or a round robin as text.

Sources: FIDE Handbook C.04, Annex 2 (TRF16); the extensions of JaVaFo (XX…) and the records of TRF26 (three digits), as
bbpPairings reads them. Columns count from 1.

| record | what | here |
| --- | --- | --- |
| 012 | the tournament's name | read and written |
| 001 | a player: number (5–8), name (15–47), rating (49–52), points (81–84), rank (86–89) | read and written |
| 001, from column 92, ten for each round | opponent (4), colour (6), result (8) | read and written |
| XXR, 142 | how many rounds are planned | XXR is written, both are read |
| XXC white1, black1; 152 W, B | the initial colour | XXC is written, both are read |
| XXP; 260 | players who must not meet, 260 in some rounds | XXP is written, both are read |
| XXA; 250 | virtual points | XXA is written, both are read |
| 240 | byes (F, H, Z) in a round to come | read and written |
| XXZ | who is not paired in the next round | written too, since some programs do not read 240; read |
| XXS, BBW, BBD, BBL, BBZ, BBF, BBU; 162 | points for results | read, and refused if they are others than 1, ½, 0 |
| 192 | the system: with `_BAKU`, acceleration follows from it | read |
| 299 | points that do not follow from results | refused |
| others | sex, title, federation, dates, arbiters, teams, tie-breaks | left out when reading |

Results: `1 = 0` played, `W D L` played and not rated, `+ -` a forfeit, `U` the pairing-allocated bye, `F H Z` a bye for
the whole point, half a point and none, a blank for a game without a result.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from arbiter.plain_text import plain
from arbiter.tournaments.trf_records import Kept, OtherRecords, RecordReader, TrfError, number_in
from arbiter.tournaments.trf_records import write as write_others

FIRST: Final = 91  #: the place, from 0, at which the rounds begin
WIDTH: Final = 10  #: of a round
NAME: Final = 33  #: characters of a name
MOST_PLAYERS: Final = 9_999
MOST_CHARACTERS: Final = 1_048_576
MOST_CELLS: Final = 20_000  #: rounds of all players together: a thousand players, and twenty rounds
RESULTS: Final = "1=0WDL+-UFHZ "


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
    """A tournament: its players by their numbers in the report, and how many rounds are planned (0: not said).

    others: what the records besides those of players say.
    """

    name: str
    players: tuple[ReportedPlayer, ...]
    planned: int = 0
    others: OtherRecords = OtherRecords()


def write(report: Report) -> str:
    """Return a report as text, with a line feed at the end of each line."""
    lines = [f"012 {plain(report.name)}"]
    for each in report.players:
        head = f"001 {each.number:4} {'':5}{plain(each.name)[:NAME]:{NAME}} {each.rating or '':4}"
        points = f"{each.half_points / 2:4.1f} {each.rank or '':4}"
        cells = "".join(f"  {cell.opponent:04} {cell.colour} {cell.result}" for cell in each.cells)
        lines.append(f"{head:80}{points}{cells}".rstrip())
    lines += [f"XXR {report.planned}"] if report.planned else []
    lines += write_others(report.others)
    return "".join(f"{line}\n" for line in lines)


class ReadReport(NamedTuple):
    """A report, and the numbers of its lines, from 1.

    lines: those of the players, by number; others: of pairs that must not meet; planned: of the number of rounds.
    """

    report: Report
    lines: dict[int, int]
    others: dict[int | Kept, int]
    planned: int


def read(text: str) -> Report:
    """Return the tournament of a report; rounds that are missing at the end of a line are blank. Raises TrfError."""
    return read_with_lines(text).report


def read_with_lines(text: str) -> ReadReport:
    """Return the tournament of a report, and where its players are. Raises TrfError, also for what is too long."""
    if len(text) > MOST_CHARACTERS:
        raise TrfError(1, 1, f"{len(text)} characters: a report of more than {MOST_CHARACTERS} is not read")
    name, planned, planned_at = "", 0, 1
    players: dict[int, ReportedPlayer] = {}
    lines: dict[int, int] = {}
    others = RecordReader()
    for number, line in enumerate(lines_of(text), 1):
        if line.startswith("012"):
            name = line[4:].strip()
        elif line.startswith(("XXR", "142")):
            planned, planned_at = number_in(line, number, 4, len(line), "how many rounds are planned"), number
        elif line.startswith("001"):
            player = _player(line, number)
            if player.number in players:
                raise TrfError(number, 5, f"player {player.number} has line {lines[player.number]} already: remove one")
            players[player.number], lines[player.number] = player, number
        else:
            others.add(line, number)
    if not players:
        raise TrfError(1, 1, "no line begins with 001, which is a player's: this is no tournament report")
    others.check_players(players)
    records = others.read()
    rounds, blank = max(len(each.cells) for each in players.values()), (Cell(0, "-", " "),)
    last = max([rounds, *(bye.round for bye in records.byes)])
    if last * len(players) > MOST_CELLS:
        raise TrfError(1, 1, f"{len(players)} players and {last} rounds: more than {MOST_CELLS} in all are not read")
    filled = [each._replace(cells=each.cells + blank * (rounds - len(each.cells))) for each in players.values()]
    for each in filled:
        for round_, cell in enumerate(each.cells):
            if cell.opponent and cell.opponent not in players:
                unknown = f"there is no player {cell.opponent}: add its line or write 0000"
                raise TrfError(lines[each.number], column_of(round_ + 1), unknown)
    return ReadReport(Report(name, tuple(filled), planned, records), lines, others.at, planned_at)


def lines_of(text: str) -> list[str]:
    """Return the lines of a report, without their ends; some programs end them by a carriage return alone."""
    return re.split(r"\r\n|\r|\n", text)


def column_of(round_: int) -> int:
    """Return the column, from 1, in which a round begins, from 1."""
    return FIRST + WIDTH * (round_ - 1) + 1


def _player(line: str, number: int) -> ReportedPlayer:
    rank = number_in(line, number, 4, 8, "a player's number")
    if not rank:
        raise TrfError(number, 5, "expected a player's number, from 1")
    points = line[80:84].strip() or "0"
    if not re.fullmatch(r"-?\d{1,2}([.,][05]0?)?", points, re.ASCII):
        raise TrfError(number, 81, f"{plain(points)!r} are no points: write them as 4.5")
    halves = round(2 * float(points.replace(",", ".")))
    body = line[FIRST:].rstrip()
    cells = tuple(_cell(line, number, FIRST + start) for start in range(0, len(body), WIDTH))
    rating, place = number_in(line, number, 48, 52, "a rating"), number_in(line, number, 85, 89, "a rank")
    return ReportedPlayer(rank, line[14:47].strip(), rating, halves, place, cells)


def _cell(line: str, number: int, start: int) -> Cell:
    text = line[start : start + WIDTH].ljust(WIDTH)
    colour, result = text[5].lower(), text[7].upper()
    if colour not in "wb- ":
        raise TrfError(number, start + 6, f"{plain(colour)!r} is no colour: write w, b or -")
    if result not in RESULTS:
        raise TrfError(number, start + 8, f"{plain(result)!r} is no result: write one of {RESULTS.strip()}, or a blank")
    return Cell(number_in(line, number, start, start + 4, "an opponent's number"), colour.replace(" ", "-"), result)
