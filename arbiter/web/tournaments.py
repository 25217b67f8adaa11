"""Tournaments as pages show them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from arbiter.tournaments.meetings import GameResult
from arbiter.tournaments.tournament import Tournament

MOST_IN_CROSSTABLE: Final = 24  #: players; a larger table is wider than a screen


class Pairing(NamedTuple):
    """The games of two players so far, seen from the first: points (a half for a draw), of so many games."""

    points: str
    games: int


def crosstable(tournament: Tournament, players: Sequence[str]) -> list[list[Pairing | None]]:
    """Return for each player, in an order, its games against each; None where there are none yet.

    It is empty for more players than MOST_IN_CROSSTABLE, and while no two players have met. A player's games against
    itself are left out.
    """
    if len(players) > MOST_IN_CROSSTABLE:
        return []
    scores: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, result in tournament.results.items():
        game = tournament.games[number - 1]
        first, second = (0, 0) if lost_by_both(result) else (result.half_points(1), result.half_points(2))
        scores[game.seat1, game.seat2].append(first)
        scores[game.seat2, game.seat1].append(second)
    if all(one == other for one, other in scores):
        return []
    return [
        [
            Pairing(points(sum(scores[one, other])), len(scores[one, other]))
            if one != other and (one, other) in scores
            else None
            for other in players
        ]
        for one in players
    ]


def lost_by_both(result: GameResult) -> bool:
    """Say whether neither player came, so that both have lost, as standings count it."""
    return not result.winner and not result.played


def points(halves: int) -> str:
    """Return half points as people write them: `2`, `½`, `3½`."""
    whole, half = divmod(halves, 2)
    return f"{whole or '' if half else whole}{'½' if half else ''}"
