"""Standings and crosstable: pure values from results, ready to be drawn.

Points are whole numbers of half points: a win is 2, a draw 1, a loss 0. Sonneborn–Berger scores are products of two
scores, hence whole numbers of quarter points. `points_text` and `quarters_text` write them as people do.

Order: points, then the tie-breaks below, then the name. Who is level in points and all tie-breaks shares a place.

| tie-break, in order | rule |
| --- | --- |
| Sonneborn–Berger (FIDE Handbook C.07, article 9.1; Neustadtl 1882) | the sum, over all games, of the opponent's points times what was scored against that opponent: the points of those beaten, and half the points of those drawn with |
| games won (FIDE Handbook C.07, WON) | the number of games won |

Worked example, a single round robin of four. A beats C and D and draws B; B beats D and draws A and C; C beats D.

    A  ½ 1 1   2½ points   Sonneborn–Berger 2·½ + 1½·1 + 0·1 = 2½
    B  ½ ½ 1   2           2½·½ + 1½·½ + 0·1                 = 2
    C  0 ½ 1   1½          2½·0 + 2·½ + 0·1                  = 1
    D  0 0 0   0           0

Not here: the FIDE rules on games that were not played (forfeits count as games with a winner, and a void game counts
nowhere until it has been played again), and the tie-breaks of formats with rounds by strength (Buchholz and its kin).
"""  # noqa: E501 - a row of a table is one line

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from arbiter.errors import Reason, Refusal


class Result(NamedTuple):
    """How a game between two players ended: `winner` is seat 1, seat 2, 0 for a draw, or None for a void game."""

    seat1: str
    seat2: str
    winner: Literal[0, 1, 2] | None


class Row(NamedTuple):
    """One player's line of the table.

    place: from 1; players level in everything share a place.
    points: half points. sonneborn_berger: quarter points.
    scores: for each player of the table, in its order, the half points scored against them, a number a game in the
    order of the results; empty against oneself and where no game has ended.
    """

    place: int
    player: str
    games: int
    points: int
    wins: int
    draws: int
    losses: int
    sonneborn_berger: int
    scores: tuple[tuple[int, ...], ...]


class Standings(NamedTuple):
    """The table, best player first. `void` counts the games that count nowhere else."""

    rows: tuple[Row, ...]
    void: int


def standings(players: Sequence[str], results: Iterable[Result]) -> Standings:
    """Return the table of the players after these results; players without a game are in it too.

    Raises Refusal ARGUMENT_INVALID (facts what, where, allowed) for a result of somebody who is not among the
    players, of a player against itself, or with a winner other than 0, 1, 2 and None.
    """
    scores: dict[str, dict[str, list[int]]] = {player: defaultdict(list) for player in players}
    void = 0
    for result in results:
        _check(result, scores)
        if result.winner is None:
            void += 1
            continue
        half_points = (1, 2, 0)[result.winner]
        scores[result.seat1][result.seat2].append(half_points)
        scores[result.seat2][result.seat1].append(2 - half_points)
    points = {player: sum(map(sum, against.values())) for player, against in scores.items()}
    tie_breaks = {player: _tie_breaks(against, points) for player, against in scores.items()}
    order = sorted(scores, key=lambda player: (-points[player], *(-value for value in tie_breaks[player]), player))
    rows: list[Row] = []
    for position, player in enumerate(order, start=1):
        level = bool(rows) and (points[player], tie_breaks[player]) == (rows[-1].points, tie_breaks[rows[-1].player])
        place = rows[-1].place if level else position
        rows.append(_row(place, player, order, scores[player], tie_breaks[player]))
    return Standings(tuple(rows), void)


def points_text(points: int) -> str:
    """Return half points as people write them: 5 is '2½', 1 is '½'."""
    return _mixed(points, 2, ("", "½"))


def quarters_text(quarters: int) -> str:
    """Return quarter points (a Sonneborn–Berger score) as people write them: 7 is '1¾'."""
    return _mixed(quarters, 4, ("", "¼", "½", "¾"))


def _mixed(number: int, unit: int, fractions: Sequence[str]) -> str:
    whole, rest = divmod(number, unit)
    return f"{whole or ''}{fractions[rest]}" or "0"


def _tie_breaks(against: Mapping[str, Sequence[int]], points: Mapping[str, int]) -> tuple[int, int]:
    """Return the Sonneborn–Berger score in quarter points, and the number of wins."""
    sonneborn_berger = sum(points[opponent] * sum(games) for opponent, games in against.items())
    return sonneborn_berger, sum(games.count(2) for games in against.values())


def _row(
    place: int, player: str, order: Sequence[str], against: Mapping[str, Sequence[int]], tie_breaks: tuple[int, int]
) -> Row:
    games = [score for scores in against.values() for score in scores]
    return Row(
        place=place,
        player=player,
        games=len(games),
        points=sum(games),
        wins=games.count(2),
        draws=games.count(1),
        losses=games.count(0),
        sonneborn_berger=tie_breaks[0],
        scores=tuple(tuple(against.get(opponent, ())) for opponent in order),
    )


def _check(result: Result, players: Mapping[str, object]) -> None:
    for seat, player in (("seat1", result.seat1), ("seat2", result.seat2)):
        if player not in players:
            raise _invalid(player, seat, "a player of this tournament")
    if result.seat1 == result.seat2:
        raise _invalid(result.seat2, "seat2", "another player than in seat 1")
    if result.winner not in (0, 1, 2, None):
        raise _invalid(str(result.winner), "winner", "1, 2, 0 for a draw, or None for a void game")


def _invalid(what: str, where: str, allowed: str) -> Refusal:
    message = f"{what!r} is not allowed in {where} of a result: expected {allowed}"
    return Refusal(Reason.ARGUMENT_INVALID, message, what=what, where=where, allowed=allowed)
