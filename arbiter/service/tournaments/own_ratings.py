"""The ratings of a tournament's players from its own games: a fit to the tournament's log alone.

So they can be computed again from the log: `arbiter.tournaments.standings.rated_games`, and the fit of
`arbiter.ratings`, without anchors. Whether the order of two neighbours is established is decided as on a leaderboard. A
rating is provisional if its player has met too few others. A leaderboard decides this by the width of the interval, but
here that would mark a player who wins every game. A game that only repeats an earlier one, move by move, adds no
certainty (`arbiter.ratings.model`).

A player that has come back as another version is rated by its versions, as on a leaderboard: each has a rating of its
own, which begins near that of the one before. The standings have one row a player, with the rating of the version with
which it has played last.

While games are under way, the games that have ended are the short ones. If a bot's lost games last longer than its won
games, its rating is then too high. It has at most `at_once` games under way, so the error shrinks as games are added.
In a format with a last game, there is no error at the end. An arena or a ladder that ends by time aborts its last
games, so a small error stays. A trial counts its pairs in the order of their numbers
(`arbiter.tournaments.formats.trial`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from arbiter.ratings.answers import RatingList
from arbiter.ratings.counts import identity, named
from arbiter.ratings.record import Result
from arbiter.tournaments.formats import Rating
from arbiter.tournaments.standings import GameForFit, rated_games
from arbiter.tournaments.tournament import Tournament

LEAST_OPPONENTS: Final = 3  #: with fewer opponents a rating is provisional, unless the player has met all others
MOST_PLAYERS: Final = 2_000  #: a larger tournament has no ratings, because the fit would take many seconds


class Rater(Protocol):
    """Fits ratings."""

    async def fit(self, results: Sequence[Result]) -> RatingList:
        """Return the ratings from these results alone. Raises Refusal BUDGET_SPENT."""


async def own_ratings(tournament: Tournament, rater: Rater) -> Mapping[str, Rating]:
    """Return the ratings of the players who have played; empty if they are more than `MOST_PLAYERS`.

    Raises what the rater raises.
    """
    games = rated_games(tournament)
    results = results_of(games)
    opponents: defaultdict[str, set[str]] = defaultdict(set)
    for each in results:
        opponents[each.player_1].add(named(each.player_2)[0])
        opponents[each.player_2].add(named(each.player_1)[0])
    if not games or len(opponents) > MOST_PLAYERS:
        return {}
    listed = await rater.fit(results)
    least = min(LEAST_OPPONENTS, len(listed.newest) - 1)
    return {
        named(row.player)[0]: Rating(row.rating, row.low, row.high, len(opponents[row.player]) < least, row.group)
        for row in listed.newest
    }


def results_of(games: Sequence[GameForFit]) -> list[Result]:
    """Return the results of some games by seats and winner, with the number of games that only repeat others.

    A player of several versions is rated as each of them. They are numbered by their last games, so the newest one is
    the version with which the player has played last.
    """
    last: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for number, game in enumerate(games):
        last[game.seat1][game.version1] = last[game.seat2][game.version2] = number
    players = {
        (name, version): identity(name, str(number) if len(versions) > 1 else "")
        for name, versions in last.items()
        for number, version in enumerate(sorted(versions, key=versions.__getitem__), start=1)
    }
    ways: defaultdict[tuple[str, str, int], list[GameForFit]] = defaultdict(list)
    for game in games:
        ways[players[game.seat1, game.version1], players[game.seat2, game.version2], game.winner].append(game)
    return [
        Result("", True, seat1, seat2, "win" if winner else "draw", winner, "rules", len(alike), _repeated(alike))
        for (seat1, seat2, winner), alike in sorted(ways.items())
    ]


def _repeated(games: Sequence[GameForFit]) -> int:
    known = [(game.variant, game.moves) for game in games if game.moves]
    return len(known) - len(set(known))
