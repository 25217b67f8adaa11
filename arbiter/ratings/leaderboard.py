"""A leaderboard that marks what is uncertain.

Published bounds: a player is provisional while its 95 % interval is wider than PROVISIONAL_ELO, or while it has no
rated game. The order of two neighbours is established if the probability that the upper one is better is at least
ESTABLISHED. Otherwise they share a group: a group is a run of rows in which the order of each two neighbours is not
established. The order of its first and last row may still be established; `Ratings.superiority` or `compare` tells.

The policy of `record` decides which results count. Games that were lost by time, absence or illegal moves are among the
games, and are also shown in a column of their own.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

from arbiter.ratings.fit import FittedRatings
from arbiter.ratings.rated_matches import Forfeits
from arbiter.ratings.rating_results import Row

PROVISIONAL_ELO: Final = 300.0  #: the widest interval, end to end, of a rating that is not provisional
ESTABLISHED: Final = 0.95  #: the minimum probability of superiority for an established order


def leaderboard(
    ratings: FittedRatings, forfeits: Mapping[str, Forfeits] | None = None, players: Container[str] | None = None
) -> tuple[Row, ...]:
    """Return the rows of a leaderboard, best first; forfeits as counted by `record.forfeits_of`.

    players: the players to show; None for all.
    """
    rows, group = [], 1
    shown = [each for each in ratings.rated if players is None or each.player in players]
    for number, each in enumerate(shown):
        following = shown[number + 1 : number + 2]
        above = ratings.superiority(each.player, following[0].player) if following else None
        rows.append(
            Row(
                place=number + 1,
                group=group,
                player=each.player,
                rating=each.rating,
                low=each.low,
                high=each.high,
                games=each.games,
                provisional=not each.games or each.high - each.low > PROVISIONAL_ELO,
                above_next=above,
                forfeits=(forfeits or {}).get(each.player, Forfeits()),
            )
        )
        group += above is not None and above >= ESTABLISHED
    return tuple(rows)
