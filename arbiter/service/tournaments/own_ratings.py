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

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from arbiter.ratings.counts import identity, named
from arbiter.ratings.rated_matches import Result
from arbiter.ratings.rating_results import RatingList
from arbiter.tournaments.formats import Rating
from arbiter.tournaments.standings import GameForFit, OldGamesForFit, old_rated_games, rated_games
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
    return await fitted(own_results(tournament), rater)


def own_results(tournament: Tournament) -> list[Result]:
    """Return the results by which a tournament's players are rated. For a long ladder this takes tens of ms."""
    return results_of(rated_games(tournament), old_rated_games(tournament))


async def fitted(results: Sequence[Result], rater: Rater) -> Mapping[str, Rating]:
    """Return the ratings that follow from the results of a tournament, as `own_ratings`."""
    opponents: defaultdict[str, set[str]] = defaultdict(set)
    for each in results:
        opponents[each.player_1].add(named(each.player_2)[0])
        opponents[each.player_2].add(named(each.player_1)[0])
    if not results or len(opponents) > MOST_PLAYERS:
        return {}
    listed = await rater.fit(results)
    least = min(LEAST_OPPONENTS, len(listed.newest) - 1)
    return {
        named(row.player)[0]: Rating(row.rating, row.low, row.high, len(opponents[row.player]) < least, row.group)
        for row in listed.newest
    }


def results_of(games: Sequence[GameForFit], old: Sequence[OldGamesForFit] = ()) -> list[Result]:
    """Return the results of some games by seats and winner, with the number of games that only repeat others.

    A player of several versions is rated as each of them. They are numbered by their last games, so the newest one is
    the version with which the player has played last.
    """
    every: list[GameForFit | OldGamesForFit] = [*old, *games]
    last: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in every:
        number = each.last if isinstance(each, OldGamesForFit) else each.number
        for player, version in ((each.seat1, each.version1), (each.seat2, each.version2)):
            last[player][version] = max(last[player][version], number)
    players = {
        (name, version): identity(name, str(number) if len(versions) > 1 else "")
        for name, versions in last.items()
        for number, version in enumerate(sorted(versions, key=versions.__getitem__), start=1)
    }
    ways: defaultdict[tuple[str, str, int], _Way] = defaultdict(_Way)
    for each in every:
        ways[players[each.seat1, each.version1], players[each.seat2, each.version2], each.winner].add(each)
    return [
        Result("", True, seat1, seat2, "win" if winner else "draw", winner, "rules", way.games, way.repeated)
        for (seat1, seat2, winner), way in sorted(ways.items())
    ]


class _Way:
    """The games of two players that ended in one way: how many, of how many the moves are known, and which lines."""

    def __init__(self) -> None:
        self.games = self._known = 0
        self._lines: set[tuple[str, str]] = set()

    def add(self, each: GameForFit | OldGamesForFit) -> None:
        if isinstance(each, OldGamesForFit):
            self.games += each.games
            self._known += each.known
            self._lines |= each.lines
            return
        self.games += 1
        if each.moves:
            self._known += 1
            self._lines.add((each.variant, each.moves))

    @property
    def repeated(self) -> int:
        return self._known - len(self._lines)
