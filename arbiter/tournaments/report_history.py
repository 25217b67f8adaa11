"""What a report says of a Swiss that was begun elsewhere, so that it can go on here.

| in the report | here |
| --- | --- |
| a round in which anybody has an opponent or `U` | was paired there |
| a game of the last such round, without a result | is played here |
| `1 = 0`, `W D L` with an opponent | a game that was played elsewhere |
| `+ -` with an opponent | a forfeit |
| `U`, `F`; `+` without an opponent | a bye with a point: no other one is allocated to the player (C2) |
| `H`; `=` without an opponent | a requested bye |
| `Z`, a blank, `-` without an opponent | the player was not paired: nothing |
| such marks after the last round, records 240 and XXZ | byes in the rounds to come |
| `Z` in the next round | the player has withdrawn, after the last round in which it has another mark |
| `Z` in the first rounds of the last numbers | they entered late |
| no initial colour | it follows from the first round, as rule 5.2.5 had it there |

Numbers are those of the report. Points of others than 1, ½ and 0 for a win, a draw and a loss are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from arbiter.tournaments.game_ends import DRAW, LOSS, WIN
from arbiter.tournaments.trf import Cell, ReadReport, Report, ReportedPlayer, column_of
from arbiter.tournaments.trf_records import TrfError, Virtual

POINTS: Final = {**dict.fromkeys("1W+FU", WIN), **dict.fromkeys("=DH", DRAW), **dict.fromkeys("0L-Z ", LOSS)}
PLAYED: Final = "1WDL=0"
WITH_OPPONENT: Final = PLAYED + "+- "
ALONE: Final = {"U": "U", "F": "F", "+": "F", "H": "H", "=": "H", "Z": "Z", "-": "Z", " ": " "}
"""What each mark of a player without an opponent means."""


class PastGame(NamedTuple):
    """A pair of a round, white first. half_points: of both; None without a result. played: it is no forfeit."""

    white: int
    black: int
    half_points: tuple[int, int] | None
    played: bool = False


class PastRound(NamedTuple):
    """A round: its games, and who has a bye with a point."""

    games: tuple[PastGame, ...]
    byes: tuple[int, ...]


class PastPlayer(NamedTuple):
    """A player. byes: the rounds that it sits out with half a point; full_byes: those to come with a point.

    joined: the first round in which it could be paired. left: if it has withdrawn, the last round before that.
    """

    number: int
    name: str
    rating: int
    byes: tuple[int, ...]
    full_byes: tuple[int, ...]
    joined: int
    left: int | None


class History(NamedTuple):
    """A tournament that was begun elsewhere. players: by number. initial: the seat of an odd number in round 1."""

    players: tuple[PastPlayer, ...]
    rounds: tuple[PastRound, ...]
    forbidden: tuple[tuple[int, int], ...]
    virtual: tuple[Virtual, ...]
    initial: int
    planned: int
    baku: bool


def history_of(read: ReadReport) -> History:
    """Return what a report says. Raises TrfError where it contradicts itself, or has what is not possible here."""
    report = _merged(read)
    players = sorted(report.players)
    played = _rounds_paired(report)
    cells = {each.number: each.cells for each in players}
    rounds = tuple(
        PastRound(
            tuple(_games(read, cells, round_, played)),
            tuple(each.number for each in players if each.cells[round_ - 1].result in "UF"),
        )
        for round_ in range(1, played + 1)
    )
    virtual = dict(report.others.virtual)
    for each in players:
        _check_points(read, each, virtual.get(each.number, ()), played)
    joined = _joined(cells, played)
    return History(
        tuple(
            PastPlayer(
                each.number,
                each.name,
                each.rating,
                tuple(n for n, cell in enumerate(each.cells, 1) if cell.result == "H"),
                tuple(n for n, cell in enumerate(each.cells, 1) if n > played and cell.result == "F"),
                joined[each.number],
                _left(read, each.number, each.cells, played, joined[each.number]),
            )
            for each in players
        ),
        rounds,
        tuple(_forbidden(read, played)),
        report.others.virtual,
        report.others.initial or _inferred(rounds),
        report.planned,
        report.others.baku,
    )


def _merged(read: ReadReport) -> Report:
    """Return the report with all byes among the cells of their players, and one meaning for each mark."""
    report, lines = read.report, read.lines
    played = _rounds_paired(report)
    byes = {(bye.number, bye.round or played + 1): bye.result for bye in sorted(report.others.byes)}
    length = max([played, *(round_ for _, round_ in byes), *(len(each.cells) for each in report.players)])
    if report.planned and length > report.planned:
        problem = f"the report has round {length}, and plans {report.planned} rounds: correct one"
        raise TrfError(read.planned, 5, problem)
    merged = []
    for each in report.players:
        cells = [*each.cells, *(Cell(0, "-", " "),) * (length - len(each.cells))]
        for place, cell in enumerate(cells):
            allowed = WITH_OPPONENT if cell.opponent else "".join(ALONE)
            if cell.result not in allowed or cell.opponent == each.number:
                wrong = f"{cell.result!r} is no result {'with' if cell.opponent else 'without'} another player"
                wrong = "a player is its own opponent" if cell.opponent == each.number else wrong
                raise TrfError(lines[each.number], column_of(place + 1), wrong)
            if not cell.opponent:
                asked = byes.get((each.number, place + 1), " ")
                mark = ALONE[cell.result]
                cells[place] = Cell(0, "-", asked if mark in " Z" and asked != " " else mark)
        merged.append(each._replace(cells=tuple(cells)))
    return report._replace(players=tuple(merged))


def _rounds_paired(report: Report) -> int:
    return max(
        (n for each in report.players for n, cell in enumerate(each.cells, 1) if cell.opponent or cell.result == "U"),
        default=0,
    )


def _games(read: ReadReport, cells: Mapping[int, tuple[Cell, ...]], round_: int, last: int) -> Iterator[PastGame]:
    """Yield the games of a round by the smaller number."""
    for number, of_player in cells.items():
        cell = of_player[round_ - 1]
        if not cell.opponent:
            continue
        other = cells[cell.opponent][round_ - 1]
        place = (read.lines[number], column_of(round_))
        if other.opponent != number:
            raise TrfError(*place, f"player {number} has met {cell.opponent}, whose line says otherwise: correct one")
        if number > cell.opponent:
            continue
        open_, forfeit = (cell.result == " ", other.result == " "), [each.result in "+-" for each in (cell, other)]
        both = (POINTS[cell.result], POINTS[other.result])
        if any(open_) != all(open_) or any(forfeit) != all(forfeit) or sum(both) > WIN:
            wrong = (
                f"{cell.result!r} here and {other.result!r} in line {read.lines[cell.opponent]} are no result of a game"
            )
            raise TrfError(*place, f"{wrong}: correct one")
        if all(open_) and round_ < last:
            raise TrfError(
                *place, f"a game of round {round_} has no result, and round {last} is paired: add its result"
            )
        colours = cell.colour + other.colour
        if colours in ("ww", "bb") or (colours == "--" and not any(forfeit)):
            raise TrfError(*place, f"players {number} and {cell.opponent} need one colour each, w and b")
        white_first = cell.colour == "w" or other.colour == "b" or colours == "--"
        pair = (number, cell.opponent) if white_first else (cell.opponent, number)
        points = both if white_first else both[::-1]
        yield PastGame(*pair, None if all(open_) else points, not any(forfeit))


def _check_points(read: ReadReport, player: ReportedPlayer, virtual: tuple[int, ...], played: int) -> None:
    """Refuse points that are not the sum of the results. Programs may add those of the next round, and virtual ones."""
    reported = player.half_points
    so_far = sum(POINTS[cell.result] for cell in player.cells[:played])
    to_come = sum(POINTS[cell.result] for cell in player.cells[played:])
    extra = {0, to_come, *(virtual[n] for n in (played - 1, played) if 0 <= n < len(virtual))}
    if reported not in {so_far + each for each in extra}:
        problem = f"{reported / 2:g} points are not the sum of the results, {so_far / 2:g}: correct one"
        raise TrfError(read.lines[player.number], 81, problem)


def _joined(cells: Mapping[int, tuple[Cell, ...]], played: int) -> dict[int, int]:
    """Return the first round of each player: late ones have the last numbers, in the order in which they came."""
    joined, latest = dict.fromkeys(cells, 1), played + 1
    for number in sorted(cells, reverse=True):
        first = next(
            (n for n, cell in enumerate(cells[number][:played], 1) if cell.result not in "Z " or cell.opponent), 0
        )
        latest = min(first or played + 1, latest)
        if latest == 1:
            break
        joined[number] = latest
    return joined


def _left(read: ReadReport, number: int, cells: tuple[Cell, ...], played: int, joined: int) -> int | None:
    """Return the last round of a player that has withdrawn; None if it plays on."""
    to_come = [cell.result for cell in cells[played:]]
    if not to_come or "Z" not in to_come:
        return None
    if to_come[0] != "Z":
        away = played + 1 + to_come.index("Z")
        problem = (
            f"player {number} sits out round {away} without points, and plays before: write H, or withdraw it later"
        )
        raise TrfError(read.lines[number], column_of(away), problem)
    if any(each not in "Z " for each in to_come):
        problem = f"player {number} is away in round {played + 1} without points, and not for good: write H"
        raise TrfError(read.lines[number], column_of(played + 1), problem)
    there = (n for n, cell in enumerate(cells[:played], 1) if cell.opponent or cell.result not in "Z ")
    return max([joined - 1, *there])


def _forbidden(read: ReadReport, played: int) -> Iterator[tuple[int, int]]:
    planned = read.report.planned
    for kept in read.report.others.kept_apart:
        if kept.last <= played:
            continue
        if kept.first > played + 1 or kept.last < planned:
            one, other = kept.pair
            problem = f"players {one} and {other} must not meet in some rounds to come only: write XXP {one} {other}"
            raise TrfError(read.others[kept], 5, problem)
        yield kept.pair


def _inferred(rounds: tuple[PastRound, ...]) -> int:
    """Return the initial colour by the first round: the seat of the first of those who were in the pairing."""
    for round_ in rounds:
        if round_.games:
            arrived = sorted([*round_.byes, *(n for game in round_.games for n in (game.white, game.black))])
            game = min(round_.games, key=lambda each: min(each.white, each.black))
            first = min(game.white, game.black)
            seat = 1 if game.white == first else 2
            return seat if arrived.index(first) % 2 == 0 else 3 - seat
    return 1
