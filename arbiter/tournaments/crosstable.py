"""Crosstables: who scored what against whom, from the results of games, ready to be drawn.

For games outside the tournament engine, such as those of a demo. The order is by points, Sonneborn–Berger, games won
(see `arbiter.tournaments.tie_breaks`), then the name. Players with equal points and equal tie-breaks share a place.
Points are whole numbers of half points, Sonneborn–Berger scores of quarter points.

Worked example, a single round robin of four. A beats C and D and draws B; B beats D and draws A and C; C beats D.

    A  ½ 1 1   2½ points   Sonneborn–Berger 2·½ + 1½·1 + 0·1 = 2½
    B  ½ ½ 1   2           2½·½ + 1½·½ + 0·1                 = 2
    C  0 ½ 1   1½          2½·0 + 2·½ + 0·1                  = 1
    D  0 0 0   0           0
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple

from arbiter.errors import argument_invalid
from arbiter.tournaments.meetings import HALF_POINTS
from arbiter.tournaments.spec import TieBreak
from arbiter.tournaments.tie_breaks import Encounter, Scores

_invalid: Final = partial(argument_invalid, of="a result")

ORDER: Final = (TieBreak.SONNEBORN_BERGER, TieBreak.WINS)


class CrosstableGame(NamedTuple):
    """A game's result: `winner` is seat 1, seat 2, 0 for a draw, or None for a void game."""

    seat1: str
    seat2: str
    winner: Literal[0, 1, 2] | None


class CrosstableRow(NamedTuple):
    """One player's row of the table.

    place: from 1; players with equal points and tie-breaks share a place.
    points: half points. sonneborn_berger: quarter points.
    scores: for each player of the table, in table order, the half points scored against it: one number for each game,
    in the order of the results. Empty against oneself and where no game has ended.
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


class Crosstable(NamedTuple):
    """The table, best player first. `void` counts the void games, which count nowhere else."""

    rows: tuple[CrosstableRow, ...]
    void: int


def crosstable(players: Sequence[str], results: Iterable[CrosstableGame]) -> Crosstable:
    """Return the table of the players after these results, including players without a game.

    Raises Refusal ARGUMENT_INVALID (facts what, where, allowed) for a result of an unknown player, of a player against
    itself, or with a winner other than 0, 1, 2 and None.
    """
    games: dict[str, list[Encounter]] = {player: [] for player in sorted(players)}
    void = 0
    for result in results:
        _check(result, games)
        if result.winner is None:
            void += 1
            continue
        first, second = HALF_POINTS[result.winner]
        games[result.seat1].append(Encounter(1, result.seat2, first))
        games[result.seat2].append(Encounter(1, result.seat1, second))
    scores = Scores(games, rounds=1, swiss=False)
    groups, values = scores.rank(ORDER, scores.points)
    order = [player for group in groups for player in group]
    rows: list[CrosstableRow] = []
    for group in groups:
        place = len(rows) + 1
        rows += [_row(place, player, order, games[player], values[player][0]) for player in group]
    return Crosstable(tuple(rows), void)


def _row(
    place: int, player: str, order: Sequence[str], games: Sequence[Encounter], sonneborn_berger: int
) -> CrosstableRow:
    against: defaultdict[str, list[int]] = defaultdict(list)
    for game in games:
        against[game.opponent].append(game.score)
    all_ = [game.score for game in games]
    return CrosstableRow(
        place=place,
        player=player,
        games=len(all_),
        points=sum(all_),
        wins=all_.count(2),
        draws=all_.count(1),
        losses=all_.count(0),
        sonneborn_berger=sonneborn_berger,
        scores=tuple(tuple(against.get(opponent, ())) for opponent in order),
    )


def _check(result: CrosstableGame, players: Collection[str]) -> None:
    for seat, player in (("seat1", result.seat1), ("seat2", result.seat2)):
        if player not in players:
            raise _invalid(player, seat, "a player of this tournament")
    if result.seat1 == result.seat2:
        raise _invalid(result.seat2, "seat2", "another player than in seat 1")
    if result.winner not in (0, 1, 2, None):
        raise _invalid(str(result.winner), "winner", "1, 2, 0 for a draw, or None for a void game")
